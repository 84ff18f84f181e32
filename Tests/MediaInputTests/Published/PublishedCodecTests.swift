import Capture
import Codecs
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import MediaInput
@testable import Threading

@Suite("A source whose publisher sends VP8 and Opus, and keyframes on request")
struct PublishedCodecTests {
  private let source = PublishedSource(
    format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
    audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), scheme: .whip, passesThrough: false)
  private let input: PublishedInput
  private let requests = Monitor(0)

  init() throws {
    self.input = try #require(PublishedSource.input(of: self.source.video, over: .whip))
  }

  private func begin() throws -> Publication {
    let request: @Sendable () -> Void = { [requests] in requests.withLock { $0 += 1 } }
    return try #require(self.input.begin(requestKeyframe: request))
  }

  /// Whether a number of keyframes is requested in time.
  private func areRequested(_ count: Int) -> Bool {
    self.requests.wait(until: StreamClock.system.now() + .seconds(300)) { $0 >= count ? true : nil } ?? false
  }

  private static func sample(
    _ payload: ByteBuffer, at milliseconds: Int64, kind: MediaKind = .video, isKeyframe: Bool
  ) -> EncodedSample {
    EncodedSample(
      kind: kind, payload: payload, presentationTime: .zero + .milliseconds(milliseconds), duration: .zero,
      isKeyframe: isKeyframe)
  }

  /// The frames of an IVF file: a header of 32 bytes, and 12 bytes before each frame, the first four its length.
  private static func vp8(_ size: String) throws -> [ByteBuffer] {
    let path = try TestMedia.path(
      "published-\(size).ivf",
      [
        "-f", "lavfi", "-i", "testsrc=s=\(size):r=10:d=1", "-c:v", "libvpx", "-b:v", "300k", "-deadline", "realtime",
        "-cpu-used", "8", "-g", "100", "-auto-alt-ref", "0", "-f", "ivf",
      ])
    var file = ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path)))
    file.moveReaderIndex(forwardBy: 32)
    var frames: [ByteBuffer] = []
    while let length = file.readInteger(endianness: .little, as: UInt32.self), file.readInteger(as: UInt64.self) != nil,
      let frame = file.readSlice(length: Int(length))
    {
      frames.append(frame)
    }
    return frames
  }

  /// The packets of an Ogg file with one packet a page, RFC 3533 §6 and RFC 7845, without the two headers.
  private static func opus() throws -> [ByteBuffer] {
    let path = try TestMedia.path(
      "published.opus",
      [
        "-f", "lavfi", "-i", "sine=1000:r=48000:d=1", "-ac", "2", "-c:a", "libopus", "-frame_duration", "20",
        "-page_duration", "20000", "-f", "ogg",
      ])
    var file = ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path)))
    var packets: [ByteBuffer] = []
    while file.readString(length: 4) == "OggS" {
      file.moveReaderIndex(forwardBy: 22)
      let count = Int(file.readInteger(as: UInt8.self) ?? 0)
      let lengths = file.readBytes(length: count) ?? []
      let length = lengths.reduce(0) { $0 + Int($1) }
      packets.append(file.readSlice(length: length) ?? ByteBuffer())
    }
    return Array(packets.dropFirst(2))
  }

  @Test func `VP8 is decoded with the given times, and a new size is announced`() throws {
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    let publication = try self.begin()
    var time: Int64 = 1_000
    for (width, height) in [(160, 96), (96, 160)] {
      #expect(publication.describe(codec: .vp8(width: width, height: height)))
      for (index, frame) in try Self.vp8("\(width)x\(height)").prefix(3).enumerated() {
        #expect(publication.consumeTimed(Self.sample(frame, at: time, isKeyframe: index == 0)))
        time += 100
      }
    }
    let state = collector.wait { $0.frameCount == 6 }
    #expect(state.frameCount == 6 && state.samples.isEmpty)
    #expect(state.formats.map(\.width) == [160, 96] && state.formats.map(\.height) == [96, 160])
    #expect(state.frames.map(\.format.width) == [160, 160, 160, 96, 96])
    let times = state.frames.map { $0.timestamp.nanoseconds / 1_000_000 }
    #expect(times == [1_000, 1_100, 1_200, 1_300, 1_400])
  }

  @Test func `a consumer that starts at a still screen gets its frame, in the colors of VP8`() throws {
    let publication = try self.begin()
    #expect(publication.describe(codec: .vp8(width: 1280, height: 720)))
    let frame = try #require(Self.vp8("1280x720").first)
    #expect(publication.consumeTimed(Self.sample(frame, at: 0, isKeyframe: true)))
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    // RFC 6386 §9.2: BT.601, of every size.
    let state = collector.wait { $0.frameCount == 1 }
    #expect(state.frameCount == 1 && state.frames.allSatisfy { $0.format.colorMatrix == .bt601 })
    #expect(self.source.video.format.colorMatrix == .bt601)
  }

  @Test func `Opus is decoded into the source's format with the given times`() throws {
    let audio = AudioCollector()
    try self.source.audio.start(consumer: audio)
    defer { self.source.audio.stop() }
    let publication = try self.begin()
    #expect(publication.describe(codec: .opus))
    let packets = try Self.opus()
    #expect(packets.count >= 50)
    for (index, packet) in packets.enumerated() {
      let sample = Self.sample(packet, at: 5_000 + Int64(index) * 20, kind: .audio, isKeyframe: true)
      #expect(publication.consumeTimed(sample))
    }
    let blocks = audio.blocks(samples: 40_000)
    #expect(blocks.reduce(0) { $0 + $1.sampleCount } >= 40_000)
    #expect(blocks.allSatisfy { $0.format == AudioFormat(sampleRate: 48_000, channelCount: 2) && $0.packet == nil })
    #expect(blocks.contains { $0.samples.contains { abs($0) > 0.05 } })
    #expect(blocks.first?.timestamp == .zero + .seconds(5))
  }

  @Test func `a lost packet of Opus is filled, so that what follows keeps its time`() throws {
    let audio = AudioCollector()
    try self.source.audio.start(consumer: audio)
    defer { self.source.audio.stop() }
    let publication = try self.begin()
    #expect(publication.describe(codec: .opus))
    for (index, packet) in try Self.opus().enumerated() where index != 20 {
      let sample = Self.sample(packet, at: 5_000 + Int64(index) * 20, kind: .audio, isKeyframe: true)
      #expect(publication.consumeTimed(sample))
    }
    let blocks = audio.blocks(samples: 40_000)
    let gaps = zip(blocks, blocks.dropFirst()).map { $1.timestamp - ($0.timestamp + $0.duration) }
    #expect(gaps.count > 30 && gaps.allSatisfy { $0 < .milliseconds(5) })
    let filled = try #require(blocks.first { $0.timestamp >= MediaTime.zero + .milliseconds(5_395) })
    #expect(filled.sampleCount > 960 && filled.samples.prefix(480).contains { abs($0) > 0.02 })
  }

  /// Gray H.264.
  private static func h264(
    width: Int, height: Int, _ matrix: ColorMatrix
  ) throws -> (description: H264Description, samples: [EncodedSample]) {
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(width: width, height: height, frameRate: 25, colorMatrix: matrix, bitrate: 300_000))
    let pool = VideoFramePool(format: VideoFormat(width: width, height: height, frameRate: 25), capacity: 4)
    var samples: [EncodedSample] = []
    for index in 0..<3 {
      let frame = try #require(
        pool.frame(at: .zero + .milliseconds(Int64(index) * 40)) { buffer in
          for plane in 0..<3 { buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: 100) }
        })
      try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: index == 0) { samples.append($0) }
    }
    return (try #require(encoder.description), samples)
  }

  /// The smaller size would be BT.601 without a tag, the larger one BT.709.
  @Test(arguments: [(64, 48), (1280, 720)], [ColorMatrix.bt601, .bt709])
  func `the colors of decoded H.264 are those of its tags`(size: (Int, Int), matrix: ColorMatrix) throws {
    let (description, samples) = try Self.h264(width: size.0, height: size.1, matrix)
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    let publication = try self.begin()
    #expect(publication.describe(codec: .h264(description)))
    for sample in samples { #expect(publication.consumeTimed(sample)) }
    let state = collector.wait { $0.frameCount == samples.count }
    #expect(state.frameCount == samples.count && state.frames.allSatisfy { $0.format.colorMatrix == matrix })
    #expect(self.source.video.format.colorMatrix == matrix && self.source.video.format.width == size.0)
  }

  @Test func `H.264 is decoded at a source that does not pass through`() throws {
    let (description, samples) = try Self.h264(width: 64, height: 48, .bt601)
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    let publication = try self.begin()
    #expect(publication.describe(codec: .h264(description)))
    for sample in samples { #expect(publication.consumeTimed(sample)) }
    let state = collector.wait { $0.frameCount == samples.count }
    #expect(state.frameCount == samples.count && state.samples.isEmpty && samples.count == 3)
  }

  @Test func `a keyframe is requested where decoding could not start otherwise`() throws {
    let publication = try self.begin()
    #expect(self.requests.read { $0 } == 0)
    // No group of frames of the publisher is kept yet.
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    #expect(self.requests.read { $0 } == 1)
    self.source.video.requestKeyframe()
    #expect(self.requests.read { $0 } == 2)
    self.source.video.stop()
    // A kept group of frames needs no request.
    #expect(publication.describe(codec: .vp8(width: 160, height: 96)))
    for (index, frame) in try Self.vp8("160x96").prefix(2).enumerated() {
      #expect(publication.consumeTimed(Self.sample(frame, at: Int64(index) * 100, isKeyframe: index == 0)))
    }
    try self.source.video.start(consumer: collector)
    #expect(collector.wait { $0.frameCount == 1 }.frameCount == 1)
    self.source.video.stop()
    #expect(self.requests.read { $0 } == 2)
    publication.end()
    self.source.video.requestKeyframe()
    #expect(self.requests.read { $0 } == 2)
  }

  @Test func `a keyframe is requested after frames that cannot be decoded`() throws {
    let collector = SampleCollector()
    let publication = try self.begin()
    #expect(publication.describe(codec: .vp8(width: 160, height: 96)))
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    #expect(self.areRequested(1))
    let frames = try Self.vp8("160x96")
    #expect(publication.consumeTimed(Self.sample(frames[0], at: 0, isKeyframe: true)))
    // Its first partition would be longer than the frame.
    let damaged = ByteBuffer(bytes: [0xF1, 0xFF, 0xFF, 1, 2, 3])
    #expect(publication.consumeTimed(Self.sample(damaged, at: 100, isKeyframe: false)))
    #expect(self.areRequested(2))
    #expect(publication.consumeTimed(Self.sample(frames[0], at: 200, isKeyframe: true)))
    #expect(collector.wait { $0.frameCount == 2 }.frameCount == 2)
  }

  @Test func `a keyframe is requested when frames were dropped, since decoding is too slow`() throws {
    let collector = SampleCollector()
    let publication = try self.begin()
    #expect(publication.describe(codec: .vp8(width: 160, height: 96)))
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    #expect(self.areRequested(1))
    // Frames of the future wait.
    let start = StreamClock.system.now() + .seconds(3600)
    for index in 0...PlayoutBuffer.maximumPacketCount {
      var sample = Self.sample(ByteBuffer(bytes: [1]), at: 0, isKeyframe: index == 0)
      sample.presentationTime = start + .milliseconds(Int64(index))
      #expect(publication.consumeTimed(sample))
    }
    #expect(self.areRequested(2))
  }

  @Test func `ten thousand changes of codec open few decoders, one after another, and none for their sender`() throws {
    struct Opening {
      var codecs: [TrackCodecs] = []
      var isOfSender = false
    }
    let (opened, mayOpen) = (Monitor(Opening()), DispatchSemaphore(value: 0))
    let sender = pthread_self()
    let input = PublishedInput(
      format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), scheme: .whip, handling: .decoded,
      now: { StreamClock.system.now() },
      open: { codecs in
        opened.withLock { state in
          state.codecs.append(codecs)
          if pthread_equal(pthread_self(), sender) != 0 { state.isOfSender = true }
        }
        mayOpen.waitWithLimit()
        return codecs.open()
      })
    let collector = SampleCollector()
    let publication = try #require(input.begin())
    #expect(publication.describe(codec: .vp8(width: 160, height: 96)))
    try input.start(video: collector)
    defer { input.stop(.video) }
    let first = opened.wait(until: StreamClock.system.now() + .seconds(300)) { $0.codecs.isEmpty ? nil : $0.codecs }
    #expect(first?.map(\.video) == [.vp8(width: 160, height: 96)])
    let frames = try [Self.vp8("160x96")[0], Self.vp8("320x180")[0]]
    for index in 0..<10_000 {
      let size = index % 2 == 0 ? (320, 180) : (160, 96)
      #expect(publication.describe(codec: .vp8(width: size.0, height: size.1)))
      #expect(
        publication.consumeTimed(Self.sample(frames[(index + 1) % 2], at: Int64(index), isKeyframe: true)))
    }
    #expect(opened.withLock { $0.codecs.count } == 1)
    for _ in 0..<20 { mayOpen.signal() }
    // Each size comes more than once: the last frame ends what was opened.
    let last = MediaTime.zero + .milliseconds(9_999)
    let state = collector.wait { $0.lastTime == last }
    #expect(state.lastTime == last && state.formats.last?.width == 160)
    let all = opened.withLock { $0 }
    #expect(!all.isOfSender && all.codecs.count <= 2 + PlayoutBuffer.maximumChangeCount)
    #expect(all.codecs.last?.video == .vp8(width: 160, height: 96))
  }
}
