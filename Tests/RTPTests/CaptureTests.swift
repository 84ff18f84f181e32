import Bitstreams
import Foundation
import NIOCore
import RTP
import Testing

/// Packets that ffmpeg 5.1 sent with `-c copy -f rtp rtp://127.0.0.1:PORT?pkt_size=300`, each behind its length in 16
/// bits, beside the same stream as a file: H.264 Baseline in two slices per frame (`libx264 slices=2 keyint=3`, 96×64),
/// and AAC-LC, 44.1 kHz mono.
@Suite("Packets of ffmpeg")
struct CaptureTests {
  @Test func `packets of ffmpeg contain the slices of the H 264 file`() throws {
    var depacketizer = H264Depacketizer()
    var received: [ByteBuffer] = []
    var keyframes: [Bool] = []
    for packet in try Self.packets("ffmpeg-h264.rtp") {
      for output in try depacketizer.depacketize(packet) {
        #expect(output.isComplete)
        keyframes.append(output.accessUnit.isKeyframe)
        received += try AVCCNALUnits(parsing: output.accessUnit.payload)
      }
    }
    let sent = AnnexBNALUnits(try Self.read("ffmpeg-h264.h264")).filter {
      H264NALUnitType(rawValue: $0.getInteger(at: $0.readerIndex) ?? 0).isSampleData
    }
    #expect(received == sent)
    #expect(keyframes == [true, false, false, true, false])
    #expect(depacketizer.droppedPacketCount == 0)
  }

  @Test func `packets of ffmpeg contain the frames of the AAC file`() throws {
    var depacketizer = try AACDepacketizer(
      parameters: SDPFormatParameters([
        .init("sizelength", "13"), .init("indexlength", "3"), .init("indexdeltalength", "3"),
      ]))
    var received: [AACDepacketizer.Output] = []
    for packet in try Self.packets("ffmpeg-aac.rtp") { received += try depacketizer.depacketize(packet) }
    var sent: [ByteBuffer] = []
    var file = try Self.read("ffmpeg-aac.aac")
    while file.readableBytes > 0 {
      let header = try ADTSHeader(parsing: &file)
      let frame = file.readSlice(length: header.payloadLength)
      sent.append(try #require(frame))
    }
    // ffmpeg did not send the last two frames.
    #expect(received.count == 12)
    #expect(received.map(\.payload) == Array(sent.dropLast(2)))
    let steps = zip(received, received.dropFirst()).map { $1.timestamp &- $0.timestamp }
    #expect(steps.allSatisfy { $0 == 1024 })
  }

  private static func packets(_ name: String) throws -> [RTPPacket] {
    var bytes = try Self.read(name)
    var packets: [RTPPacket] = []
    while let packet = bytes.readLengthPrefixedSlice(as: UInt16.self) {
      // Sender reports were sent to the next port.
      packets.append(try RTPPacket(parsing: packet))
    }
    #expect(packets.count > 5)
    return packets
  }

  private static func read(_ name: String) throws -> ByteBuffer {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return ByteBuffer(bytes: try Data(contentsOf: tests.appending(path: "Captures/\(name)")))
  }
}
