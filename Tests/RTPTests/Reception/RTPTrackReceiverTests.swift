import Bitstreams
import Media
import NIOCore
import Testing

@testable import RTP

@Suite("Receiving one track over RTP")
struct RTPTrackReceiverTests {
  /// High profile, level 3.1, 1280×720, 30 frames per second.
  private static let h264 = H264Description(
    sequenceParameterSet: [
      0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00,
      0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
    ], pictureParameterSet: [0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0], width: 1280, height: 720, frameRate: 30)
  /// High profile, 720×576, of libx264.
  private static let otherSet: [UInt8] = [
    0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xB4, 0x12, 0x6C, 0x11, 0xA8, 0x28, 0x28, 0x2A, 0x00, 0x00, 0x03, 0x00,
    0x02, 0x00, 0x00, 0x03, 0x00, 0x64, 0x1E, 0x2C, 0x5B, 0x2C,
  ]
  private static let aac = AACDescription(
    audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))

  /// A receiver with its clock, and outputs as text: `key 3000: 6580`, `frame`, `audio`, `1280×720`, `missing 13`.
  private struct Track {
    var receiver: RTPTrackReceiver
    var now = MediaTime.zero
    let payloadType: UInt8

    init(receiver: RTPTrackReceiver, payloadType: UInt8) {
      (self.receiver, self.payloadType) = (receiver, payloadType)
    }

    init(_ description: CodecDescription, reorders: Bool = false) throws {
      self.payloadType = description.kind == .video ? 96 : 97
      let media = MediaDescription(description, payloadType: self.payloadType, control: "x")
      self.receiver = try RTPTrackReceiver(RTPMediaFormat(media), reorders: reorders)
    }

    mutating func send(
      _ number: UInt16, _ timestamp: UInt32, _ payload: [UInt8], marker: Bool = true, ssrc: UInt32 = 1,
      payloadType: UInt8? = nil
    ) throws -> [String] {
      let header = RTPHeader(
        marker: marker, payloadType: payloadType ?? self.payloadType, sequenceNumber: number, timestamp: timestamp,
        ssrc: ssrc)
      let clockRate = self.receiver.format.clockRate
      return try self.receiver.handle(RTPPacket(header: header, payload: ByteBuffer(bytes: payload)), at: self.now) {
        MediaTime(ticks: $0, timescale: clockRate)
      }.map { output in
        switch output {
        case .description(.h264(let video)): return "\(video.width)×\(video.height)"
        case .description(.aac(let audio)): return "\(audio.format.sampleRate) Hz"
        case .missingKeyframe(let dropped): return "missing \(dropped)"
        case .unsupported(_, let codec): return codec
        case .sample(let sample):
          let kind = sample.kind == .audio ? "audio" : sample.isKeyframe ? "key" : "frame"
          // Timestamps are rounded down to a nanosecond.
          let ticks = (sample.presentationTime + MediaDuration(nanoseconds: 1)).ticks(timescale: clockRate)
          return "\(kind) \(ticks): \(Hexadecimal.encode(sample.payload.readableBytesView))"
        }
      }
    }
  }

  /// STAP-A, RFC 6184 §5.7.1: each NAL unit behind its size.
  private static func aggregate(_ units: [[UInt8]]) -> [UInt8] {
    [0x78] + units.flatMap { [0, UInt8($0.count)] + $0 }
  }

  /// One AAC frame of AAC-hbr, RFC 3640 §3.3.6.
  private static func audio(_ bytes: [UInt8]) -> [UInt8] { [0x00, 0x10, 0x00, UInt8(bytes.count << 3)] + bytes }

  @Test func `the slices of a frame are one sample, which its last packet completes`() throws {
    var track = try Track(.h264(Self.h264))
    #expect(try track.send(1, 3_000, [0x65, 0x80], marker: false) == [])
    #expect(try track.send(2, 3_000, [0x65, 0x40], marker: false) == [])
    #expect(try track.send(3, 3_000, [0x65, 0x20]) == ["key 3000: 000000026580000000026540000000026520"])
    #expect(try track.send(4, 6_000, [0x41, 0x80]) == ["frame 6000: 000000024180"])
    #expect(track.receiver.droppedSampleCount == 0 && track.receiver.ssrc == 1)
  }

  @Test func `fragments are joined, and a frame without one of them is dropped up to the next keyframe`() throws {
    var track = try Track(.h264(Self.h264))
    // FU-A, RFC 6184 §5.8: start, middle and end of an IDR slice.
    #expect(try track.send(1, 0, [0x7C, 0x85, 1, 2], marker: false) == [])
    #expect(try track.send(2, 0, [0x7C, 0x05, 3], marker: false) == [])
    #expect(try track.send(3, 0, [0x7C, 0x45, 4]) == ["key 0: 000000056501020304"])
    // The second one has lost its middle.
    #expect(try track.send(4, 3_000, [0x5C, 0x81, 1], marker: false) == [])
    #expect((try? track.send(6, 3_000, [0x5C, 0x41, 3])) ?? [] == [])
    #expect((try? track.send(7, 6_000, [0x41, 0x80])) ?? [] == [])
    #expect(try track.send(8, 9_000, [0x65, 0x80]) == ["key 9000: 000000026580"])
  }

  @Test func `timestamps go on across their wrap, on both kinds of track`() throws {
    var video = try Track(.h264(Self.h264))
    #expect(try video.send(65_535, .max - 1_499, [0x65, 0x80]) == ["key 4294965796: 000000026580"])
    #expect(try video.send(0, 1_500, [0x41, 0x80]) == ["frame 4294968796: 000000024180"])
    var audio = try Track(.aac(Self.aac))
    #expect(try audio.send(65_535, .max - 511, Self.audio([7])) == ["audio 4294966784: 07"])
    #expect(try audio.send(0, 512, Self.audio([8])) == ["audio 4294967808: 08"])
  }

  @Test func `the frames of an audio packet follow each other by their length`() throws {
    var track = try Track(.aac(Self.aac))
    let frames: [UInt8] = [0x00, 0x20, 0x00, 0x10, 0x00, 0x08, 1, 2, 3]
    #expect(try track.send(1, 4_800, frames) == ["audio 4800: 0102", "audio 5824: 03"])
    #expect(try track.send(2, 6_848, Self.audio([4])) == ["audio 6848: 04"])
  }

  @Test func `packets of another payload type are ignored, and do not name the sender`() throws {
    var track = try Track(.h264(Self.h264))
    #expect(try track.send(1, 0, [0x65, 0x80], payloadType: 98) == [])
    #expect(track.receiver.ssrc == nil)
    let early = track.receiver.makeReportBlock(now: .zero)
    #expect(early == nil)
    #expect(try track.send(2, 0, [0x65, 0x80]) == ["key 0: 000000026580"])
    let block = track.receiver.makeReportBlock(now: .zero)
    #expect(block?.ssrc == 1 && block?.cumulativeLost == 0)
  }

  @Test func `new parameter sets become a description before the keyframe that needs them, known ones do not`() throws {
    var track = try Track(.h264(Self.h264))
    let same = Self.aggregate([Self.h264.sequenceParameterSet, Self.h264.pictureParameterSet, [0x65, 0x80]])
    #expect(try track.send(1, 0, same) == ["key 0: 000000026580"])
    let other = Self.aggregate([Self.otherSet, Self.h264.pictureParameterSet, [0x65, 0x80]])
    #expect(try track.send(2, 3_000, other) == ["720×576", "key 3000: 000000026580"])
    #expect(try track.send(3, 6_000, other) == ["key 6000: 000000026580"])
    #expect(try track.send(4, 9_000, [0x41, 0x80]) == ["frame 9000: 000000024180"])
    #expect(try track.send(5, 12_000, same) == ["1280×720", "key 12000: 000000026580"])
  }

  @Test func `parameter sets in packets of their own belong to the next keyframe`() throws {
    var track = try Track(.h264(Self.h264))
    #expect(try track.send(1, 0, Self.otherSet) == [])
    #expect(try track.send(2, 0, Self.h264.pictureParameterSet) == [])
    #expect(try track.send(3, 3_000, [0x65, 0x80]) == ["720×576", "key 3000: 000000026580"])
    #expect(track.receiver.droppedSampleCount == 0)
  }

  @Test func `another sender starts the track again, with its description and its count of drops`() throws {
    var track = try Track(.h264(Self.h264))
    #expect(try track.send(1, 3_999_997_000, [0x41, 0x80]) == [])
    #expect(track.receiver.droppedSampleCount == 1)
    let other = Self.aggregate([Self.otherSet, Self.h264.pictureParameterSet, [0x65, 0x80]])
    #expect(try track.send(2, 4_000_000_000, other) == ["720×576", "key 4000000000: 000000026580"])
    // Its numbers and timestamps are its own; it starts at a keyframe too.
    #expect(try track.send(40_000, 9, [0x41, 0x80], ssrc: 2) == [])
    #expect(try track.send(40_001, 3_009, [0x65, 0x80], ssrc: 2) == ["key 3009: 000000026580"])
    #expect(track.receiver.ssrc == 2 && track.receiver.droppedSampleCount == 2)
    let block = track.receiver.makeReportBlock(now: .zero)
    #expect(block?.ssrc == 2 && block?.cumulativeLost == 0)
  }

  @Test func `reordered packets are put in order, missing ones are waited for at most 100 ms`() throws {
    var track = try Track(.h264(Self.h264), reorders: true)
    #expect(try track.send(1, 0, [0x65, 0x80]) == ["key 0: 000000026580"])
    #expect(try track.send(3, 6_000, [0x41, 3]) == [])
    #expect(try track.send(4, 9_000, [0x41, 4]) == [])
    #expect(
      try track.send(2, 3_000, [0x41, 2]) == [
        "frame 3000: 000000024102", "frame 6000: 000000024103", "frame 9000: 000000024104",
      ])
    // Packet 5 is lost: what follows waits, and then for a keyframe.
    #expect(try track.send(6, 15_000, [0x41, 6]) == [])
    track.now += .milliseconds(99)
    #expect(try track.send(7, 18_000, [0x41, 7]) == [])
    track.now += .milliseconds(1)
    #expect(try track.send(8, 21_000, [0x65, 8]) == ["key 21000: 000000026508"])
    #expect(try track.send(8, 21_000, [0x65, 8]) == [], "a duplicate")
  }

  @Test func `a malformed packet is an error, and the next one is received`() throws {
    var video = try Track(.h264(Self.h264))
    #expect(try video.send(1, 0, [0x65, 0x80]) == ["key 0: 000000026580"])
    let broken = #expect(throws: ParsingError.self) { _ = try video.send(2, 3_000, [0x78, 0, 9, 0x41]) }
    #expect(broken?.code == .truncated)
    #expect(try video.send(3, 6_000, [0x65, 0x80]) == ["key 6000: 000000026580"])
    var audio = try Track(.aac(Self.aac))
    #expect(throws: ParsingError.self) { _ = try audio.send(1, 0, [0x00]) }
    #expect(try audio.send(2, 1_024, Self.audio([1])) == ["audio 1024: 01"])
  }

  @Test func `a sender report of another source is ignored, one of this source has its place in time`() throws {
    var track = try Track(.h264(Self.h264))
    func report(ssrc: UInt32, timestamp: UInt32) -> RTCPSenderReport {
      RTCPSenderReport(
        ssrc: ssrc, ntpTimestamp: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000), rtpTimestamp: timestamp,
        packetCount: 1, octetCount: 1)
    }
    #expect(try track.send(1, .max, [0x65, 0x80]) == ["key 4294967295: 000000026580"])
    let (other, own) = (
      track.receiver.handle(report(ssrc: 2, timestamp: 7), at: .zero),
      track.receiver.handle(report(ssrc: 1, timestamp: 89_999), at: .zero)
    )
    #expect(other == nil && own == 4_294_967_296 + 89_999)
    let block = track.receiver.makeReportBlock(now: .zero + .seconds(1))
    #expect(block?.delaySinceLastSenderReport == 65_536)
  }

  @Test func `after three seconds without a keyframe that is reported once, and drops are counted`() throws {
    var track = try Track(.h264(Self.h264))
    var reports: [String] = []
    for number in UInt16(0)..<80 {
      reports += try track.send(number, UInt32(number) * 9_000, [0x41, 0x80])
    }
    #expect(reports == ["missing 31"])
    #expect(track.receiver.droppedSampleCount == 80)
  }

  @Test func `video without parameter sets is waited for, which is reported once, and starts with them`() throws {
    var media = MediaDescription(media: "video", formats: ["96"])
    media.attributes = [SDPAttribute("rtpmap", "96 H264/90000")]
    var track = Track(receiver: try RTPTrackReceiver(RTPMediaFormat(media), reorders: false), payloadType: 96)
    var reports: [String] = []
    for number in UInt16(0)..<400 {
      reports += try track.send(number, UInt32(number) * 9_000, number % 20 == 0 ? [0x65, 0x80] : [0x41, 0x80])
    }
    #expect(reports == ["missing 31"])
    let sets = Self.aggregate([Self.h264.sequenceParameterSet, Self.h264.pictureParameterSet, [0x65, 0x80]])
    #expect(try track.send(400, 3_600_000, sets) == ["1280×720", "key 3600000: 000000026580"])
  }

  @Test func `after a loss video goes on at a recovery point or an intra frame, where no keyframe comes`() throws {
    for start in [Self.aggregate([[0x06, 0x06, 0x01, 0xC4, 0x80], [0x41, 0x9A]]), [0x41, 0x88]] {
      var track = try Track(.h264(Self.h264))
      #expect(try track.send(1, 0, [0x65, 0x80]).count == 1)
      #expect(try track.send(3, 6_000, [0x41, 0x9A]) == [])
      let samples = try track.send(4, 9_000, start)
      // The decoder goes on: no keyframe, at which an output could start.
      #expect(samples.count == 1 && samples.first?.hasPrefix("frame 9000") == true)
      #expect(try track.send(5, 12_000, [0x41, 0x9A]).count == 1)
    }
  }

  @Test func `after a loss video goes on without any mark of a start at the end of twenty seconds`() throws {
    var track = try Track(.h264(Self.h264))
    #expect(try track.send(1, 0, [0x65, 0x80]).count == 1)
    var first: UInt16?
    for number in UInt16(3)..<700 {
      let outputs = try track.send(number, UInt32(number) * 3_000, [0x41, 0x9A])
      if !outputs.isEmpty { first = first ?? number }
    }
    #expect(first == 3 + UInt16(H264Depacketizer.maximumDroppedCount))
  }
}
