import Codecs
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Pass-through of compressed video", .timeLimit(.minutes(5)))
struct PassThroughTests {
  static let format = VideoFormat(width: 64, height: 48, frameRate: 25)

  /// Compressed frames of rising brightness from a time on, every tenth a keyframe unless given.
  static func samples(
    _ count: Int, from start: MediaTime, interval: MediaDuration = .milliseconds(40), keyframes: [Int]? = nil
  ) throws -> ([EncodedSample], CodecDescription) {
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(width: 64, height: 48, frameRate: 25, bitrate: 300_000, keyframeInterval: .seconds(1000)))
    let pool = VideoFramePool(format: Self.format, capacity: 4)
    var samples: [EncodedSample] = []
    for index in 0..<count {
      let frame = try #require(
        pool.frame(at: start + interval * Int64(index)) { buffer in
          for plane in 0..<3 {
            buffer.unsafePlane(plane).initializeMemory(
              as: UInt8.self, repeating: plane == 0 ? UInt8(60 + index % 100) : 128)
          }
        })
      let isKeyframe = keyframes?.contains(index) ?? (index % 10 == 0)
      try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: isKeyframe) { samples.append($0) }
    }
    return (samples, .h264(try #require(encoder.description)))
  }

  /// Runs a stream with a compressed source, which delivers frames when the test calls it.
  ///
  /// - Parameter isLive: Whether a frame has the time at which it is delivered.
  static func run(
    _ settings: VideoSettings = VideoSettings(), count: Int = 40, interval: MediaDuration = .milliseconds(40),
    keyframes: [Int]? = nil, isLive: Bool = false, source: ScriptedVideoCapturer? = nil,
    _ body: (LiveStream, CollectingOutput, [EncodedSample], CodecDescription, (Range<Int>) -> Void) async throws -> Void
  ) async throws {
    var settings = settings
    settings.sourceTimeout = .seconds(300)
    let source = source ?? ScriptedVideoCapturer(format: Self.format)
    let stream = LiveStream("camera", video: settings)
    stream.attachVideo(source)
    let output = CollectingOutput()
    stream.add(output)
    let (samples, description) = try Self.samples(
      count, from: StreamClock.system.now() - .seconds(4), interval: interval, keyframes: keyframes)
    async let started: Void = stream.start()
    try await stream.eventually { source.isStarted }
    // On a slow machine the timestamps are moved ahead, before they are old enough to count as those of another clock.
    var delay = MediaDuration.zero
    func deliver(_ index: Int) {
      var sample = samples[index]
      if isLive {
        sample.presentationTime = StreamClock.system.now()
        sample.decodeTime = sample.presentationTime
        return source.deliver(sample, of: description)
      }
      let age = StreamClock.system.now() - sample.presentationTime
      if age - delay > .seconds(5) { delay = age - .seconds(4) }
      sample.presentationTime += delay
      sample.decodeTime += delay
      source.deliver(sample, of: description)
    }
    deliver(0)
    try await started
    try await body(stream, output, samples, description) { range in
      for index in range { deliver(index) }
    }
    await stream.stop()
  }

  static func isRising(_ samples: [EncodedSample]) -> Bool {
    zip(samples, samples.dropFirst()).allSatisfy {
      $0.decodeTime < $1.decodeTime && $0.presentationTime < $1.presentationTime
    }
  }

  @Test func `compatible samples are passed through, and nothing is decoded or encoded`() async throws {
    try await Self.run { stream, output, samples, description, deliver in
      deliver(1..<30)
      let out = output.samples(atLeast: 30)
      #expect(out.map(\.payload) == samples.prefix(30).map(\.payload))
      #expect(out.map(\.isKeyframe) == samples.prefix(30).map(\.isKeyframe))
      #expect(stream.descriptions == [description])
      #expect(stream.statistics.videoEncoders == 0)
      #expect(stream.statistics.framesEncoded == 0)
      #expect(stream.statistics.framesPassedThrough == 30)
      #expect(stream.statistics.framesIn == 30)
      stream.requestKeyframe()
      deliver(30..<35)
      #expect(output.samples(atLeast: 35).count == 35)
      #expect(stream.statistics.videoEncoders == 0)
    }
  }

  @Test func `the source is asked for a keyframe, not soon after the last one, and not repeatedly`() async throws {
    let source = ScriptedVideoCapturer(format: Self.format)
    // However long the requests take: in other modes, a source that meets none is transcoded after four seconds.
    try await Self.run(VideoSettings(passThrough: .on), source: source) { stream, output, _, _, deliver in
      let began = ContinuousClock.now
      deliver(1..<11)
      _ = output.samples(atLeast: 11)
      try await stream.eventually {
        stream.requestKeyframe()
        return source.keyframeRequests > 0
      }
      #expect(ContinuousClock.now - began >= .milliseconds(500))
      for _ in 0..<20 { stream.requestKeyframe() }
      deliver(11..<15)
      _ = output.samples(atLeast: 15)
      let requests = source.keyframeRequests
      // Again after half a second, which has passed where other tests keep all cores busy.
      // Safe because the bound grows with the time that has passed.
      #expect(requests >= 1 && requests <= Int((ContinuousClock.now - began) / .milliseconds(500)))
      #expect(stream.statistics.videoEncoders == 0)
    }
  }

  @Test func `a camera with a rotated sensor is decoded and rotated`() async throws {
    let source = ScriptedVideoCapturer(format: Self.format, sampleOrientation: .left)
    try await Self.run(source: source) { stream, output, _, _, deliver in
      for index in 1..<5 {
        deliver(index..<index + 1)
        _ = output.samples(atLeast: index + 1)
      }
      guard case .h264(let description) = try #require(stream.descriptions.first) else {
        Issue.record("H.264 it is not")
        return
      }
      #expect((description.width, description.height) == (48, 64))
      #expect(stream.statistics.framesPassedThrough == 0)
    }
  }

  @Test func `a mirrored source is encoded, and passed through again from a keyframe on`() async throws {
    try await Self.run { stream, output, samples, description, deliver in
      deliver(1..<5)
      _ = output.samples(atLeast: 5)
      stream.isMirrored = true
      deliver(5..<6)
      let encoded = try #require(output.samples(atLeast: 6).dropFirst(5).first)
      #expect(encoded.isKeyframe)
      #expect(stream.statistics.videoEncoders == 1)
      let own = try #require(stream.descriptions.first)
      stream.isMirrored = false
      deliver(6..<10)
      try await stream.eventually { stream.statistics.videoFramesQueued == 0 }
      #expect(stream.statistics.framesPassedThrough == 5)
      deliver(10..<15)
      try await stream.eventually {
        let counts = stream.statistics
        return counts.framesPassedThrough == 10 && output.samples.count == 10 + counts.framesEncoded
      }
      let out = output.samples
      #expect(out.prefix(5).map(\.payload) == samples[..<5].map(\.payload))
      #expect(out.suffix(5).map(\.payload) == samples[10..<15].map(\.payload))
      // Samples in between, and possibly one repeated without mirroring; every omitted one is counted.
      let counts = stream.statistics
      #expect(counts.framesEncoded == out.count - 10)
      #expect(counts.framesEncoded + counts.totalFramesDropped + counts.framesThinned >= 5)
      #expect(stream.statistics.videoEncoders == 0)
      #expect(Self.isRising(out))
      #expect(
        output.changes.map(\.description) == (own == description ? [description] : [description, own, description]))
    }
  }

  @Test(arguments: [
    VideoSettings(width: 32, height: 32), VideoSettings(bitrate: 500_000), VideoSettings(frameRate: 10),
  ])
  func `settings that differ from the source's cause encoding`(settings: VideoSettings) async throws {

    try await Self.run(settings) { stream, output, _, _, deliver in
      for index in 1..<20 {
        deliver(index..<index + 1)
        if settings.frameRate == nil { _ = output.samples(atLeast: index + 1) }
      }
      #expect(output.samples(atLeast: 1).count >= 1)
      #expect(stream.statistics.framesPassedThrough == 0)
      #expect(stream.statistics.videoEncoders == 1)
    }
  }

  @Test func `a pause shows a still frame, and ends`() async throws {
    try await Self.run { stream, output, samples, _, deliver in
      deliver(1..<5)
      _ = output.samples(atLeast: 5)
      stream.isEncodingPaused = true
      deliver(5..<8)
      stream.requestKeyframe()
      let still = try #require(output.samples(atLeast: 6).dropFirst(5).first)
      #expect(still.isKeyframe)
      stream.isEncodingPaused = false
      deliver(8..<20)
      _ = output.first { $0.payload == samples[10].payload }
      #expect(output.first { $0.payload == samples[19].payload } != nil)
      #expect(Self.isRising(output.samples))
    }
  }

  @Test func `frames are decoded while snapshots are requested`() async throws {
    try await Self.run { stream, output, _, _, deliver in
      deliver(1..<8)
      _ = output.samples(atLeast: 8)
      let file = try await stream.snapshots.snapshot()
      #expect(file.readableBytesView.prefix(2).elementsEqual([0xFF, 0xD8]))
      #expect(stream.statistics.framesPassedThrough == 8)
      #expect(stream.statistics.videoEncoders == 0)
    }
  }

  @Test func `a group of pictures is decoded from its middle on`() throws {
    let (samples, description) = try Self.samples(20, from: .zero)
    let compressed = GOPCache()
    for sample in samples.prefix(15) { compressed.append(sample, of: description) }
    let frame = try #require(compressed.decode().last)
    #expect(frame.timestamp == samples[14].presentationTime)
    let luma = frame.withPlane(0) { $0[0] }
    #expect(abs(Int(luma) - 74) <= 3)
    compressed.append(samples[15], of: description)
    #expect(compressed.decode().map(\.timestamp) == [samples[15].presentationTime])
    compressed.reset()
    compressed.append(samples[16], of: description)
    #expect(compressed.decode().isEmpty)
  }

  @Test func `a group of intra refresh begins again at a recovery point, and renditions are decoded from there`() {
    let description = H264Description(
      sequenceParameterSet: [0x67], pictureParameterSet: [0x68], width: 2, height: 2, frameRate: 25)
    let slice: [UInt8] = [0, 0, 0, 2, 0x41, 0x9A]
    func sample(_ bytes: [UInt8], isKeyframe: Bool = false) -> EncodedSample {
      EncodedSample(
        kind: .video, payload: ByteBuffer(bytes: bytes), presentationTime: .zero, duration: .milliseconds(40),
        isKeyframe: isKeyframe)
    }
    // ITU-T H.264 §D.1.8.
    let recovery = sample([0, 0, 0, 5, 0x06, 0x06, 0x01, 0xC4, 0x80] + slice)
    let cache = GOPCache()
    cache.append(recovery, of: .h264(description))
    #expect(cache.samples.isEmpty, "no keyframe has come")
    cache.append(sample([0, 0, 0, 2, 0x65, 0x88], isKeyframe: true), of: .h264(description))
    // A minute, with a recovery point each second.
    for index in 1..<1_500 {
      cache.append(index % 25 == 0 ? recovery : sample(slice), of: .h264(description))
      let kept = cache.samples.count
      #expect((1...325).contains(kept), "\(index)")
    }
    #expect(cache.samples.first?.payload == recovery.payload)
    var queue = DecodingQueue()
    queue.start(with: cache.samples, of: description, at: .zero)
    #expect(queue.count == cache.samples.count)
    let first = queue.next()
    #expect(first?.item.isFirst == true)
  }

  @Test func `the compressed input queue is bounded, and drops up to a keyframe`() throws {
    let feed = VideoFeed(capturer: ScriptedVideoCapturer(format: Self.format), inputQueue: VideoInputQueue())
    let description = CodecDescription.h264(
      H264Description(sequenceParameterSet: [0x67], pictureParameterSet: [0x68], width: 2, height: 2, frameRate: 25))
    func sample(_ index: Int64, isKeyframe: Bool = false) -> SourceSample {
      SourceSample(
        sample: EncodedSample(
          kind: .video, payload: ByteBuffer(bytes: [0]), presentationTime: .zero + .milliseconds(index * 40),
          duration: .milliseconds(40), isKeyframe: isKeyframe), description: description, feed: feed)
    }
    var queue = SampleQueue()
    func time(_ index: Int64) -> MediaTime { .zero + .milliseconds(index * 40) }
    for index in Int64(0)...50 { #expect(queue.append(sample(index, isKeyframe: index == 0), at: time(index)).isEmpty) }
    #expect(queue.append(sample(51), at: time(51)).count == 52)
    #expect(queue.samples.isEmpty)
    #expect(queue.append(sample(52), at: time(52)).count == 1)
    #expect(queue.append(sample(53, isKeyframe: true), at: time(53)).isEmpty)
    #expect(queue.append(sample(54), at: time(54)).isEmpty)
    #expect(queue.samples.count == 2)
    for index in Int64(55)...105 { _ = queue.append(sample(index), at: time(index)) }
    #expect(queue.samples.isEmpty)
    // A stream with intra refresh has no further keyframe.
    var recovery = sample(106)
    recovery.sample.payload = ByteBuffer(bytes: [0, 0, 0, 5, 0x06, 0x06, 0x01, 0xC4, 0x80])
    #expect(queue.append(sample(106), at: time(106)).count == 1)
    #expect(queue.append(recovery, at: time(107)).isEmpty)
    #expect(queue.removeAll().count == 1)
    #expect(queue.append(sample(107, isKeyframe: true), at: time(107)).isEmpty)
    #expect(queue.append(sample(108), at: time(108)).isEmpty)
    #expect(queue.popFirst()?.sample.isKeyframe == true)
    #expect(queue.samples.count == 1)
    // A minute of the source at once, after a stall.
    for index in Int64(109)..<1_306 { #expect(queue.append(sample(index), at: time(108)).isEmpty) }
    #expect(queue.samples.count == 1_198 && queue.removeAll().count == 1_198)
  }

  @Test func `a source that is passed through is encoded in another profile for one output alone`() async throws {
    try await Self.run(VideoSettings()) { stream, output, samples, description, deliver in
      deliver(1..<5)
      _ = output.samples(atLeast: 5)
      let (encoding, other) = try await Self.encoding(of: stream)
      deliver(5..<15)
      let first = try #require(other.samples(atLeast: 1).first)
      #expect(first.isKeyframe)
      guard case .h264(let own)? = encoding.descriptions.first, case .h264(let source) = description else {
        Issue.record("it has no description")
        return
      }
      // Constrained Baseline, of a source that is High.
      #expect(own.sequenceParameterSet[1] == 0x42 && own.sequenceParameterSet[2] & 0x40 != 0)
      #expect(source.sequenceParameterSet[1] == 0x64 && (own.width, own.height) == (source.width, source.height))
      encoding.requestKeyframe()
      deliver(15..<25)
      let out = output.samples(atLeast: 25)
      // Others get what the source sends.
      #expect(out.map(\.payload) == samples.prefix(25).map(\.payload) && stream.descriptions == [description])
      #expect(stream.statistics.videoEncoders == 0)
      encoding.endUse()
      stream.removePrivateRendition(encoding)
      #expect(other.hasEnded)
    }
  }

  @Test func `viewers of another encoding get the last frame of a silent source, which is passed through as before`()
    async throws
  {
    try await Self.run(isLive: true) { stream, output, samples, _, deliver in
      deliver(1..<5)
      _ = output.samples(atLeast: 5)
      let (encoding, other) = try await Self.encoding(of: stream)
      #expect(other.samples(atLeast: 1).first?.isKeyframe == true)
      for count in 2...3 {
        encoding.forceKeyframe()
        try await stream.eventually { other.samples.count(where: \.isKeyframe) >= count }
      }
      #expect(Self.isRising(other.samples))
      deliver(5..<8)
      let out = output.samples(atLeast: 8)
      #expect(out.map(\.payload) == samples.prefix(8).map(\.payload) && stream.statistics.videoEncoders == 0)
      // Frames of the source again, once none is repeated.
      let last = try #require(out.last).presentationTime
      #expect(other.first { $0.presentationTime == last } != nil)
    }
  }

  @Test func `a group too long to decode stays with its viewers, and its source is asked for a keyframe`() async throws
  {
    let (source, long) = (ScriptedVideoCapturer(format: Self.format), GOPCache.maximumCount + 20)
    try await Self.run(count: long + 20, interval: .milliseconds(5), keyframes: [0, long + 10], source: source) {
      stream, output, samples, _, deliver in
      for index in 1..<long {
        deliver(index..<index + 1)
        _ = output.samples(atLeast: index + 1)
      }
      #expect(source.keyframeRequests == 0)
      // Silent, and again when the source has sent none.
      let (_, other) = try await Self.encoding(of: stream)
      try await stream.eventually { source.keyframeRequests >= 3 }
      deliver(long..<long + 10)
      _ = output.samples(atLeast: long + 10)
      #expect(other.samples.isEmpty)
      deliver(long + 10..<long + 20)
      #expect(output.samples(atLeast: long + 20).map(\.payload) == samples.map(\.payload))
      #expect(other.samples(atLeast: 1).first?.isKeyframe == true && stream.statistics.videoEncoders == 0)
    }
  }

  @Test func `the last frame of a silent source is encoded, also while snapshots are requested`() async throws {
    try await Self.run { stream, output, _, _, deliver in
      deliver(1..<8)
      _ = output.samples(atLeast: 8)
      _ = try await stream.snapshots.snapshot()
      stream.requestKeyframe()
      #expect(output.samples(atLeast: 9).dropFirst(8).first?.isKeyframe == true && stream.statistics.videoEncoders == 1)
    }
  }

  /// An encoding for viewers in use, and what it outputs.
  private static func encoding(of stream: LiveStream) async throws -> (Rendition, CollectingOutput) {
    let output = CollectingOutput()
    let encoding = try #require(
      stream.makePrivateRendition(like: stream.main, bitrate: 300_000, profile: .baseline, isForViewers: true))
    encoding.add(output)
    encoding.beginUse()
    try await stream.eventually { encoding.statistics.isRunning }
    // As for a viewer that joins.
    encoding.forceKeyframe()
    return (encoding, output)
  }
}
