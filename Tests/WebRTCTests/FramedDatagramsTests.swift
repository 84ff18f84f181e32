import NIOCore
import Testing
import WebRTC

@Suite("Datagrams in a byte stream, RFC 4571")
struct FramedDatagramsTests {
  /// Two datagrams, an empty one between.
  private static let stream: [UInt8] = [0, 3, 1, 2, 3, 0, 0, 0, 1, 9]

  private static func all(_ frames: inout FramedDatagrams) throws -> [[UInt8]] {
    var result: [[UInt8]] = []
    while let datagram = try frames.next() { result.append(Array(datagram.readableBytesView)) }
    return result
  }

  @Test func `datagrams are whole however the stream is cut`() throws {
    for cut in 0...Self.stream.count {
      var frames = FramedDatagrams()
      frames.append(ByteBuffer(bytes: Self.stream[..<cut]))
      var datagrams = try Self.all(&frames)
      frames.append(ByteBuffer(bytes: Self.stream[cut...]))
      datagrams += try Self.all(&frames)
      #expect(datagrams == [[1, 2, 3], [9]], "\(cut)")
    }
    var frames = FramedDatagrams()
    var datagrams: [[UInt8]] = []
    for byte in Self.stream {
      frames.append(ByteBuffer(bytes: [byte]))
      datagrams += try Self.all(&frames)
    }
    #expect(datagrams == [[1, 2, 3], [9]])
  }

  @Test func `a frame is its length and its bytes`() throws {
    var buffer = ByteBuffer()
    FramedDatagrams.write(ByteBuffer(bytes: [1, 2, 3]), to: &buffer)
    #expect(Array(buffer.readableBytesView) == [0, 3, 1, 2, 3])
    let maximum = ByteBuffer(repeating: 7, count: FramedDatagrams.maximumLength)
    FramedDatagrams.write(maximum, to: &buffer)
    var frames = FramedDatagrams()
    frames.append(buffer)
    #expect(try frames.next() == ByteBuffer(bytes: [1, 2, 3]))
    #expect(try frames.next() == maximum && frames.next() == nil)
  }

  @Test func `a frame longer than any client's ends the stream before it is received`() {
    var frames = FramedDatagrams()
    // "GET ", as of a web browser.
    frames.append(ByteBuffer(bytes: [0x47, 0x45, 0x54, 0x20]))
    #expect(throws: FramedDatagrams.Oversized.frame) { try frames.next() }
  }

  @Test func `a client whose every read ends within a frame costs no more memory with time`() throws {
    var frames = FramedDatagrams()
    // The first byte of the next frame is always there.
    frames.append(ByteBuffer(bytes: [0x03]))
    var count = 0
    for _ in 0..<10_000 {
      var bytes = ByteBuffer(bytes: [0xE8])
      bytes.writeRepeatingByte(7, count: 1000)
      bytes.writeInteger(UInt8(0x03))
      frames.append(bytes)
      count += try Self.all(&frames).count
    }
    #expect(count == 10_000 && frames.capacity < 64 * 1024)
  }
}
