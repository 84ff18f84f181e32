import NIOCore
import Testing

@testable import Bitstreams

@Suite("Images of a snapshot's response")
struct ImageStreamReaderTests {
  private typealias Format = ImageStreamReader.Format

  /// A chunk of PNG (ISO/IEC 15948 §5.3): length, type, data, CRC, which is not looked at.
  private static func chunk(_ type: String, _ data: [UInt8] = []) -> [UInt8] {
    var chunk: [UInt8] = [0, 0, 0, UInt8(data.count)]
    chunk += type.utf8
    chunk += data
    return chunk + [1, 2, 3, 4]
  }

  /// IHDR, two IDAT, the second with the name of the end in its data, IEND.
  private static let png: [UInt8] = {
    var png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    png += Self.chunk("IHDR", Array(repeating: 7, count: 13))
    png += Self.chunk("IDAT", [5])
    png += Self.chunk("IDAT", Array("IEND".utf8))
    return png + Self.chunk("IEND")
  }()
  /// RFC 9649 §2.4: "RIFF", the size of what follows, "WEBP", a chunk of 4 bytes.
  private static let webP: [UInt8] = {
    var webP = Array("RIFF".utf8)
    webP += [16, 0, 0, 0]
    webP += "WEBPVP8L".utf8
    return webP + [4, 0, 0, 0, 9, 9, 9, 9]
  }()
  private static let jpeg: [UInt8] =
    [0xFF, 0xD8, 0xFF, 0xC0, 0, 4, 1, 2, 0xFF, 0xDA, 0, 4, 3, 4, 5, 6, 0xFF, 0xD9]

  private static func images(
    of responses: [[UInt8]], step: Int, hasParts: Bool = false
  ) -> (images: [ImageStreamReader.Image], dropped: Int) {
    var reader = ImageStreamReader(hasParts: hasParts)
    var images: [ImageStreamReader.Image] = []
    for (index, response) in responses.enumerated() {
      if index > 0 { reader.beginResponse() }
      var rest = response[...]
      while !rest.isEmpty {
        reader.append(ByteBuffer(bytes: rest.prefix(step)))
        rest = rest.dropFirst(step)
        while let image = reader.next() { images.append(image) }
      }
    }
    return (images, reader.droppedCount)
  }

  private static func image(_ format: Format, _ bytes: [UInt8]) -> ImageStreamReader.Image {
    ImageStreamReader.Image(format: format, bytes: ByteBuffer(bytes: bytes))
  }

  @Test(arguments: [1, 2, 7, 10_000]) func `each format is found by its first bytes, and ends where it says`(step: Int)
  {
    let (images, dropped) = Self.images(of: [Self.png, Self.webP, Self.jpeg, Self.png], step: step)
    let expected = [
      Self.image(.png, Self.png), Self.image(.webP, Self.webP), Self.image(.jpeg, Self.jpeg),
      Self.image(.png, Self.png),
    ]
    #expect(images == expected && dropped == 0)
  }

  @Test(arguments: [1, 2, 7, 10_000]) func `images of a response that goes on are found`(step: Int) {
    let bytes = Self.png + Self.png + Self.webP + Array("\r\n--b\r\n".utf8) + Self.jpeg
    #expect(Self.images(of: [bytes], step: step).images.map(\.format) == [.png, .png, .webP, .jpeg])
  }

  @Test(arguments: [1, 2, 7, 10_000]) func `line ends before an image are skipped`(step: Int) {
    let lineEnd = Array("\r\n".utf8)
    var bytes = lineEnd + Self.png
    bytes += lineEnd + Self.webP
    bytes += Array("\n".utf8) + Self.png
    bytes += lineEnd + lineEnd
    bytes += Self.jpeg
    let (images, dropped) = Self.images(of: [bytes], step: step)
    #expect(images.map(\.format) == [.png, .webP, .png, .jpeg] && dropped == 0)
    #expect(images.first?.bytes == ByteBuffer(bytes: Self.png))
  }

  @Test func `a response that begins with no image is foreign, although JPEG may follow`() {
    for (start, isForeign) in [([0x47, 0x40], true), ([0x0D, 0x0A], false), ([], false)] as [([UInt8], Bool)] {
      for image in [Self.png, Self.webP, Self.jpeg] {
        var reader = ImageStreamReader()
        reader.append(ByteBuffer(bytes: start + image))
        _ = reader.next()
        #expect(reader.isForeign == isForeign)
      }
    }
  }

  @Test func `an image is returned with its last byte`() {
    for (format, bytes) in [(Format.png, Self.png), (.webP, Self.webP)] {
      let short = Self.images(of: [Array(bytes.dropLast())], step: 1)
      #expect(short.images.isEmpty && short.dropped == 0)
      #expect(Self.images(of: [bytes], step: 1).images == [Self.image(format, bytes)])
    }
  }

  @Test func `an image that was cut off takes nothing from the next response`() {
    let (images, _) = Self.images(
      of: [Array(Self.png.dropLast(5)), Self.png, Array(Self.webP.dropLast()), Self.webP], step: 4)
    #expect(images.map(\.format) == [.png, .webP])
  }

  @Test func `images that would be too long are dropped, with the rest of their response`() {
    let long = Array(Self.png.prefix(8)) + [0x7F, 0xFF, 0xFF, 0xFF] + Array("IDAT".utf8)
    let riff = Array("RIFF".utf8) + [0xFF, 0xFF, 0xFF, 0xFF] + Array("WEBP".utf8)
    let empty = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8)
    for bytes in [long, riff, empty] {
      let (images, dropped) = Self.images(of: [bytes + Self.png, Self.png], step: 5)
      #expect(images == [Self.image(.png, Self.png)] && dropped == 1)
    }
  }

  /// Images as parts, each behind a delimiter and fields.
  private static func parts(_ images: [[UInt8]]) -> [UInt8] {
    images.flatMap { image in
      Array("--Rb\r\nContent-Type: image/x\r\n\r\n".utf8) + image + Array("\r\n".utf8)
    }
  }

  @Test(arguments: [1, 2, 7, 10_000]) func `parts of each format are found amid delimiters and fields`(step: Int) {
    let text = Array("RIFF 0 \u{FF}\u{89}PNG".utf8)
    let bytes = Self.parts([Self.png, text, Self.png, Self.webP, [0xFF, 0xD8], [0x89, 0x50]])
    let (images, dropped) = Self.images(of: [bytes + Self.parts([Self.png])], step: step, hasParts: true)
    #expect(images.map(\.format) == [.png, .png, .webP, .png] && dropped == 0)
    #expect(images.first == Self.image(.png, Self.png) && images.dropFirst(2).first == Self.image(.webP, Self.webP))
  }

  @Test(arguments: [1, 2, 7, 10_000]) func `from the first part of JPEG on all parts are JPEG`(step: Int) {
    let bytes = Self.parts([Self.png, Self.jpeg, Self.png, Self.jpeg])
    let expected = [Self.image(.png, Self.png), Self.image(.jpeg, Self.jpeg), Self.image(.jpeg, Self.jpeg)]
    #expect(Self.images(of: [bytes], step: step, hasParts: true).images == expected)
  }

  @Test func `a damaged part takes nothing from the next one`() {
    let long = Array(Self.png.prefix(8)) + [0x7F, 0xFF, 0xFF, 0xFF] + Array("IDAT".utf8)
    let (images, dropped) = Self.images(of: [Self.parts([long, Self.png])], step: 5, hasParts: true)
    #expect(images == [Self.image(.png, Self.png)] && dropped == 1)
  }
}
