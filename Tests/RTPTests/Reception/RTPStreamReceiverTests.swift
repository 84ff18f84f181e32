import Bitstreams
import Media
import NIOCore
import Testing

@testable import RTP

@Suite("Receiving a stream over RTP")
struct RTPStreamReceiverTests {
  /// High profile, level 3.1, 1280×720, 30 frames per second.
  private static let h264 = H264Description(
    sequenceParameterSet: [
      0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00,
      0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
    ], pictureParameterSet: [0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0], width: 1280, height: 720, frameRate: 30)
  private static let aac = AACDescription(
    audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))

  private static func format(_ description: CodecDescription, payloadType: UInt8) throws -> RTPMediaFormat {
    try RTPMediaFormat(MediaDescription(description, payloadType: payloadType, control: "x"))
  }

  private static func receiver(reorders: Bool = false) throws -> RTPStreamReceiver {
    var receiver = RTPStreamReceiver(ssrc: 7, canonicalName: "test")
    _ = try receiver.addTrack(0, format: Self.format(.h264(Self.h264), payloadType: 96), reorders: reorders)
    _ = try receiver.addTrack(1, format: Self.format(.aac(Self.aac), payloadType: 97), reorders: reorders)
    return receiver
  }

  private static func packet(
    _ number: UInt16, _ timestamp: UInt32, _ payload: [UInt8], payloadType: UInt8 = 96, ssrc: UInt32 = 1
  ) -> ByteBuffer {
    var buffer = ByteBuffer()
    RTPPacket(
      header: RTPHeader(
        marker: true, payloadType: payloadType, sequenceNumber: number, timestamp: timestamp, ssrc: ssrc),
      payload: ByteBuffer(bytes: payload)
    ).serialize(into: &buffer)
    return buffer
  }

  private static func audio(_ number: UInt16, _ timestamp: UInt32) -> ByteBuffer {
    Self.packet(number, timestamp, [0x00, 0x10, 0x00, 0x08, 9], payloadType: 97, ssrc: 2)
  }

  private static func report(ssrc: UInt32, unix: MediaDuration, timestamp: UInt32) -> ByteBuffer {
    var buffer = ByteBuffer()
    let report = RTCPSenderReport(
      ssrc: ssrc, ntpTimestamp: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000 + unix.nanoseconds),
      rtpTimestamp: timestamp, packetCount: 1, octetCount: 1)
    RTCPCompoundPacket([.senderReport(report)]).serialize(into: &buffer)
    return buffer
  }

  private static func samples(_ outputs: [ReceivedMedia]) -> [EncodedSample] {
    outputs.compactMap { if case .sample(let sample) = $0 { sample } else { nil } }
  }

  private static func at(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  @Test func `the configurations of a session description are returned with the tracks`() throws {
    var receiver = RTPStreamReceiver(ssrc: 7, canonicalName: "test")
    for description in [CodecDescription.h264(Self.h264), .aac(Self.aac)] {
      let outputs = try receiver.addTrack(
        0, format: Self.format(description, payloadType: 96), reorders: false)
      guard case .description(let returned)? = outputs.first else { throw ParsingError(.missing, field: "description") }
      #expect(returned == description && outputs.count == 1)
    }
  }

  @Test func `video starts at a keyframe, and its times follow the timestamps`() throws {
    var receiver = try Self.receiver()
    let slice: [UInt8] = [0x41, 0x80]
    #expect(try receiver.receive(rtp: Self.packet(1, 1_000, slice), track: 0, at: Self.at(1)).isEmpty)
    let first = Self.samples(
      try receiver.receive(rtp: Self.packet(2, 4_000, [0x65, 0x80]), track: 0, at: Self.at(2_000)))
    let second = Self.samples(try receiver.receive(rtp: Self.packet(3, 7_000, slice), track: 0, at: Self.at(2_090)))
    #expect(first.map(\.isKeyframe) == [true] && second.map(\.isKeyframe) == [false])
    #expect(first.first?.payload == ByteBuffer(bytes: [0, 0, 0, 2, 0x65, 0x80]))
    let distance = try #require(second.first).presentationTime - (try #require(first.first)).presentationTime
    #expect(distance == .ticks(3_000, timescale: 90_000))
    // The sequence parameter set says that two frames are held back.
    #expect(try #require(second.first).presentationTime - (try #require(second.first)).decodeTime > .milliseconds(66))
  }

  @Test func `video without a keyframe is dropped, and reported once after three seconds`() throws {
    var receiver = try Self.receiver()
    var reports: [(number: Int, dropped: Int)] = []
    for number in 0..<100 {
      let outputs = try receiver.receive(
        rtp: Self.packet(UInt16(number), UInt32(number * 9_000), [0x41, 0x80]), track: 0,
        at: Self.at(Int64(number) * 100))
      #expect(Self.samples(outputs).isEmpty)
      for case .missingKeyframe(let dropped) in outputs { reports.append((number, dropped)) }
    }
    #expect(reports.map(\.number) == [30] && reports.map(\.dropped) == [31])
    #expect(receiver.droppedSampleCount == 100)
    let late = try receiver.receive(rtp: Self.packet(100, 900_000, [0x65, 0x80]), track: 0, at: Self.at(10_000))
    #expect(Self.samples(late).map(\.isKeyframe) == [true], "a late one is taken")
  }

  @Test func `video without keyframes starts at the first recovery point, and goes on after a loss`() throws {
    var receiver = try Self.receiver()
    // STAP-A: a recovery point as supplemental enhancement information, and a slice.
    let recovery: [UInt8] = [0x78, 0, 5, 0x06, 0x06, 0x01, 0xC4, 0x80, 0, 2, 0x41, 0x80]
    var taken: [(number: Int, isKeyframe: Bool)] = []
    for number in 0..<60 where number != 50 {
      let outputs = try receiver.receive(
        rtp: Self.packet(UInt16(number), UInt32(number * 9_000), number % 10 == 5 ? recovery : [0x41, 0x80]), track: 0,
        at: Self.at(Int64(number) * 100))
      taken += Self.samples(outputs).map { (number, $0.isKeyframe) }
    }
    #expect(taken.map(\.number) == Array(5..<50) + Array(51..<60))
    #expect(taken.filter(\.isKeyframe).map(\.number) == [5, 15, 25, 35, 45, 55])
  }

  @Test(arguments: [nil, "sprop-parameter-sets=Z0LA*,aMuDyyA=", "sprop-parameter-sets=Z0LA,aMuDyyA="])
  func `parameter sets in the stream describe video whose session description has none, or none that can be used`(
    parameters: String?
  ) throws {
    var media = MediaDescription(.h264(Self.h264), payloadType: 96, control: "x")
    media.attributes.removeAll { $0.name == "fmtp" }
    if let parameters { media.attributes.append(SDPAttribute("fmtp", "96 \(parameters)")) }
    let format = try RTPMediaFormat(media)
    #expect(format.description == nil)
    var receiver = RTPStreamReceiver(ssrc: 7, canonicalName: "test")
    #expect(try receiver.addTrack(0, format: format, reorders: false).isEmpty)
    #expect(try receiver.receive(rtp: Self.packet(1, 0, [0x65, 0x80]), track: 0, at: .zero).isEmpty)
    // STAP-A: sizes and NAL units.
    var aggregate: [UInt8] = [0x78]
    for unit in [Self.h264.sequenceParameterSet, Self.h264.pictureParameterSet, [0x65, 0x80]] {
      aggregate += [0, UInt8(unit.count)] + unit
    }
    let outputs = try receiver.receive(rtp: Self.packet(2, 3_000, aggregate), track: 0, at: .zero)
    guard case .description(.h264(let description))? = outputs.first else {
      throw ParsingError(.missing, field: "description")
    }
    #expect(description == Self.h264 && Self.samples(outputs).count == 1)
  }

  @Test func `sender reports keep the offset of audio to video, whatever their arrival`() throws {
    var receiver = try Self.receiver()
    try receiver.receive(rtcp: Self.report(ssrc: 1, unix: .zero, timestamp: 90_000), track: 0, at: Self.at(500))
    // Audio of the same instant arrives 80 ms later.
    try receiver.receive(rtcp: Self.report(ssrc: 2, unix: .zero, timestamp: 48_000), track: 1, at: Self.at(580))
    let video = Self.samples(
      try receiver.receive(rtp: Self.packet(1, 90_000, [0x65, 0x80]), track: 0, at: Self.at(510)))
    let audio = Self.samples(try receiver.receive(rtp: Self.audio(1, 48_000 + 4_800), track: 1, at: Self.at(590)))
    #expect(video.first?.presentationTime == Self.at(500))
    #expect(audio.first?.presentationTime == Self.at(600))
    #expect(audio.first?.duration == .ticks(1_024, timescale: 48_000))
  }

  @Test func `sender reports that come later move the second track to the first`() throws {
    var receiver = try Self.receiver()
    _ = try receiver.receive(rtp: Self.packet(1, 0, [0x65, 0x80]), track: 0, at: Self.at(1_000))
    let early = Self.samples(try receiver.receive(rtp: Self.audio(1, 0), track: 1, at: Self.at(1_200)))
    #expect(early.first?.presentationTime == Self.at(1_200))
    try receiver.receive(rtcp: Self.report(ssrc: 1, unix: .seconds(1), timestamp: 90_000), track: 0, at: Self.at(2_001))
    try receiver.receive(rtcp: Self.report(ssrc: 2, unix: .seconds(1), timestamp: 48_000), track: 1, at: Self.at(2_201))
    let video = Self.samples(
      try receiver.receive(rtp: Self.packet(2, 99_000, [0x41, 0x80]), track: 0, at: Self.at(2_101)))
    let audio = Self.samples(try receiver.receive(rtp: Self.audio(2, 52_800), track: 1, at: Self.at(2_301)))
    #expect(video.first?.presentationTime == Self.at(2_100))
    #expect(audio.first?.presentationTime == Self.at(2_100))
  }

  /// Presentation times of video, minus those of audio that is captured in the same instant, in milliseconds, for ten minutes. Both come
  /// five times a second.
  ///
  /// - Parameters:
  ///   - videoTicks: Ticks of the video's clock in 200 ms; 18,000 are right.
  ///   - audioTicks: Likewise of the audio; 9,600 are right.
  ///   - delay: Time by which the audio comes later than the video.
  ///   - reported: Tracks whose reports come each five seconds, which say that both are captured in one instant.
  private static func offsets(
    videoTicks: Int, audioTicks: Int = 9_600, delay: Int64 = 0, reported: Set<Int> = []
  ) throws -> [Int64] {
    var receiver = try Self.receiver()
    var offsets: [Int64] = []
    for index in 0..<3_000 {
      let (instant, ticks) = (Int64(index) * 200, UInt32(index * videoTicks))
      if index % 25 == 0 {
        let unix = MediaDuration.milliseconds(instant)
        for (track, timestamp) in [(0, ticks), (1, UInt32(index * audioTicks))] where reported.contains(track) {
          try receiver.receive(
            rtcp: Self.report(ssrc: UInt32(track) + 1, unix: unix, timestamp: timestamp), track: track,
            at: Self.at(instant))
        }
      }
      let video = Self.samples(
        try receiver.receive(
          rtp: Self.packet(UInt16(index), ticks, [index == 0 ? 0x65 : 0x41, 0x80]), track: 0, at: Self.at(instant)))
      let audio = Self.samples(
        try receiver.receive(
          rtp: Self.audio(UInt16(index), UInt32(index * audioTicks)), track: 1, at: Self.at(instant + delay)))
      let distance = try #require(video.first).presentationTime - (try #require(audio.first)).presentationTime
      offsets.append(distance.nanoseconds / 1_000_000)
    }
    return offsets
  }

  /// Ticks of a clock that is right, and of clocks that lose or gain 1.8 s in ten minutes.
  @Test(arguments: [18_000, 17_946, 18_054])
  func `tracks whose clocks drift apart without sender reports stay in sync`(videoTicks: Int) throws {
    let offsets = try Self.offsets(videoTicks: videoTicks)
    let worst = offsets.map { abs($0) }.max() ?? 0
    #expect(worst <= 60, "\(worst) ms")
    // A step is less than the interval of frames.
    #expect(zip(offsets, offsets.dropFirst()).allSatisfy { abs($1 - $0) <= 12 })
  }

  /// Tracks with reports, and ticks of both clocks: that of the other track is wrong.
  @Test(arguments: [([0], 18_000, 9_629), ([0], 18_000, 9_571), ([1], 18_054, 9_600)] as [(Set<Int>, Int, Int)])
  func `a track without sender reports follows the other one, which has some`(
    reported: Set<Int>, videoTicks: Int, audioTicks: Int
  ) throws {
    let offsets = try Self.offsets(videoTicks: videoTicks, audioTicks: audioTicks, reported: reported)
    let worst = offsets.map { abs($0) }.max() ?? 0
    #expect(worst <= 60, "\(worst) ms")
  }

  @Test func `tracks with sender reports have the times of these, however late one of them arrives`() throws {
    let offsets = try Self.offsets(videoTicks: 18_000, delay: 300, reported: [0, 1])
    #expect(offsets.allSatisfy { $0 == 0 })
  }

  @Test func `a wall clock that is set, or timestamps that jump, start the mapping again`() throws {
    var receiver = try Self.receiver()
    try receiver.receive(rtcp: Self.report(ssrc: 1, unix: .zero, timestamp: 0), track: 0, at: Self.at(0))
    try receiver.receive(
      rtcp: Self.report(ssrc: 1, unix: .seconds(3_600), timestamp: 90_000), track: 0, at: Self.at(1_000))
    for (number, timestamp) in [(1, 99_000), (2, 4_000_000_000), (3, 1)] as [(UInt16, UInt32)] {
      let samples = Self.samples(
        try receiver.receive(rtp: Self.packet(number, timestamp, [0x65, 0x80]), track: 0, at: Self.at(1_100)))
      #expect(samples.map(\.presentationTime) == [Self.at(1_100)], "\(timestamp)")
    }
  }

  @Test func `frames in another order than they are shown have decode times before them`() throws {
    var receiver = try Self.receiver()
    var previous: MediaTime?
    // I P B B P B B, as numbers of frames.
    let order: [UInt32] = [3, 6, 4, 5, 9, 7, 8, 12, 10, 11]
    for (index, frame) in order.enumerated() {
      let payload: [UInt8] = index == 0 ? [0x65, 0x80] : [0x41, 0x80]
      let samples = Self.samples(
        try receiver.receive(
          rtp: Self.packet(UInt16(index), frame * 3_000, payload), track: 0, at: Self.at(Int64(index) * 33)))
      let sample = try #require(samples.first)
      #expect(sample.decodeTime <= sample.presentationTime)
      if let previous { #expect(sample.decodeTime > previous) }
      previous = sample.decodeTime
    }
  }

  @Test func `frames in an order that the parameter sets do not have is found with the first of them`() {
    var order = RTPDecodeOrder()
    let times = [3, 6, 4, 5, 9, 7, 8].map { order.decodeTime(ofPresentation: $0, frameDuration: 1) }
    #expect(times == [3, 6, 4, 5, 6, 7, 8])
    var plain = RTPDecodeOrder()
    #expect([1, 2, 3].map { plain.decodeTime(ofPresentation: $0, frameDuration: 1) } == [1, 2, 3])
    var known = RTPDecodeOrder(depth: 1)
    #expect([3, 6, 4, 5, 9].map { known.decodeTime(ofPresentation: $0, frameDuration: 1) } == [2, 3, 4, 5, 6])
  }

  @Test(arguments: [(true, 3), (false, 1)])
  func `packets in another order make frames over UDP, and are a loss over TCP`(reorders: Bool, count: Int) throws {
    var receiver = try Self.receiver(reorders: reorders)
    var samples: [EncodedSample] = []
    for (number, payload) in [(1, [0x65, 0x80]), (3, [0x41, 0x81]), (2, [0x41, 0x80])] as [(UInt16, [UInt8])] {
      samples += Self.samples(
        try receiver.receive(rtp: Self.packet(number, UInt32(number) * 3_000, payload), track: 0, at: .zero))
    }
    #expect(samples.count == count)
  }

  @Test func `packets of other payload types and unknown tracks are ignored, malformed ones are an error`() throws {
    var receiver = try Self.receiver()
    #expect(try receiver.receive(rtp: Self.packet(1, 0, [0x65, 0x80], payloadType: 98), track: 0, at: .zero).isEmpty)
    #expect(try receiver.receive(rtp: Self.packet(1, 0, [0x65, 0x80]), track: 2, at: .zero).isEmpty)
    #expect(throws: ParsingError.self) {
      _ = try receiver.receive(rtp: ByteBuffer(bytes: [1, 2]), track: 0, at: .zero)
    }
    #expect(throws: ParsingError.self) { try receiver.receive(rtcp: ByteBuffer(bytes: [1, 2]), track: 0, at: .zero) }
    #expect(try receiver.receive(rtp: Self.packet(1, 0, [0x65, 0x80]), track: 0, at: .zero).count == 1)
  }

  @Test func `a report has the loss, and the times of the last sender report`() throws {
    var receiver = try Self.receiver()
    let early = receiver.makeReport(track: 0, now: .zero)
    #expect(early == nil)
    try receiver.receive(rtcp: Self.report(ssrc: 1, unix: .zero, timestamp: 0), track: 0, at: Self.at(0))
    for number in [1, 2, 4, 5] as [UInt16] {
      _ = try receiver.receive(rtp: Self.packet(number, 0, [0x65, 0x80]), track: 0, at: Self.at(0))
    }
    let bytes = receiver.makeReport(track: 0, now: Self.at(500))
    let packets = try RTCPCompoundPacket(parsing: try #require(bytes)).packets
    guard case .receiverReport(let report)? = packets.first, case .sourceDescription(let source)? = packets.last else {
      throw ParsingError(.missing, field: "report")
    }
    let block = try #require(report.reportBlocks.first)
    #expect(report.ssrc == 7 && block.ssrc == 1 && block.cumulativeLost == 1 && block.fractionLost == 51)
    #expect(block.delaySinceLastSenderReport == 32_768 && block.lastSenderReport != 0)
    #expect(source.chunks.first?.items.first?.text == "test")
  }

  @Test func `a sender that starts again with another SSRC is received`() throws {
    var receiver = try Self.receiver()
    _ = try receiver.receive(rtp: Self.packet(100, 0, [0x65, 0x80]), track: 0, at: .zero)
    #expect(try receiver.receive(rtp: Self.packet(50, 0, [0x41, 0x80], ssrc: 9), track: 0, at: .zero).isEmpty)
    #expect(try receiver.receive(rtp: Self.packet(51, 0, [0x65, 0x80], ssrc: 9), track: 0, at: .zero).count == 1)
  }

  @Test(
    arguments: [
      ("video", "96", "96 H265/90000", .unsupported), ("audio", "97", "97 opus/48000/2", .unsupported),
      ("audio", "0", nil, .unsupported), ("video", "96", nil, .missing), ("video", "96", "96 H264/8000", .invalid),
      ("audio", "97", "97 mpeg4-generic/48000/2", .missing), ("audio", "96", "96 H264/90000", .unsupported),
      ("application", "107", "107 vnd.onvif.metadata/90000", .unsupported),
    ] as [(String, String, String?, ParsingError.Code)])
  func `other codecs and incomplete formats are refused`(
    media: String, format: String, map: String?, code: ParsingError.Code
  ) {
    var description = MediaDescription(media: media, formats: [format])
    if let map { description.attributes = [SDPAttribute("rtpmap", map)] }
    let error = #expect(throws: ParsingError.self) { try RTPMediaFormat(description) }
    #expect(error?.code == code)
  }
}
