import Bitstreams
import NIOCore
import Testing

@Suite("JPEG images in a stream, ITU-T T.81 §B.1")
struct JPEGStreamReaderTests {
  /// SOI, DQT of 2 bytes, SOF0 of 2 bytes, SOS of 2 bytes, data with a stuffed byte and RST0, EOI.
  private static func image(_ mark: UInt8) -> [UInt8] {
    [0xFF, 0xD8] + [0xFF, 0xDB, 0, 4, mark, mark] + [0xFF, 0xC0, 0, 4, 1, 2] + [0xFF, 0xDA, 0, 4, 3, 4]
      + [5, 0xFF, 0x00, 6, 0xFF, 0xD0, mark] + [0xFF, 0xD9]
  }

  /// Names of streams, with their bytes and the marks of the images in them.
  private static let streams: [(String, [UInt8], [UInt8])] = {
    func part(_ mark: UInt8, _ headers: String) -> [UInt8] { Array(headers.utf8) + Self.image(mark) }
    let (type, length) = ("Content-Type: image/jpeg\r\n", "Content-Length: 35\r\n")
    return [
      (
        "delimiters before the parts, RFC 2046",
        part(1, "--b\r\n\(type)\(length)\r\n") + part(2, "\r\n--b\r\n\(type)\r\n"), [1, 2]
      ),
      (
        "delimiters behind the parts: ESP32", part(1, "\(type)\(length)\r\n") + part(2, "\r\n--b\r\n\(type)\r\n"),
        [1, 2]
      ),
      ("no line end before the delimiter", part(1, "--b\r\n\(type)\r\n") + part(2, "--b\r\n\(type)\r\n"), [1, 2]),
      (
        "line feeds alone",
        part(1, "--b\nContent-Type: image/jpeg\n\n") + part(2, "\n--b\nContent-Type: image/jpeg\n\n"), [1, 2]
      ),
      (
        "wrong lengths",
        part(1, "--b\r\nContent-Length: 7\r\n\r\n") + part(2, "\r\n--b\r\nContent-Length: 99999\r\n\r\n"), [1, 2]
      ),
      ("nothing between the images", part(1, "") + part(2, "") + part(3, ""), [1, 2, 3]),
      (
        "a preamble, an epilogue and the last delimiter",
        part(1, "hello\r\n--b\r\n\r\n") + Array("\r\n--b--\r\nbye".utf8), [1]
      ),
      ("padding with zeros and fill bytes", [0, 0, 0xFF] + part(1, "") + [0, 0, 0] + part(2, ""), [1, 2]),
      ("parts without content", Array("--b\r\n\r\n\r\n--b\r\n\r\n".utf8) + part(1, "--b\r\n\r\n"), [1]),
    ]
  }()

  private static func marks(_ bytes: [UInt8], step: Int) -> (marks: [UInt8], dropped: Int) {
    var reader = JPEGStreamReader()
    var marks: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      reader.append(ByteBuffer(bytes: rest.prefix(step)))
      rest = rest.dropFirst(step)
      while let image = reader.next() {
        let bytes = Array(image.readableBytesView)
        let mark = bytes.count > 6 ? bytes[6] : 0
        #expect(bytes.starts(with: [0xFF, 0xD8]) && bytes.suffix(2) == [0xFF, 0xD9])
        marks.append(mark)
      }
    }
    return (marks, reader.droppedCount)
  }

  @Test(arguments: Self.streams.indices, [1, 2, 7, 10_000])
  func `images are found whatever separates them, and however their bytes arrive`(index: Int, step: Int) {
    let (name, bytes, expected) = Self.streams[index]
    let (marks, dropped) = Self.marks(bytes, step: step)
    #expect(marks == expected && dropped == 0, "\(name)")
  }

  @Test func `an image is returned with its last byte, before anything of the next one`() {
    var reader = JPEGStreamReader()
    let image = Self.image(1)
    for (index, byte) in image.enumerated() {
      reader.append(ByteBuffer(integer: byte))
      let found = reader.next()
      #expect((found != nil) == (index == image.count - 1), "byte \(index)")
      if let found { #expect(Array(found.readableBytesView) == image) }
    }
  }

  @Test func `thumbnails within segments are part of their image, and further scans too`() {
    // APP1 with an image of its own.
    let thumbnail = Self.image(9)
    let exif = [0xFF, 0xE1, 0, UInt8(thumbnail.count + 2)] + thumbnail
    // A second scan behind the first one: DHT, SOS, data.
    let scan: [UInt8] = [0xFF, 0xC4, 0, 3, 7, 0xFF, 0xDA, 0, 2, 8, 8, 0xFF, 0xFF, 0xD9]
    let image = [0xFF, 0xD8] + exif + Self.image(1).dropFirst(2).dropLast(2) + scan
    var reader = JPEGStreamReader()
    reader.append(ByteBuffer(bytes: image + Self.image(2)))
    let (first, second, third) = (reader.next(), reader.next(), reader.next())
    #expect(first.map { Array($0.readableBytesView) } == image)
    #expect(second.map { Array($0.readableBytesView) } == Self.image(2))
    #expect(third == nil && reader.droppedCount == 0)
  }

  @Test(arguments: [997, 10_000]) func `an image that was cut off is dropped, and the next ones found`(step: Int) {
    let whole = Self.image(1)
    let between = Array("\r\n--b\r\nContent-Type: image/jpeg\r\n\r\n".utf8)
    let following: [UInt8] = (0..<1_200).flatMap { _ -> [UInt8] in between + Self.image(3) }
    for length in 0..<whole.count {
      let cut: [UInt8] = Array(whole[..<length])
      let (marks, dropped) = Self.marks(cut + between + Self.image(2) + following, step: step)
      // Text that is taken for the length of a segment hides 64 KiB at most.
      #expect(marks.allSatisfy { $0 == 2 || $0 == 3 } && marks.count > 1_100, "\(length) bytes")
      #expect(dropped <= 1, "\(length) bytes")
    }
  }

  @Test(arguments: [1, 7, 10_000])
  func `images of a camera that sends no EOI end where the next one begins, from the second on`(step: Int) {
    let cut = [1, 2, 3, 4].flatMap { (mark: UInt8) -> [UInt8] in
      Array("--b\r\n\r\n".utf8) + Self.image(mark).dropLast(2) + [13, 10]
    }
    let (marks, dropped) = Self.marks(cut, step: step)
    #expect(marks == [2, 3] && dropped == 1)
    // One that sends it loses an image only.
    let (others, count) = Self.marks(Self.image(9) + cut + Self.image(8), step: step)
    #expect(others == [9, 8] && count == 4)
  }

  @Test func `an image that is too long is dropped, and the next one found`() {
    var reader = JPEGStreamReader()
    reader.append(ByteBuffer(bytes: Self.image(1).dropLast(2)))
    let filler = ByteBuffer(repeating: 0x20, count: 1 << 20)
    for _ in 0...(JPEGStreamReader.maximumLength >> 20) {
      reader.append(filler)
      let early = reader.next()
      #expect(early == nil)
    }
    reader.append(ByteBuffer(bytes: Self.image(2)))
    let image = reader.next()
    #expect(image.map { Array($0.readableBytesView) } == Self.image(2) && reader.droppedCount == 1)
  }
}
