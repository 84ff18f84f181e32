import Media
import NIOCore
import Testing

@testable import RTMP

/// Media as a drone's bytes on the connection: chunks of 128 bytes, and deltas of 32 bits where the time runs backwards
/// (reported of DJI, go2rtc #1969).
@Suite("Chunks of devices, through the server's session")
struct DeviceChunksTests {
  /// Contents of the extended timestamp behind fmt 3.
  enum Repetition: String, CaseIterable {
    case headersField, messagesTime, leftOut
  }

  /// A message as a device sends it, on chunk stream 6.
  private struct DeviceMessage {
    /// Timestamp, and the delta to that of the previous message; nil for a header with fmt 0.
    var timestamp: UInt32
    var delta: UInt32?
    var payload: ByteBuffer

    func write(_ repetition: Repetition, into buffer: inout ByteBuffer) {
      let field = self.delta ?? self.timestamp
      let isExtended = field >= 0xFF_FFFF
      buffer.writeInteger(self.delta == nil ? UInt8(0x06) : 0x46)
      buffer.writeUInt24(isExtended ? 0xFF_FFFF : field)
      buffer.writeUInt24(UInt32(self.payload.readableBytes))
      buffer.writeInteger(RTMPMessageType.video.rawValue)
      if self.delta == nil { buffer.writeInteger(UInt32(1), endianness: .little) }
      if isExtended { buffer.writeInteger(field) }
      var rest = self.payload
      while var part = rest.readSlice(length: min(128, rest.readableBytes)) {
        buffer.writeBuffer(&part)
        if rest.readableBytes == 0 { break }
        buffer.writeInteger(UInt8(0xC6))
        guard isExtended else { continue }
        switch repetition {
        case .headersField: buffer.writeInteger(field)
        case .messagesTime: buffer.writeInteger(self.timestamp)
        case .leftOut: break
        }
      }
    }
  }

  /// A slice of 300 bytes behind the header of the tag.
  private static func slice(_ tag: String, _ header: String) -> ByteBuffer {
    var payload = bytes("\(tag) 01 000000 0000012C \(header)")
    payload.writeRepeatingByte(0x55, count: 297)
    return payload
  }

  private static let record = bytes(
    "17 00 000000 01 64001F FF E1 001A 67 64001FACD9405005BB01100000030010000003 03C0F1831960"
      + "01 0006 68 EBE3CB22C0 FDF8F800")

  /// Decode times and lengths of the samples of a publisher's bytes, which arrive in pieces.
  private static func samples(_ input: ByteBuffer, inPiecesOf size: Int) throws -> (times: [Int64], lengths: [Int]) {
    var server = try TestServerSession([TestServerSession.connect, TestServerSession.publish])
    _ = try server.accept()
    var depacketizer = RTMPDepacketizer()
    var (times, lengths): ([Int64], [Int]) = ([], [])
    var rest = input
    while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
      for action in server.session.receive(piece, now: .zero) {
        guard case .publish(let message) = action else {
          Issue.record("\(action)")
          continue
        }
        for case .sample(let sample) in try depacketizer.depacketize(message) {
          times.append(sample.decodeTime.ticks(timescale: 1000))
          lengths.append(sample.payload.readableBytes)
        }
      }
    }
    #expect(depacketizer.droppedSampleCount == 0 && server.session.heldByteCount == 0)
    return (times, lengths)
  }

  @Test(arguments: Repetition.allCases, [1, 7, 1000])
  func `a delta that runs backwards is one of 32 bits, and each chunk of its message is read`(
    repetition: Repetition, size: Int
  ) throws {
    let keyframe = Self.slice("17", "658880")
    let frame = Self.slice("27", "419A00")
    let messages = [
      DeviceMessage(timestamp: 1000, payload: Self.record), DeviceMessage(timestamp: 1000, payload: keyframe),
      DeviceMessage(timestamp: 1033, delta: 33, payload: frame),
      DeviceMessage(timestamp: 768, delta: 0xFFFF_FEF7, payload: frame),  // 265 ms back
      DeviceMessage(timestamp: 801, delta: 33, payload: frame),
      DeviceMessage(timestamp: 1066, payload: frame),
    ]
    var input = ByteBuffer()
    for message in messages { message.write(repetition, into: &input) }
    let (times, lengths) = try Self.samples(input, inPiecesOf: size)
    #expect(times.map { $0 - 1000 } == [0, 33, -232, -199, 66])
    #expect(lengths.dropFirst().allSatisfy { $0 == 304 } && lengths.first ?? 0 >= 304, "\(lengths)")
  }

  @Test(arguments: Repetition.allCases)
  func `a clock beyond 24 bits has extended timestamps, and a clock of 32 bits wraps by a delta`(
    repetition: Repetition
  ) throws {
    let frame = Self.slice("27", "419A00")
    let messages = [
      DeviceMessage(timestamp: 0xFFFF_FFF0, payload: Self.record),
      DeviceMessage(timestamp: 0xFFFF_FFF0, payload: Self.slice("17", "658880")),
      DeviceMessage(timestamp: 17, delta: 33, payload: frame),
      DeviceMessage(timestamp: 0xFFFF_FFFA, delta: 0xFFFF_FFE9, payload: frame),  // 23 ms back, over the wrap
    ]
    var input = ByteBuffer()
    for message in messages { message.write(repetition, into: &input) }
    let (times, _) = try Self.samples(input, inPiecesOf: 64)
    #expect(times.map { $0 - (times.first ?? 0) } == [0, 33, 10])
  }
}
