import Media
import NIOCore
import RTP
import Testing

@testable import RTSPServer

@Suite("RTP tracks of a stream")
struct RTPStreamPacketizerTests {
  private let tracks = RTPStreamPacketizer([
    .h264(
      H264Description(
        sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
        frameRate: 30)),
    .aac(AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))),
  ])

  private func sample(_ kind: MediaKind, at time: MediaTime, isKeyframe: Bool = true) -> EncodedSample {
    let nalUnit: [UInt8] = [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]
    return EncodedSample(
      kind: kind, payload: ByteBuffer(bytes: nalUnit), presentationTime: time, duration: .milliseconds(20),
      isKeyframe: isKeyframe)
  }

  @Test func `positions are those of the next packets, of one instant`() throws {
    var tracks = self.tracks
    let time = MediaTime(nanoseconds: 7_000_000_000)
    let positions = tracks.positions(at: time)
    let batch = try #require(tracks.packetize(self.sample(.video, at: time)).first)
    #expect(positions.video?.sequenceNumber == batch.firstSequenceNumber)
    #expect(positions.video?.timestamp == batch.timestamp)
    let audio = try #require(tracks.packetize(self.sample(.audio, at: time)).first)
    #expect(positions.audio?.sequenceNumber == audio.firstSequenceNumber)
    #expect(positions.audio?.timestamp == audio.timestamp)
  }

  @Test func `reports of all tracks have one instant and one name, and end with a goodbye`() throws {
    let reports = self.tracks.reports(at: MediaTime(nanoseconds: 5_000_000_000), unixTime: 1_700_000_000_000_000_000)
    var names: Set<RTCPSourceDescription> = []
    var times: Set<UInt64> = []
    for report in [reports.video, reports.audio] {
      let packets = try RTCPCompoundPacket(parsing: try #require(report)).packets
      guard case .senderReport(let sender) = packets[0], case .sourceDescription(let source) = packets[1] else {
        Issue.record("a report is a sender report and a source description")
        return
      }
      times.insert(sender.ntpTimestamp.rawValue)
      names.insert(RTCPSourceDescription(chunks: source.chunks.map { .init(ssrc: 0, items: $0.items) }))
      #expect(packets.count == 2)
    }
    #expect(times == [NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000).rawValue])
    #expect(names.count == 1)
    let last = self.tracks.reports(at: .zero, unixTime: 0, isLast: true)
    let packets = try RTCPCompoundPacket(parsing: try #require(last.video)).packets
    guard case .goodbye(let goodbye) = try #require(packets.last) else {
      Issue.record("no goodbye")
      return
    }
    #expect(goodbye.sources == [try #require(self.tracks.senderStates.video).ssrc])
  }

  @Test func `a malformed sample is not sent`() {
    var tracks = self.tracks
    var broken = self.sample(.video, at: .zero)
    broken.payload = ByteBuffer(bytes: [0, 0, 0, 200, 0x65])
    #expect(tracks.packetize(broken).isEmpty)
    var huge = self.sample(.audio, at: .zero)
    huge.payload = ByteBuffer(repeating: 0, count: 10_000)
    #expect(tracks.packetize(huge).isEmpty)
  }
}
