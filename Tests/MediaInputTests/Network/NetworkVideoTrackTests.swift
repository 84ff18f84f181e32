import Bitstreams
import Media
import NIOCore
import Testing
import Threading

@testable import MediaInput

@Suite("Video of publishers and cameras")
struct NetworkVideoTrackTests {
  private static func description() throws -> H264Description {
    try H264Description(
      parsing: H264PacketReaderTests.sequence, pictureParameterSet: H264PacketReaderTests.pictureSet, frameRate: 25)
  }

  private static func packet(_ payload: ByteBuffer, isKeyframe: Bool, at milliseconds: Int64) -> NetworkPacket {
    let time = MediaTime.zero + .milliseconds(milliseconds)
    return NetworkPacket(
      EncodedSample(
        kind: .video, payload: payload, presentationTime: time, duration: .zero, isKeyframe: isKeyframe),
      times: SourceTimeline.Times(decode: time, presentation: time))
  }

  private static func address(_ buffer: ByteBuffer) -> Int {
    buffer.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) }
  }

  @Test func `samples are passed through in their own memory`() throws {
    let track = try #require(
      NetworkVideoTrack(.h264(try Self.description()), handling: .passedThrough, source: "a publisher"))
    #expect(track.format.width == 1280 && track.format.height == 720 && track.format.frameRate == 30)
    let collector = SampleCollector()
    let payloads = [[0x65, 1, 2, 3], [0x41, 4, 5], [0x41, 6]].map { slice in
      ByteBuffer(bytes: [0, 0, 0, UInt8(slice.count)] + slice)
    }
    for (index, payload) in payloads.enumerated() {
      track.handle(Self.packet(payload, isKeyframe: index == 0, at: 40 * Int64(index)), to: collector)
    }
    let state = collector.state.withLock { $0 }
    #expect(state.samples.map(\.payload) == payloads && state.samples.map(\.isKeyframe) == [true, false, false])
    #expect(state.samples.map(\.payload).map(Self.address) == payloads.map(Self.address))
    #expect(state.descriptions == [.h264(try Self.description())] && state.frameCount == 0 && track.corruptCount == 0)
  }

  @Test func `samples with parameter sets of their own are decoded`() throws {
    let track = try #require(
      NetworkVideoTrack(.h264(try Self.description()), handling: .passedThrough, source: "a publisher"))
    let collector = SampleCollector()
    let second: [UInt8] = [0x68, 0x53, 0x01]
    var payload = ByteBuffer()
    for unit in [H264PacketReaderTests.sequence, H264PacketReaderTests.pictureSet, second, [0x65, 0x88, 0x84]] {
      payload.writeInteger(UInt32(unit.count))
      payload.writeBytes(unit)
    }
    track.handle(Self.packet(payload, isKeyframe: true, at: 0), to: collector)
    let state = collector.state.withLock { $0 }
    #expect(state.samples.isEmpty && state.ends.isEmpty)
    // The slice ends too early for the decoder, which has seen it.
    #expect(track.corruptCount + state.frameCount > 0)
  }
}
