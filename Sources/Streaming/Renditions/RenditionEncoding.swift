internal import Codecs
internal import Effects
package import Media
internal import Synchronization
internal import Threading

/// The encoding of a rendition that is not the main one: the frames of the main one, scaled and encoded again.
///
/// The encoder runs on a thread of its own while the rendition is in use, and 10 s longer. Frames come from the
/// pipeline, after effects; its keyframes are those of the main rendition, except for the first, or are made on request.
///
/// Two frames wait for the encoder at most; then the oldest is dropped.
///
/// An encoder that fails, such as that of a device that is busy, is opened again for the first request that comes 10 s later.
package final class RenditionEncoding: Sendable {
  /// Size, bitrate at the start, and frame rate.
  package let settings: RenditionSettings
  /// Format of the frames that are encoded.
  package let format: VideoFormat
  /// Whether the frame rate is below the stream's.
  private let isThinned: Bool
  let encoder: String
  let profile: H264Profile?
  let rateBuffer: MediaDuration
  /// Maximum length of a slice in bytes; nil without a limit.
  package let maximumSliceLength: Int?
  /// Whether keyframes are made on request alone: frames need not wait for those of the main rendition.
  let makesKeyframesOnRequest: Bool
  /// Time after the last use for which the encoder stays open.
  let lingerTime: MediaDuration
  /// Time after a failure before which the encoder is not opened again.
  let retryDelay: MediaDuration
  /// Maximum time that a request waits for the parameter sets.
  private let timeout: MediaDuration
  let encoders: RenditionEncoders
  let state: Monitor<State>
  let outputs = OutputGroup()
  let report: @Sendable (StreamEvent) -> Void
  private let request: (@Sendable () -> Void)?
  let requestFrame: @Sendable () -> Void
  let usageChanged: @Sendable () -> Void

  /// Maximum number of frames that wait for the encoder.
  static let maximumQueueCount = 2

  enum Phase {
    /// No encoder; opened when it is used next.
    case idle
    /// The thread opens the encoder.
    case opening
    case running
    /// The encoder failed; it is opened again when it is used from this time on.
    case failed(VidiconError, retryTime: MediaTime)
    /// The stream has ended, or no longer has the rendition.
    case ended(VidiconError)
  }

  /// Maximum time that a request waits for the parameter sets, by default.
  package static let preparationTimeout = MediaDuration.seconds(2)
  /// Maximum number of requests that wait for the parameter sets.
  static let maximumWaiterCount = 256

  struct Item {
    var frame: ReleasedFrame
    var forcesKeyframe: Bool
    /// ``RenditionSet/generation`` before the frame was released.
    var generation: Int
  }

  /// A request for the parameter sets.
  struct Waiter {
    typealias Continuation = CheckedContinuation<Result<CodecDescription, VidiconError>, Never>

    var deadline: MediaTime
    /// Resumed with the parameter sets, or why there are none.
    var continuation: Continuation
  }

  /// The result of opening an encoder, on a thread of its own.
  typealias Opened = Result<TransferBox<any VideoEncoder>, VidiconError>

  struct State {
    var phase = Phase.idle
    var isThreadRunning = false
    /// Number of the attempt to open the encoder.
    var openingNumber = 0
    /// Result of the opening; nil while it runs.
    var opened: Opened?
    /// Whether a failure was reported since the last encoded frame.
    var isFailureReported = false
    var users = 0
    /// End of the last use.
    var lastUse = MediaTime.zero
    var frames: [Item] = []
    var limiter: FrameRateLimiter?
    /// Requests for the parameter sets, by deadline.
    var waiters: [Waiter] = []
    /// Whether a thread answers those that wait too long.
    var isExpiring = false
    var description: CodecDescription?
    var bitrate: Int
    var generation = 0
    /// Time of the last frame.
    var lastTime: MediaTime?
    /// Time of the last frame that was enqueued.
    var lastEnqueuedTime: MediaTime?
    /// Whether the next frame is for viewers who have seen none before.
    var isResuming = true
    var statistics = RenditionStatistics()

    /// Reason why the rendition could not be used the last time; nil without one.
    var lastFailure: VidiconError? {
      switch self.phase {
      case .failed(let error, _), .ended(let error): error
      case .idle, .opening, .running: nil
      }
    }

    /// Reason why the rendition cannot be used; nil where it can.
    func failure(at now: MediaTime) -> VidiconError? {
      if case .failed(_, let retryTime) = self.phase, now >= retryTime { return nil }
      return self.lastFailure
    }

    /// Whether frames are encoded: for viewers, or for parameter sets that an encoder outputs only with a keyframe.
    var needsFrames: Bool {
      guard case .running = self.phase else { return false }
      return self.users > 0 || !self.waiters.isEmpty
    }
  }

  /// - Parameters:
  ///   - stream: Format of the stream.
  ///   - video: Encoder, profile and rate control buffer of the stream.
  ///   - maximumSliceLength: Maximum length of a slice in bytes; nil without a limit.
  ///   - makesKeyframesOnRequest: Whether keyframes are made on request alone.
  ///   - lingerTime: Time after the last use for which the encoder stays open.
  ///   - retryDelay: Time after a failure before which the encoder is not opened again.
  ///   - preparationTimeout: Maximum time that a request waits for the parameter sets.
  ///   - encoders: Opens the encoder.
  ///   - report: Receives the failure of the encoder.
  ///   - request: Requests a keyframe of all renditions; nil for an encoding whose keyframes concern no other.
  ///   - requestFrame: Requests a frame, which may be one of a still source again.
  ///   - usageChanged: Called when it comes into use or goes out of use.
  init(
    _ settings: RenditionSettings, of stream: VideoFormat, video: VideoSettings, maximumSliceLength: Int? = nil,
    makesKeyframesOnRequest: Bool = false, lingerTime: MediaDuration, retryDelay: MediaDuration = .seconds(10),
    preparationTimeout: MediaDuration = RenditionEncoding.preparationTimeout,
    encoders: RenditionEncoders = RenditionEncoders(),
    report: @escaping @Sendable (StreamEvent) -> Void, request: (@Sendable () -> Void)?,
    requestFrame: @escaping @Sendable () -> Void = {}, usageChanged: @escaping @Sendable () -> Void
  ) {
    self.settings = settings
    self.format = VideoFormat(
      width: settings.width, height: settings.height,
      frameRate: min(settings.frameRate ?? stream.frameRate, stream.frameRate), colorMatrix: stream.colorMatrix)
    self.isThinned = self.format.frameRate < stream.frameRate
    self.encoder = settings.encoder ?? video.encoder
    self.profile = video.profile
    self.rateBuffer = video.rateBuffer
    self.maximumSliceLength = maximumSliceLength
    self.makesKeyframesOnRequest = makesKeyframesOnRequest
    self.lingerTime = lingerTime
    self.retryDelay = retryDelay
    self.timeout = preparationTimeout
    self.encoders = encoders
    self.state = Monitor(State(bitrate: settings.bitrate))
    self.report = report
    self.request = request
    self.requestFrame = requestFrame
    self.usageChanged = usageChanged
  }

  /// Last component of its addresses.
  package var name: String { self.settings.name }

  /// Target bitrate in bits per second; a change applies to the next frame.
  package var bitrate: Int {
    get { self.state.read { $0.bitrate } }
    set { self.state.withLockWakingNone { $0.bitrate = max(1, newValue) } }
  }

  /// Codec configuration of its video; nil until the encoder was opened for the first time.
  package var description: CodecDescription? {
    self.state.read { $0.description }
  }

  /// Reason why the encoder failed, or that the rendition has ended; nil while it can be used, and once it may be tried again.
  package var failure: VidiconError? {
    self.state.read { $0.failure(at: StreamClock.system.now()) }
  }

  /// Whether the encoder failed the last time that it was opened, or the rendition has ended.
  package var hasFailed: Bool { self.state.read { $0.lastFailure != nil } }

  /// Counters since the stream's start.
  package var statistics: RenditionStatistics {
    self.state.read { state in
      var statistics = state.statistics
      statistics.users = state.users
      if case .running = state.phase { statistics.isRunning = true }
      return statistics
    }
  }

  /// Requests a keyframe, for a new viewer or a lost frame. It falls on the same frame in all renditions; where the main one is
  /// passed through, in all but that. An encoding for one output alone makes its next frame one.
  package func requestKeyframe() {
    if let request { request() } else { self.forceKeyframe() }
  }

  /// Makes the next frame of this encoding alone a keyframe.
  package func forceKeyframe() {
    self.state.withLockWakingNone { $0.isResuming = true }
    self.requestFrame()
  }

  /// Adds an output, which gets the rendition's video and the stream's audio while the rendition is in use.
  package func add(_ output: any StreamOutput) {
    self.outputs.add(output) { self.failure == nil }
  }

  /// Removes an output; it may still get samples that are being delivered.
  package func remove(_ output: any StreamOutput) {
    self.outputs.remove(output)
  }
}

// MARK: Use

extension RenditionEncoding {
  /// Waits for the codec configuration, for which the encoder is opened unless it is known. A cancelled task waits on.
  ///
  /// - Throws: Why there is none; `timedOut` after 2 s, as where the device hangs while it is opened or at its first frame, or where
  ///   the encoder needs a frame and there is none.
  package func prepare() async throws(VidiconError) -> CodecDescription {
    try await withCheckedContinuation { self.prepare($0) }.get()
  }

  /// Resumes a continuation with the codec configuration, for which the encoder is opened unless it is known.
  func prepare(_ continuation: Waiter.Continuation) {
    let (answer, starts, expires) = self.state.withLock {
      state -> (Result<CodecDescription, VidiconError>?, Bool, Bool) in
      let now = StreamClock.system.now()
      if let error = state.failure(at: now) { return (.failure(error), false, false) }
      state.lastUse = now
      // Opened before the viewer that requests the rendition plays.
      let starts = self.startsThread(&state)
      if let description = state.description { return (.success(description), starts, false) }
      guard state.waiters.count < Self.maximumWaiterCount else { return (.failure(self.slowEncoder), starts, false) }
      state.waiters.append(Waiter(deadline: now + self.timeout, continuation: continuation))
      defer { state.isExpiring = true }
      return (nil, starts, !state.isExpiring)
    }
    if let answer { continuation.resume(returning: answer) }
    if starts { self.startThread() }
    if expires { self.startExpiring() }
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
      state.lastFailure == nil && (state.users > 0 || !state.waiters.isEmpty)
    }
  }

  private func startsThread(_ state: inout State) -> Bool {
    switch state.phase {
    case .idle: break
    case .failed where state.failure(at: StreamClock.system.now()) == nil: break
    case .opening, .running, .failed, .ended: return false
    }
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

extension RenditionEncoding {
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
  ///
  /// - Parameter generation: ``RenditionSet/generation`` before the frame was released.
  func enqueue(_ frame: ReleasedFrame, forcesKeyframe: Bool, generation: Int) {
    self.state.withLock { state in
      // Two threads offer frames for a moment when a source is no longer passed through.
      guard generation >= state.generation, state.lastEnqueuedTime.map({ $0 < frame.frame.timestamp }) ?? true else {
        state.isResuming = state.isResuming || forcesKeyframe
        return
      }
      state.lastEnqueuedTime = frame.frame.timestamp
      let forcesKeyframe = forcesKeyframe || state.isResuming
      state.isResuming = false
      var item = Item(frame: frame, forcesKeyframe: forcesKeyframe, generation: generation)
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

  /// Counts frames for which there was no memory, or no time.
  func countDrops(_ count: Int) {
    self.state.withLockWakingNone { $0.statistics.framesDropped += count }
  }

  /// Outputs a sample of the stream's audio.
  func consumeAudio(_ sample: EncodedSample) {
    if self.isInUse { self.outputs.consumeAudio(sample) }
  }

  /// Discards frames and samples of earlier generations; the next frame is a keyframe.
  func discardEarlier(to generation: Int) {
    self.outputs.discardEarlier {
      self.state.withLock { state in
        state.generation = max(state.generation, generation)
        state.frames = []
        state.isResuming = true
        return state.generation
      }
    }
  }

  /// Closes the encoder and ends the outputs: the stream has ended.
  func end() {
    self.end(as: .ended(.streamEnded), with: .streamEnded)
  }

  /// Closes the encoder and ends the outputs: the stream no longer has this rendition.
  func remove() {
    let error = VidiconError.renditionNotFound(self.name)
    self.end(as: .ended(error), with: error)
  }

  /// Adopts the bitrate of settings that differ in nothing else.
  ///
  /// - Returns: False where they need another rendition, or this one has failed.
  func continues(with settings: RenditionSettings) -> Bool {
    var same = self.settings
    same.bitrate = settings.bitrate
    guard same == settings, !self.hasFailed else { return false }
    self.bitrate = settings.bitrate
    return true
  }

  /// Waits until the thread has ended.
  func waitForThread(until deadline: MediaTime) {
    _ = self.state.wait(until: deadline) { $0.isThreadRunning ? nil : () }
  }
}
