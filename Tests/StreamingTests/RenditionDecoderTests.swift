import Codecs
import Effects
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Decoding of passed-through video for renditions", .timeLimit(.minutes(5)))
struct RenditionDecoderTests {
  private static let description = H264Description(
    sequenceParameterSet: [], pictureParameterSet: [], width: 64, height: 48, frameRate: 25)
  private var queue = DecodingQueue()

  private static func sample(_ index: Int, isKeyframe: Bool = false, byteCount: Int = 10) -> EncodedSample {
    let time = MediaTime.zero + .milliseconds(Int64(index) * 40)
    return EncodedSample(
      kind: .video, payload: ByteBuffer(repeating: 0, count: byteCount), presentationTime: time, decodeTime: time,
      duration: .milliseconds(40), isKeyframe: isKeyframe)
  }

  private mutating func append(_ index: Int, isKeyframe: Bool = false, byteCount: Int = 10, at: Int64? = nil) -> Int {
    self.queue.append(
      Self.sample(index, isKeyframe: isKeyframe, byteCount: byteCount), of: Self.description,
      at: .zero + .milliseconds(at ?? Int64(index) * 40))
  }

  private mutating func rest() -> [(time: MediaTime, isShown: Bool)] {
    var list: [(MediaTime, Bool)] = []
    while let (item, isShown) = self.queue.next() { list.append((item.sample.presentationTime, isShown)) }
    return list
  }

  @Test mutating func `of a group only the newest frame is shown, then each`() {
    self.queue.start(
      with: (0..<10).map { Self.sample($0, isKeyframe: $0 == 0) }, of: Self.description, at: .zero)
    #expect(self.queue.next()?.item.isFirst == true)
    #expect(self.append(10, at: 1) == 0)
    #expect(self.rest().map(\.isShown) == Array(repeating: false, count: 9) + [true])
    #expect(self.append(11, at: 2) == 0)
    #expect(self.append(12, at: 3) == 0)
    #expect(self.rest().map(\.isShown) == [true, true])
  }

  @Test mutating func `a decoder that is too slow goes on at a keyframe`() {
    self.queue.start(with: [Self.sample(0, isKeyframe: true)], of: Self.description, at: .zero)
    for index in 1..<10 { #expect(self.append(index) == 0) }
    // 400 ms old.
    #expect(self.append(10, isKeyframe: true) == 0)
    for index in 11..<15 { #expect(self.append(index) == 0) }
    #expect(self.append(15, isKeyframe: true) == 15)
    #expect(self.append(16) == 0)
    let (first, isShown) = self.queue.next()!
    #expect(first.isFirst && isShown && first.sample.presentationTime == .zero + .milliseconds(600))
    #expect(self.rest().map(\.time) == [.zero + .milliseconds(640)])
  }

  @Test mutating func `what waits is bounded, and decoding goes on at a keyframe`() {
    self.queue.start(with: [Self.sample(0, isKeyframe: true)], of: Self.description, at: .zero)
    let count = 2 * GOPCache.maximumCount
    #expect((1..<count).reduce(0) { $0 + self.append($1, at: 0) } == 0)
    #expect(!self.queue.awaitsKeyframe)
    #expect(self.append(count, at: 0) == count + 1 && self.queue.isEmpty && self.queue.awaitsKeyframe)
    #expect(self.append(count + 1, at: 0) == 1 && self.queue.isEmpty)
    #expect(self.append(count + 2, isKeyframe: true, byteCount: GOPCache.maximumByteCount, at: 0) == 0)
    #expect(self.append(count + 3, byteCount: GOPCache.maximumByteCount, at: 0) == 0)
    #expect(self.append(count + 4, at: 0) == 3 && self.queue.isEmpty)
    // A group that was too long to keep.
    self.queue.start(with: [], of: Self.description, at: .zero)
    #expect(self.append(1) == 1 && self.queue.isEmpty)
  }

  @Test func `a frame released before earlier ones were discarded is not encoded`() async throws {
    let set = RenditionSet()
    let format = VideoFormat(width: 64, height: 48, frameRate: 30)
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000)
    set.connect(
      VideoSettings(renditions: .list([low])), format: format, report: { _ in }, requestKeyframe: {}, requestFrame: {})
    let (rendition, output) = (try #require(set.all.first), CollectingOutput())
    rendition.add(output)
    rendition.beginUse()
    try await eventually { rendition.statistics.isRunning }
    let feed = RenditionScaler(set, keyframeInterval: .seconds(2))
    let pool = VideoFramePool(format: format)
    func frame(_ index: Int) throws -> ReleasedFrame {
      let time = MediaTime.zero + .milliseconds(Int64(index) * 40)
      return EffectChain().release(try #require(pool.frame(at: time) { _ in }))
    }
    let (generation, earlier) = (feed.generation, try frame(1))
    set.discardEarlier()
    feed.offer(earlier, isKeyframe: false, generation: generation, at: .zero)
    feed.offer(try frame(2), isKeyframe: false, generation: feed.generation, at: .zero)
    let samples = output.samples(atLeast: 1)
    #expect(samples.map(\.presentationTime) == [.zero + .milliseconds(80)] && samples.first?.isKeyframe == true)
    set.end()
  }

  @Test func `main does not wait while a long group is decoded for a rendition`() async throws {
    let format = VideoFormat(width: 1280, height: 720, frameRate: 30)
    let (group, later) = (300, 20)
    // On a thread of its own, since it takes seconds in which other tests wait for threads of tasks.
    let prepared = await WorkerThread.run(named: "samples") {
      Result {
        let (samples, description) = try Self.movingSamples(group + later, of: format)
        // Duration of decoding on this machine, now.
        let decoder = try H264Decoder(description)
        let start = StreamClock.system.now()
        for sample in samples.prefix(group) { _ = decoder.decode(sample) }
        return (samples, description, StreamClock.system.now() - start)
      }
    }
    let (samples, description, decoding) = try #require(prepared).get()

    let source = ScriptedVideoCapturer(format: format)
    let low = RenditionSettings(name: "low", width: 320, height: 180, bitrate: 100_000)
    let stream = LiveStream(
      "camera", video: VideoSettings(sourceTimeout: .seconds(1000), renditions: .list([low])))
    stream.attachVideo(source)
    let (main, output) = (CollectingOutput(), CollectingOutput())
    stream.add(main)
    async let started: Void = stream.start()
    try await stream.eventually { source.isStarted }
    /// Delivers a sample; returns its time.
    func send(_ index: Int) -> MediaTime {
      var sample = samples[index]
      let time = StreamClock.system.now()
      (sample.presentationTime, sample.decodeTime) = (time, time)
      source.deliver(sample, of: .h264(description))
      return time
    }
    /// Delivers a sample, and returns the time until it is out.
    func deliver(_ index: Int) -> MediaDuration {
      let time = send(index)
      _ = main.samples(atLeast: index + 1)
      return StreamClock.system.now() - time
    }
    _ = send(0)
    try await started
    for index in 1..<group { _ = deliver(index) }
    let rendition = try #require(stream.rendition(named: "low"))
    rendition.add(output)
    rendition.beginUse()
    try await stream.eventually { rendition.statistics.isRunning }
    var maximum = MediaDuration.zero
    for index in group..<group + later { maximum = max(maximum, deliver(index)) }
    #expect(onQuietMachine(maximum < max(.milliseconds(50), decoding / 4)), "\(maximum) beside \(decoding) of decoding")
    #expect(stream.statistics.framesPassedThrough == group + later)
    // The rendition shows the newest frame, or one of the last.
    let first = try #require(output.samples(atLeast: 1).first)
    #expect(first.isKeyframe && first.presentationTime >= main.samples[group - 1].presentationTime)
    await stream.stop()
  }

  /// Compressed frames of moving noise, the first alone a keyframe.
  private static func movingSamples(
    _ count: Int, of format: VideoFormat
  ) throws -> ([EncodedSample], H264Description) {
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(
        width: format.width, height: format.height, frameRate: format.frameRate, bitrate: 4_000_000,
        keyframeInterval: .seconds(1000)))
    let pool = VideoFramePool(format: format, capacity: 4)
    var random: UInt64 = 1
    let noise = (0..<format.width * (format.height + count)).map { _ -> UInt8 in
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: random >> 59) + 100
    }
    var samples: [EncodedSample] = []
    for index in 0..<count {
      let frame = try #require(
        pool.frame(at: .zero + .milliseconds(Int64(index) * 33)) { buffer in
          for plane in 0..<3 {
            let target = buffer.unsafePlane(plane)
            guard plane == 0 else {
              target.initializeMemory(as: UInt8.self, repeating: 128)
              continue
            }
            let start = index * format.width
            noise.withUnsafeBytes { bytes in
              target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + target.count]))
            }
          }
        })
      try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: index == 0) { samples.append($0) }
    }
    return (samples, try #require(encoder.description))
  }
}
