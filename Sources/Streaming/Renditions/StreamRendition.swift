internal import Codecs
internal import Effects
public import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// A further rendition of a stream: the frames of the main one, scaled and encoded again for viewers with slower networks.
///
/// The encoder runs on a thread of its own while the rendition is in use, and 10 s longer. Frames come from the
/// pipeline, after effects; its keyframes are those of the main rendition, except for the first.
///
/// Two frames wait for the encoder at most; then the oldest is dropped.
public final class StreamRendition: Sendable {
  /// Size, bitrate at the start, and frame rate.
  public let settings: RenditionSettings
  /// Format of the frames that are encoded.
  package let format: VideoFormat
  /// Whether the frame rate is below the stream's.
  private let isThinned: Bool
  private let encoder: String
  private let profile: H264Profile?
  private let rateBuffer: MediaDuration
  /// Time after the last use for which the encoder stays open.
  private let lingerTime: MediaDuration
  private let state: Monitor<State>
  /// Locked while samples are output, so that none follows ``discardEarlier()``.
  private let delivery = Mutex(Delivery())
  private let report: @Sendable (StreamEvent) -> Void
  private let request: @Sendable () -> Void
  private let usageChanged: @Sendable () -> Void

  /// Maximum number of frames that wait for the encoder.
  static let maximumQueueCount = 2

  private enum Phase {
    /// No encoder; opened when it is used next.
    case idle
    /// The thread opens the encoder.
    case opening
    case running
    /// The encoder failed, or the stream has ended.
    case ended(VidiconError)
  }

  private struct Item {
    var frame: ReleasedFrame
    var forcesKeyframe: Bool
    /// ``Delivery/generation`` when the frame was released.
    var generation: Int
  }

  /// Receives the parameter sets, or why there are none.
  typealias Waiter = @Sendable (Result<CodecDescription, VidiconError>) -> Void

  private struct State {
    var phase = Phase.idle
    var isThreadRunning = false
    var users = 0
    /// End of the last use.
    var lastUse = MediaTime.zero
    var frames: [Item] = []
    var limiter: FrameRateLimiter?
    var waiters: [Waiter] = []
    var description: CodecDescription?
    var bitrate: Int
    var generation = 0
    /// Time of the last frame.
    var lastTime: MediaTime?
    /// Whether the next frame is for viewers who have seen none before.
    var isResuming = true
    var statistics = RenditionStatistics()

    /// Whether frames are encoded: for viewers, or for parameter sets that an encoder outputs only with a keyframe.
    var needsFrames: Bool {
      guard case .running = self.phase else { return false }
      return self.users > 0 || !self.waiters.isEmpty
    }
  }

  private struct Delivery {
    var outputs: [any StreamOutput] = []
    var generation = 0
    var announced: CodecDescription?
    var hasEnded = false
  }

  /// - Parameters:
  ///   - stream: Format of the stream.
  ///   - video: Encoder, profile and rate control buffer of the stream.
  ///   - lingerTime: Time after the last use for which the encoder stays open.
  ///   - report: Receives the failure of the encoder.
  ///   - request: Requests a keyframe of all renditions.
  ///   - usageChanged: Called when it comes into use or goes out of use.
  init(
    _ settings: RenditionSettings, of stream: VideoFormat, video: VideoSettings, lingerTime: MediaDuration,
    report: @escaping @Sendable (StreamEvent) -> Void, request: @escaping @Sendable () -> Void,
    usageChanged: @escaping @Sendable () -> Void
  ) {
    self.settings = settings
    self.format = VideoFormat(
      width: settings.width, height: settings.height,
      frameRate: min(settings.frameRate ?? stream.frameRate, stream.frameRate), colorMatrix: stream.colorMatrix)
    self.isThinned = self.format.frameRate < stream.frameRate
    self.encoder = settings.encoder ?? video.encoder
    self.profile = video.profile
    self.rateBuffer = video.rateBuffer
    self.lingerTime = lingerTime
    self.state = Monitor(State(bitrate: settings.bitrate))
    self.report = report
    self.request = request
    self.usageChanged = usageChanged
  }

  /// Last component of its addresses.
  public var name: String { self.settings.name }

  /// Target bitrate in bits per second; a change applies to the next frame.
  public var bitrate: Int {
    get { self.state.read { $0.bitrate } }
    set { self.state.withLockWakingNone { $0.bitrate = max(1, newValue) } }
  }

  /// Codec configuration of its video; nil until the encoder was opened for the first time.
  package var description: CodecDescription? {
    self.state.read { $0.description }
  }

  /// Why the encoder failed; nil while it can be used.
  public var failure: VidiconError? {
    self.state.read { state in
      guard case .ended(let error) = state.phase else { return nil }
      return error
    }
  }

  /// Counters since the stream's start.
  public var statistics: RenditionStatistics {
    self.state.read { state in
      var statistics = state.statistics
      statistics.users = state.users
      if case .running = state.phase { statistics.isRunning = true }
      return statistics
    }
  }

  /// Requests a keyframe, for a new viewer or a lost frame. It falls on the same frame in all renditions; where the main one is
  /// passed through, in all but that.
  package func requestKeyframe() {
    self.request()
  }

  /// Makes the next frame of this encoding alone a keyframe.
  package func forceKeyframe() {
    self.state.withLockWakingNone { $0.isResuming = true }
  }

  /// Adds an output, which gets the rendition's video and the stream's audio while the rendition is in use.
  package func add(_ output: any StreamOutput) {
    let isAdded = self.delivery.withLock { delivery in
      guard !delivery.hasEnded else { return false }
      delivery.outputs.append(output)
      if let description = self.description { output.descriptionChanged(to: description) }
      return true
    }
    if !isAdded { output.streamEnded() }
  }

  /// Removes an output.
  package func remove(_ output: any StreamOutput) {
    self.delivery.withLock { $0.outputs.removeAll { $0 === output } }
  }
}

// MARK: Use

extension StreamRendition {
  /// Reports the codec configuration, for which the encoder is opened unless it is known; on any thread, or at once.
  package func prepare(_ waiter: @escaping @Sendable (Result<CodecDescription, VidiconError>) -> Void) {
    let (answer, starts) = self.state.withLock { state -> (Result<CodecDescription, VidiconError>?, Bool) in
      state.lastUse = StreamClock.system.now()
      if case .ended(let error) = state.phase { return (.failure(error), false) }
      // Opened before the viewer that asks for it plays.
      let starts = self.startsThread(&state)
      if let description = state.description { return (.success(description), starts) }
      state.waiters.append(waiter)
      return (nil, starts)
    }
    if let answer { waiter(answer) }
    if starts { self.startThread() }
    self.usageChanged()
  }

  /// Opens the encoder, unless it is open, and encodes frames until as many calls of ``endUse(lingers:)`` have followed.
  package func beginUse() {
    let starts = self.state.withLock { state in
      if state.users == 0 { state.isResuming = true }
      state.users += 1
      return self.startsThread(&state)
    }
    if starts { self.startThread() }
    self.usageChanged()
  }

  /// Ends a use.
  ///
  /// - Parameter lingers: Whether the encoder stays open for 10 s.
  package func endUse(lingers: Bool = true) {
    self.state.withLock { state in
      state.users = max(0, state.users - 1)
      let now = StreamClock.system.now()
      if state.users == 0 { state.lastUse = lingers ? now : now - self.lingerTime }
    }
    self.usageChanged()
  }

  /// Whether samples are output.
  var isInUse: Bool {
    self.state.read { state in
      if case .ended = state.phase { return false }
      return state.users > 0 || !state.waiters.isEmpty
    }
  }

  private func startsThread(_ state: inout State) -> Bool {
    guard case .idle = state.phase else { return false }
    state.phase = .opening
    // A thread that has just closed the encoder opens it again.
    guard !state.isThreadRunning else { return false }
    state.isThreadRunning = true
    return true
  }

  private func startThread() {
    if !WorkerThread.startDetached(named: "rendition", { self.run() }) {
      self.state.withLock { $0.isThreadRunning = false }
      self.fail(.noThread("rendition"))
    }
  }
}

// MARK: Calls of the video pipeline

extension StreamRendition {
  /// Whether a frame of this time is to be encoded.
  ///
  /// - Parameter isKeyframe: Whether it is a keyframe of the main rendition; none of those is skipped.
  func accepts(_ time: MediaTime, isKeyframe: Bool) -> Bool {
    self.state.withLockWakingNone { state in
      guard state.needsFrames, state.lastTime.map({ $0 < time }) ?? true else { return false }
      var isDue = true
      if self.isThinned {
        var limiter = state.limiter ?? FrameRateLimiter(self.format.frameRate)
        isDue = limiter.accepts(time)
        if isKeyframe, !isDue {
          limiter = FrameRateLimiter(self.format.frameRate)
          _ = limiter.accepts(time)
        }
        state.limiter = limiter
      }
      guard isDue || isKeyframe else { return false }
      state.lastTime = time
      return true
    }
  }

  /// Enqueues a frame of ``format`` for the encoder.
  func enqueue(_ frame: ReleasedFrame, forcesKeyframe: Bool) {
    self.state.withLock { state in
      let forcesKeyframe = forcesKeyframe || state.isResuming
      state.isResuming = false
      var item = Item(frame: frame, forcesKeyframe: forcesKeyframe, generation: state.generation)
      if state.frames.count >= Self.maximumQueueCount {
        state.statistics.framesDropped += 1
        let dropped = state.frames.removeFirst()
        if dropped.forcesKeyframe {
          if state.frames.isEmpty { item.forcesKeyframe = true } else { state.frames[0].forcesKeyframe = true }
        }
      }
      state.frames.append(item)
    }
  }

  /// Counts a frame for which there was no memory.
  func countDrop() {
    self.state.withLockWakingNone { $0.statistics.framesDropped += 1 }
  }

  /// Outputs a sample of the stream's audio.
  func consumeAudio(_ sample: EncodedSample) {
    guard self.isInUse else { return }
    self.delivery.withLock { delivery in
      for output in delivery.outputs { output.consume(sample) }
    }
  }

  /// Discards frames and samples released until now; the next frame is a keyframe.
  func discardEarlier() {
    self.delivery.withLock { delivery in
      delivery.generation += 1
      self.state.withLock { state in
        state.generation = delivery.generation
        state.frames = []
        state.isResuming = true
      }
      for output in delivery.outputs { output.discardEarlier() }
    }
  }

  /// Closes the encoder and ends the outputs: the stream has ended.
  func end() {
    self.fail(.streamEnded, isReported: false)
  }

  /// Closes the encoder and ends the outputs: the stream no longer has this rendition.
  func remove() {
    self.fail(.renditionNotFound(self.name), isReported: false)
  }

  /// Takes the bitrate of settings that differ in nothing else.
  ///
  /// - Returns: False where they need another rendition, or this one has failed.
  func continues(with settings: RenditionSettings) -> Bool {
    var same = self.settings
    same.bitrate = settings.bitrate
    guard same == settings, self.failure == nil else { return false }
    self.bitrate = settings.bitrate
    return true
  }

  /// Waits until the thread has ended.
  func waitForThread(until deadline: MediaTime) {
    _ = self.state.wait(until: deadline) { $0.isThreadRunning ? nil : () }
  }
}

// MARK: The thread

extension StreamRendition {
  private func run() {
    repeat { self.encodeWhileUsed() } while self.continues()
  }

  /// Whether the rendition has come into use again while its encoder was closed; otherwise the thread ends.
  private func continues() -> Bool {
    self.state.withLock { state in
      if case .opening = state.phase { return true }
      state.isThreadRunning = false
      return false
    }
  }

  /// Opens the encoder, encodes until the rendition is unused, and closes it: a device may have one only.
  private func encodeWhileUsed() {
    var bitrate = self.bitrate
    do throws(VidiconError) {
      let encoder = try LibavH264Encoder(
        VideoEncoderSettings(
          width: self.format.width, height: self.format.height, frameRate: self.format.frameRate,
          colorMatrix: self.format.colorMatrix, bitrate: bitrate,
          // Keyframes are those of the main rendition.
          keyframeInterval: .seconds(24 * 3600), encoder: self.encoder, profile: self.profile,
          rateBuffer: self.rateBuffer))
      guard self.hasOpened(encoder) else { return }
      while let (item, target) = self.next() {
        if target != bitrate {
          bitrate = target
          encoder.setBitrate(target)
        }
        try self.encode(item, with: encoder)
      }
    } catch {
      self.fail(error)
    }
  }

  private func hasOpened(_ encoder: LibavH264Encoder) -> Bool {
    let (isOpen, waiters) = self.state.withLock { state -> (Bool, [Waiter]) in
      guard case .opening = state.phase else { return (false, []) }
      state.phase = .running
      state.statistics.starts += 1
      state.limiter = nil
      guard let description = encoder.description else { return (true, []) }
      state.description = .h264(description)
      defer { state.waiters = [] }
      return (true, state.waiters)
    }
    if let description = encoder.description { for waiter in waiters { waiter(.success(.h264(description))) } }
    return isOpen
  }

  private enum Step {
    case encode(Item, bitrate: Int)
    case close
    case wait(until: MediaTime?)
  }

  /// Waits for a frame; nil when the encoder is to be closed.
  private func next() -> (Item, bitrate: Int)? {
    var deadline: MediaTime?
    while true {
      let step = self.state.take(until: deadline) { state -> Step? in
        guard case .running = state.phase else { return .close }
        if !state.frames.isEmpty { return .encode(state.frames.removeFirst(), bitrate: state.bitrate) }
        let closing = self.closingTime(of: state)
        if let closing, StreamClock.system.now() >= closing {
          state.phase = .idle
          return .close
        }
        return closing == deadline ? nil : .wait(until: closing)
      }
      switch step {
      case .encode(let item, let bitrate)?: return (item, bitrate)
      case .close?: return nil
      case .wait(let time)?: deadline = time
      case nil: continue
      }
    }
  }

  /// When the encoder is closed; nil while it is in use.
  private func closingTime(of state: State) -> MediaTime? {
    state.users > 0 || !state.waiters.isEmpty ? nil : state.lastUse + self.lingerTime
  }

  private func encode(_ item: Item, with encoder: LibavH264Encoder) throws(VidiconError) {
    let clock = StreamClock.system
    let start = clock.now()
    try encoder.encode(item.frame.frame, forcesKeyframe: item.forcesKeyframe) { sample in
      let end = clock.now()
      let waiters = self.state.withLockWakingNone { state -> [Waiter] in
        state.statistics.framesEncoded += 1
        state.statistics.keyframes += sample.isKeyframe ? 1 : 0
        state.statistics.bytes += sample.payload.readableBytes
        state.statistics.encodeTime = state.statistics.encodeTime + (end - start)
        guard let description = encoder.description else { return [] }
        state.description = .h264(description)
        defer { state.waiters = [] }
        return state.waiters
      }
      guard let description = encoder.description.map(CodecDescription.h264) else { return }
      for waiter in waiters { waiter(.success(description)) }
      self.output(sample, of: description, generation: item.generation)
    }
  }

  private func output(_ sample: EncodedSample, of description: CodecDescription, generation: Int) {
    self.delivery.withLock { delivery in
      guard generation == delivery.generation else { return }
      if description != delivery.announced {
        delivery.announced = description
        for output in delivery.outputs { output.descriptionChanged(to: description) }
      }
      for output in delivery.outputs { output.consume(sample) }
    }
  }

  /// Ends the rendition; the stream continues.
  private func fail(_ error: VidiconError, isReported: Bool = true) {
    let (waiters, isFirst) = self.state.withLock { state -> ([Waiter], Bool) in
      if case .ended = state.phase { return ([], false) }
      state.phase = .ended(error)
      state.frames = []
      defer { state.waiters = [] }
      return (state.waiters, true)
    }
    guard isFirst else { return }
    if isReported { self.report(.renditionFailed(self.name, error)) }
    for waiter in waiters { waiter(.failure(error)) }
    let outputs = self.delivery.withLock { delivery in
      delivery.hasEnded = true
      defer { delivery.outputs = [] }
      return delivery.outputs
    }
    for output in outputs { output.streamEnded() }
    self.usageChanged()
  }
}
