import Media
import NIOCore
import Testing

@testable import Codecs

@Suite("JPEG decoder for cameras")
struct JPEGDecoderTests {
  /// Bytes that libavcodec may read past the end of a file.
  private static let padding = [UInt8](repeating: 0, count: 64)

  /// A file of an evenly colored frame in limited range.
  private static func file(
    width: Int = 64, height: Int = 48, luma: UInt8 = 120, cb: UInt8 = 100, cr: UInt8 = 150
  ) throws -> [UInt8] {
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height))
    for (plane, value) in [luma, cb, cr].enumerated() {
      buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: value)
    }
    let frame = VideoFrame(buffer: buffer, timestamp: .zero)
    return Array(
      try JPEGEncoder(format: frame.format, quality: 95).encode(ReleasedFrame(notPrivate: frame)).readableBytesView)
  }

  private struct NoDecoder: Error {}

  private static func decoder(width: Int = 64, height: Int = 48) throws -> JPEGDecoder {
    guard let decoder = JPEGDecoder(format: VideoFormat(width: width, height: height), orientation: .left) else {
      throw NoDecoder()
    }
    return decoder
  }

  /// Whether a file is decoded: its frame, and whether the format is new.
  private static func decode(
    _ file: [UInt8], with decoder: inout JPEGDecoder, at time: MediaTime = .zero
  ) -> (frame: VideoFrame, isNewFormat: Bool)? {
    switch decoder.decode(file + Self.padding, count: file.count, at: time) {
    case .frame(let frame): (frame, false)
    case .newFormat(let frame): (frame, true)
    case nil: nil
    }
  }

  @Test func `a frame has limited range, its time and the camera's orientation`() throws {
    var decoder = try Self.decoder()
    let time = MediaTime.zero + .milliseconds(40)
    let decoded = try #require(Self.decode(Self.file(), with: &decoder, at: time))
    #expect(!decoded.isNewFormat && decoded.frame.timestamp == time && decoded.frame.orientation == .left)
    #expect(decoded.frame.format.hasSameLayout(as: VideoFormat(width: 64, height: 48)))
    for (plane, value) in [120, 100, 150].enumerated() {
      let bytes = decoded.frame.withPlane(plane) { Array($0) }
      #expect(bytes.allSatisfy { abs(Int($0) - value) <= 2 }, "plane \(plane): \(bytes.prefix(4))")
    }
  }

  @Test(arguments: [(16, 16), (235, 235)] as [(UInt8, Int)])
  func `black and white are those of limited range`(luma: UInt8, expected: Int) throws {
    var decoder = try Self.decoder()
    let decoded = try #require(Self.decode(Self.file(luma: luma, cb: 128, cr: 128), with: &decoder))
    #expect(decoded.frame.withPlane(0) { $0.allSatisfy { abs(Int($0) - expected) <= 1 } })
  }

  @Test func `zeros after EOI are accepted, a file without EOI is damaged`() throws {
    var decoder = try Self.decoder()
    let file = try Self.file()
    #expect(Self.decode(file + [0, 0, 0, 0, 0], with: &decoder) != nil)
    for length in [0, 1, 2, 3, 4, file.count / 2, file.count - 2, file.count - 1] {
      #expect(Self.decode(Array(file.prefix(length)), with: &decoder) == nil, "\(length) of \(file.count) bytes")
    }
    #expect(Self.decode(file + [1], with: &decoder) == nil)
    #expect(Self.decode([0] + file, with: &decoder) == nil)
    // The decoder goes on with the next whole file.
    #expect(Self.decode(file, with: &decoder) != nil)
  }

  @Test func `a file without Huffman tables is decoded with those of annex K`() throws {
    var file = try Self.file()
    var index = 2
    var removed = 0
    while file[index + 1] != 0xDA {
      let length = Int(file[index + 2]) << 8 | Int(file[index + 3])
      if file[index + 1] == 0xC4 {
        file.removeSubrange(index..<index + 2 + length)
        removed += 1
      } else {
        index += 2 + length
      }
    }
    #expect(removed > 0)
    var decoder = try Self.decoder()
    let decoded = try #require(Self.decode(file, with: &decoder))
    #expect(decoded.frame.withPlane(0) { abs(Int($0[100]) - 120) <= 2 })
  }

  @Test func `single images of another size are scaled, the third in a row changes the format`() throws {
    var decoder = try Self.decoder()
    let (usual, other) = (try Self.file(), try Self.file(width: 32, height: 32))
    func step(_ file: [UInt8]) throws -> String {
      let decoded = try #require(Self.decode(file, with: &decoder))
      return "\(decoded.isNewFormat ? "new " : "")\(decoded.frame.format.width)x\(decoded.frame.format.height)"
    }
    #expect(try step(other) == "64x48")
    #expect(try step(other) == "64x48")
    // One of the announced size starts the count again.
    #expect(try step(usual) == "64x48")
    for expected in ["64x48", "64x48", "new 32x32", "32x32"] { #expect(try step(other) == expected) }
    for expected in ["32x32", "32x32", "new 64x48", "64x48"] { #expect(try step(usual) == expected) }
  }

  @Test func `images of changing sizes do not change the format`() throws {
    var decoder = try Self.decoder()
    let files = [try Self.file(width: 32, height: 32), try Self.file(width: 48, height: 32)]
    for index in 0..<6 {
      let decoded = try #require(Self.decode(files[index % 2], with: &decoder))
      #expect(!decoded.isNewFormat && decoded.frame.format.width == 64)
    }
  }

  @Test func `damage inside a file yields no frame of another size, and the next file is decoded`() throws {
    var decoder = try Self.decoder()
    let file = try Self.file()
    for index in stride(from: 2, to: file.count - 2, by: 3) {
      for value: UInt8 in [0x00, 0xFF, file[index] ^ 0x55] {
        var damaged = file
        damaged[index] = value
        if let decoded = Self.decode(damaged, with: &decoder) {
          #expect(decoded.frame.withPlane(0) { $0.count } == decoded.frame.format.byteCount(plane: 0))
        }
      }
    }
    // Damage may have announced another size three times; whole files of one size bring their own back.
    var last: VideoFrame?
    for _ in 0..<4 { last = Self.decode(file, with: &decoder)?.frame }
    #expect(last?.format.width == 64 && last?.withPlane(0) { abs(Int($0[100]) - 120) <= 2 } == true)
  }

  @Test func `without free memory no frame is returned, until one is released`() throws {
    var decoder = try Self.decoder()
    let file = try Self.file()
    var held: [VideoFrame] = []
    while held.count < 100, let decoded = Self.decode(file, with: &decoder) { held.append(decoded.frame) }
    #expect(held.count == 10)
    held.removeFirst()
    #expect(Self.decode(file, with: &decoder) != nil)
  }
}
