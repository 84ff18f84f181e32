import Bitstreams
import Capture
import Codecs
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import MediaInput
@testable import Threading

@Suite("A source that a publisher sends")
struct PublishedSourceTests {
  private let source = PublishedSource(
    format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
    audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2))
  private let input: PublishedInput
  /// High profile, level 3.1, 1280×720, as libx264 writes it.
  private static let h264 = H264Description(
    sequenceParameterSet: [
      0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
      0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
    ], pictureParameterSet: [0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0], width: 1280, height: 720, frameRate: 30)
  private static let aac = AACDescription(
    audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: 44_100, channelCount: 1))

  init() throws {
    self.input = try #require(PublishedSource.input(of: self.source.video))
  }

  private func video(at milliseconds: Int64, isKeyframe: Bool = false) -> EncodedSample {
    let bytes: [UInt8] = [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]
    return EncodedSample(
      kind: .video, payload: ByteBuffer(bytes: bytes),
      presentationTime: .zero + .milliseconds(milliseconds), duration: .zero, isKeyframe: isKeyframe)
  }

  @Test func `H.264 is passed on with increasing times, and its format is announced`() throws {
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    let publication = try #require(self.input.begin())
    let first = [self.video(at: 5_000, isKeyframe: true), self.video(at: 5_033)]
    #expect(publication.receive([.description(.h264(Self.h264))] + first.map { .sample($0) }))
    #expect(publication.receive([]))
    // Backwards, as of some drones.
    #expect(publication.receive([.sample(self.video(at: 5_000))]))
    let state = collector.wait { $0.samples.count == 3 }
    #expect(state.samples.map(\.isKeyframe) == [true, false, false])
    #expect(state.descriptions == [.h264(Self.h264)])
    #expect(state.formats.map(\.width) == [1280] && self.source.video.format.width == 1280)
    let times = state.samples.map(\.decodeTime)
    #expect(times == times.sorted() && Set(times).count == 3)
  }

  @Test func `consumers learn of the end of a publication, and audio of its absence at the start`() throws {
    let (video, audio) = (SampleCollector(), AudioCollector())
    try self.source.video.start(consumer: video)
    try self.source.audio.start(consumer: audio)
    defer {
      self.source.video.stop()
      self.source.audio.stop()
    }
    #expect(audio.end()??.cause == "no publisher sends")
    let publication = try #require(self.input.begin())
    #expect(self.input.begin() == nil)
    publication.end()
    // A stream whose video ends before its first frame does not start.
    #expect(video.wait { $0.ends.count == 1 }.ends.count == 1)
    #expect(!publication.consume(self.video(at: 0, isKeyframe: true)))
    #expect(!publication.receive([]) && !publication.receive([.sample(self.video(at: 33))]))
    #expect(self.input.begin() != nil)
  }

  @Test func `audio is decoded into the source's format, whatever the publisher sends`() throws {
    let audio = AudioCollector()
    try self.source.audio.start(consumer: audio)
    defer { self.source.audio.stop() }
    let publication = try #require(self.input.begin())
    let path = try TestMedia.path(
      "published.aac", ["-f", "lavfi", "-i", "sine=1000:r=44100:d=1", "-c:a", "aac", "-ac", "1", "-f", "adts"])
    var file = ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path)))
    #expect(publication.describe(.aac(Self.aac)))
    var milliseconds: Int64 = 0
    while let header = try? ADTSHeader(parsing: &file), let frame = file.readSlice(length: header.payloadLength) {
      #expect(
        publication.consume(
          EncodedSample(
            kind: .audio, payload: frame, presentationTime: .zero + .milliseconds(milliseconds), duration: .zero,
            isKeyframe: true)))
      milliseconds += 23
    }
    let blocks = audio.blocks(samples: 40_000)
    #expect(blocks.reduce(0) { $0 + $1.sampleCount } >= 40_000)
    #expect(blocks.allSatisfy { $0.format == AudioFormat(sampleRate: 48_000, channelCount: 2) })
    #expect(blocks.contains { $0.samples.contains { abs($0) > 0.05 } })
  }

  @Test func `a publication that is refused is one event, however often it is tried`() throws {
    let video = SampleCollector()
    try self.source.video.start(consumer: video)
    defer { self.source.video.stop() }
    let error = VidiconError(.unsupported, subject: "publisher", cause: "HEVC", nextStep: "send H.264")
    for _ in 0..<3 { try #require(self.input.begin()).end(error: error) }
    let publication = try #require(self.input.begin())
    #expect(publication.describe(.h264(Self.h264)))
    #expect(publication.consume(self.video(at: 0, isKeyframe: true)))
    publication.end(error: error)
    #expect(video.wait { $0.ends.count == 2 && $0.samples.count == 1 }.ends.map { $0?.cause } == ["HEVC", "HEVC"])
  }

  @Test func `audio that is described amid the video, and again, does not interrupt it`() throws {
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    let publication = try #require(self.input.begin())
    #expect(publication.describe(.h264(Self.h264)))
    #expect(publication.consume(self.video(at: 0, isKeyframe: true)))
    #expect(publication.describe(.aac(Self.aac)))
    #expect(publication.consume(self.video(at: 33)))
    #expect(publication.describe(.h264(Self.h264)))
    #expect(publication.consume(self.video(at: 67)))
    #expect(publication.consume(self.video(at: 100, isKeyframe: true)))
    let state = collector.wait { $0.samples.last?.isKeyframe == true && $0.samples.count > 1 }
    #expect(state.samples.map(\.isKeyframe) == [true, false, false, true])
  }

  @Test func `audio that cannot be decoded ends alone, with its reason, and video that waits does not end`() throws {
    let (video, audio) = (SampleCollector(), AudioCollector())
    let publication = try #require(self.input.begin())
    try self.source.video.start(consumer: video)
    try self.source.audio.start(consumer: audio)
    defer {
      self.source.video.stop()
      self.source.audio.stop()
    }
    #expect(publication.describe(.h264(Self.h264)))
    #expect(publication.receive([.unsupported(.audio, codec: "MP3")]))
    #expect(audio.end()??.cause == "MP3 is not supported")
    #expect(publication.receive([.missingKeyframe(dropped: 31)]))
    #expect(publication.consume(self.video(at: 0, isKeyframe: true)))
    let state = video.wait { !$0.waits.isEmpty && $0.samples.count == 1 }
    #expect(state.ends.isEmpty && state.waits.count == 1)
    #expect(state.waits.first?.cause == "connected, no frame yet: no keyframe has come, 31 frames were dropped")
  }

  private func error(_ cause: String) -> VidiconError {
    VidiconError(.unsupported, subject: "publisher", cause: cause, nextStep: "send H.264 and AAC")
  }

  /// Slices of a second of x264 with intra refresh, without its first keyframe; parameter sets and frames of MP4 samples.
  @Test func `a publisher without an IDR picture is decoded from a recovery point on`() throws {
    let path = try TestMedia.path(
      "refresh.h264",
      [
        "-f", "lavfi", "-i", "testsrc=s=160x96:r=10:d=8", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt",
        "yuv420p",
        "-x264-params", "intra-refresh=1:keyint=10:bframes=0:aud=1", "-f", "h264",
      ])
    let stream = ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path)))
    var units: [H264AccessUnit] = []
    var pending = ByteBuffer()
    for nalUnit in AnnexBNALUnits(stream) {
      let type = nalUnit.getInteger(at: nalUnit.readerIndex, as: UInt8.self).map { $0 & 0x1F }
      if type == 9, pending.readableBytes > 0 {
        units.append(H264AccessUnit(parsingAnnexB: pending))
        pending = ByteBuffer()
      }
      pending.writeBytes([0, 0, 0, 1])
      pending.writeImmutableBuffer(nalUnit)
    }
    let first = try #require(units.first)
    let description = try H264Description(
      parsing: Array(try #require(first.sequenceParameterSets.first).readableBytesView),
      pictureParameterSet: Array(try #require(first.pictureParameterSets.first).readableBytesView), frameRate: 10)
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    let publication = try #require(self.input.begin())
    #expect(publication.describe(.h264(description)))
    var start = H264DecodingStart()
    var taken = 0
    for (index, unit) in units.enumerated().dropFirst() {
      #expect(!unit.isKeyframe)
      let time = MediaTime.zero + .milliseconds(Int64(index * 100))
      guard case .take(let isStart) = start.handle(unit, isMarked: false, at: time) else { continue }
      #expect(isStart || taken > 0)
      taken += 1
      let sample = EncodedSample(
        kind: .video, payload: unit.payload, presentationTime: time, duration: .zero, isKeyframe: isStart)
      #expect(publication.consume(sample))
    }
    #expect((60...79).contains(taken))
    let state = collector.wait { $0.frameCount >= taken - 12 }
    #expect(state.frameCount >= taken - 12 && state.frames.first?.format.width == 160)
    #expect(state.samples.isEmpty, "no other output can start at such frames")
  }

  @Test func `a consumer that starts amid a publication gets it`() throws {
    let publication = try #require(self.input.begin())
    #expect(publication.describe(.h264(Self.h264)))
    #expect(publication.consume(self.video(at: 0, isKeyframe: true)))
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    #expect(publication.consume(self.video(at: 33)))
    #expect(publication.consume(self.video(at: 67, isKeyframe: true)))
    let state = collector.wait { $0.samples.count == 1 }
    #expect(state.samples.map(\.isKeyframe) == [true] && state.ends.isEmpty)
  }

  /// Compressed frames of rising brightness; only those of `keyframes` are keyframes.
  private static func samples(_ count: Int, keyframes: Set<Int>) throws -> ([EncodedSample], CodecDescription) {
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(width: 64, height: 48, frameRate: 25, bitrate: 300_000, keyframeInterval: .seconds(100)))
    let pool = VideoFramePool(format: VideoFormat(width: 64, height: 48, frameRate: 25), capacity: 4)
    var samples: [EncodedSample] = []
    for index in 0..<count {
      let frame = try #require(
        pool.frame(at: .zero + .milliseconds(Int64(index) * 40)) { buffer in
          for plane in 0..<3 {
            buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? 60 + UInt8(index) : 128)
          }
        })
      try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: keyframes.contains(index)) {
        samples.append($0)
      }
    }
    #expect(samples.map(\.isKeyframe) == (0..<count).map { keyframes.contains($0) })
    return (samples, .h264(try #require(encoder.description)))
  }

  private static func brightness(_ frame: VideoFrame) -> UInt8 {
    frame.withPlane(0) { $0[0] }
  }

  @Test func `a consumer that starts amid a group of pictures gets its newest frame, and what follows`() throws {
    let (samples, description) = try Self.samples(20, keyframes: [0, 18])
    let publication = try #require(self.input.begin())
    #expect(publication.describe(description))
    for sample in samples[..<15] { #expect(publication.consume(sample)) }
    for _ in 0..<2 {
      let collector = SampleCollector()
      try self.source.video.start(consumer: collector)
      // Known at once: the owner of the source announces it.
      #expect(self.source.video.format.width == 64)
      let frames = collector.wait { $0.frameCount == 1 }.frames
      self.source.video.stop()
      #expect(frames.map(Self.brightness).allSatisfy { abs(Int($0) - 74) <= 3 } && frames.count == 1)
    }
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    for sample in samples[15...] { #expect(publication.consume(sample)) }
    let state = collector.wait { $0.samples.count == 2 }
    #expect(state.samples.map(\.payload) == samples[18...].map(\.payload))
    #expect(state.frames.map(Self.brightness).map { Int($0) - 74 }.allSatisfy { (-3...6).contains($0) })
    #expect(state.frameCount == 4 && state.formats.isEmpty)
  }

  @Test func `a group of pictures is kept within its bounds, and not over a gap`() throws {
    func sample(isKeyframe: Bool = false, size: Int = 1) -> EncodedSample {
      EncodedSample(
        kind: .video, payload: ByteBuffer(repeating: 0, count: size), presentationTime: .zero, duration: .zero,
        isKeyframe: isKeyframe)
    }
    let times = SourceTimeline.Times(decode: .zero, presentation: .zero)
    var group = OpenGroup()
    group.append(sample(), times: times)
    #expect(group.samples.isEmpty)
    group.append(sample(isKeyframe: true), times: times)
    for _ in 1..<OpenGroup.maximumCount { group.append(sample(), times: times) }
    #expect(group.samples.count == OpenGroup.maximumCount)
    for _ in 0..<2 { group.append(sample(), times: times) }
    #expect(group.samples.isEmpty)
    // A recovery point, ITU-T H.264 §D.1.8, begins a group where there is none, or before it is too long.
    var recovery = sample()
    recovery.payload = ByteBuffer(bytes: [0, 0, 0, 5, 0x06, 0x06, 0x01, 0xC4, 0x80, 0, 0, 0, 2, 0x41, 0x9A])
    group.append(recovery, times: times)
    for _ in 1..<OpenGroup.maximumCount / 2 { group.append(sample(), times: times) }
    #expect(group.samples.count == OpenGroup.maximumCount / 2)
    group.append(recovery, times: times)
    group.append(recovery, times: times)
    #expect(group.samples.count == 2)
    group.append(sample(isKeyframe: true, size: OpenGroup.maximumByteCount), times: times)
    #expect(group.samples.count == 1)
    group.append(sample(), times: times)
    #expect(group.samples.isEmpty)
  }
}
