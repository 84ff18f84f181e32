package import HLS
internal import HTTPServer
package import Media
internal import NIOCore
internal import NIOPosix
internal import Streaming
internal import Synchronization
internal import Threading

/// The HLS output of a stream and its renditions: a lock around the `HLSStreamGroup` state machine, and the requests that wait for
/// it.
///
/// Samples arrive on the pipeline's threads, requests on event loops. Without viewers a sample costs one atomic load.
///
/// ``HLSServer`` adds it to the stream, and requests files of it:
///
/// ```swift
/// stream.add(served.hls)
/// if let response = served.hls.respondAtOnce(to: request) { return response }
/// return await served.hls.respond(to: request)
/// ```
package final class HLSOutput: StreamOutput {
  /// A waiting request.
  struct Waiter {
    var deadline: MediaTime
    var eventLoop: any EventLoop
    var continuation: CheckedContinuation<HLSResponse?, Never>
  }

  struct State {
    var machine: HLSStreamGroup
    /// The renditions that the state machine has.
    var renditions: [Rendition] = []
    /// Whether these are used.
    var usesRenditions = false
    /// Renditions whose encoders are opened, in the order in which they are to be added; each with the result, once it is known.
    var preparing: [(rendition: Rendition, result: Result<[CodecDescription], VidiconError>?)] = []
    /// Renditions whose encoders could not be opened, or output nothing, the last time: no playlist waits for them again.
    var late: [Rendition] = []
    /// Renditions that were ever added, for names of files that none has had.
    var renditionCount = 0
    var waiters: [Int: Waiter] = [:]
    var nextWaiter = 0
    var timer: RepeatedTask?
    var endTime: MediaTime?
    /// Whether another process continues the stream.
    var isSuspended = false

    /// Responds as the state machine does. Once another process continues the stream, there is only media that playlists have named:
    /// everything else waits until its connection is closed, upon which players ask that process.
    mutating func respond(
      to request: HLSRequest, of rendition: String?, at now: MediaTime
    ) -> (response: HLSResponse, effects: HLSEffects) {
      guard self.isSuspended else { return self.machine.respond(to: request, of: rendition, at: now) }
      if !request.isPlaylist {
        let (response, _) = self.machine.respond(to: request, of: rendition, at: now)
        if case .content = response { return (response, .none) }
      }
      return (.wait(until: now + .seconds(60)), .none)
    }
  }

  /// Responses with media of the stream.
  let transfers = DiscardableTransfers()
  let stream: LiveStream
  let configuration: HLSConfiguration
  let eventLoop: any EventLoop
  private let clock = StreamClock.system
  let now: @Sendable () -> MediaTime
  let isActive = Atomic(false)
  let state: Mutex<State>

  /// Interval of the deadline check while there are viewers.
  private static let timerInterval = TimeAmount.milliseconds(100)

  /// - Parameters:
  ///   - stream: A started stream.
  ///   - token: Makes file names unique across runs.
  ///   - idleTime: ``HTTPServerLimits/viewerIdleTime``.
  ///   - eventLoop: Runs the deadline check, and resumes requests that are not on an event loop.
  ///   - suspended: State of another process that it continues; nil for none.
  ///   - now: Returns the current time of the streams' clock.
  init(
    stream: LiveStream, token: String, idleTime: MediaDuration, eventLoop: any EventLoop,
    resuming suspended: HLSStreamState? = nil, now: @escaping @Sendable () -> MediaTime = { StreamClock.system.now() }
  ) {
    self.stream = stream
    self.eventLoop = eventLoop
    self.now = now
    let zero = MediaDuration(nanoseconds: StreamClock.system.unixTime(at: .zero))
    let configuration = HLSConfiguration(
      token: token, unixTimeAtZero: zero, bitrate: stream.videoBitrate + stream.audioSettings.bitrate,
      idleTime: idleTime)
    self.configuration = configuration
    let main =
      suspended.map { HLSStream(stream.descriptions, configuration: configuration, resuming: $0, at: now()) }
      ?? HLSStream(stream.descriptions, configuration: configuration)
    self.state = Mutex(State(machine: HLSStreamGroup(main)))
  }

  /// Begins to consume samples where it continues the stream of another process, as with the first request otherwise.
  ///
  /// - Parameter discardsEarlier: Whether its segments must not be shown any more.
  func begin(discardsEarlier: Bool) {
    self.perform { (machine: inout HLSStreamGroup) in discardsEarlier ? machine.discardEarlier() : HLSEffects.none }
  }

  /// Stops for another process, which continues the stream.
  ///
  /// - Parameter maximumByteCount: Maximum number of bytes of its segments.
  /// - Returns: The state with which it does; nil where no playlist has been sent, so that players begin with a new one there.
  func suspend(maximumByteCount: Int) -> HLSStreamState? {
    var suspended: HLSStreamState?
    self.perform { (state: inout State) in
      guard state.endTime == nil, !state.isSuspended else { return HLSEffects.none }
      // Without players the stream ends as otherwise.
      state.isSuspended = state.machine.isActive
      suspended = state.machine.suspend(maximumByteCount: maximumByteCount)
      return HLSEffects.none
    }
    return suspended
  }

  /// Whether there are viewers, or have been a moment ago.
  package var hasConsumers: Bool { self.isActive.load(ordering: .relaxed) }

  /// Counters of the main rendition.
  package var statistics: HLSStatistics { self.state.withLock { $0.machine.main.statistics } }

  /// Times for which its viewers are waited for.
  var viewerTimes: HLSViewerTimes {
    HLSViewerTimes(
      target: self.state.withLock { $0.machine.main.targetDuration }, idleTime: self.configuration.idleTime)
  }

  /// Number of waiting requests.
  package var waitingCount: Int { self.state.withLock { $0.waiters.count } }

  package func consume(_ sample: EncodedSample) {
    guard self.isActive.load(ordering: .relaxed) else { return }
    let now = self.now()
    let zero = MediaDuration(nanoseconds: self.clock.unixTime(at: .zero))
    self.perform { machine in
      machine.unixTimeAtZero = zero
      return machine.consume(sample, at: now)
    }
  }

  /// Adds timed metadata; call it before the sample of the same time.
  package func consume(_ metadata: TimedMetadata) {
    self.perform { machine in
      machine.consume(metadata)
      return .none
    }
  }

  package func descriptionChanged(to description: CodecDescription) {
    self.perform { (machine: inout HLSStreamGroup) in machine.change(to: description) }
  }

  package func discardEarlier() {
    self.perform { (machine: inout HLSStreamGroup) in machine.discardEarlier() }
    self.transfers.discardEarlier()
  }

  package func streamEnded() {
    let now = self.now()
    self.perform { (state: inout State) in
      guard !state.isSuspended else { return HLSEffects.none }
      state.endTime = state.endTime ?? now
      return state.machine.end()
    }
  }

  /// Time at which the stream ended; nil before.
  var endTime: MediaTime? { self.state.withLock { $0.endTime } }

  /// Responds to a request for a file of the main rendition; nil when it must wait.
  func respondAtOnce(to request: HLSRequest) -> HLSResponse? {
    let now = self.now()
    var response: HLSResponse?
    self.perform { (state: inout State) in
      let result = state.respond(to: request, of: nil, at: now)
      if case .wait = result.response {} else { response = result.response }
      return result.effects
    }
    return response
  }

  /// Waits until the requested file is available or the request's deadline has passed.
  ///
  /// - Returns: Never ``HLSResponse/wait(until:)``; `unavailable` on cancellation.
  func respond(to request: HLSRequest, of rendition: String? = nil) async -> HLSResponse {
    if rendition != nil || request.isMultivariantPlaylist, !self.state.withLock({ $0.isSuspended }) {
      self.prepareRenditions()
      // Viewers of the main one wait for no other's encoder.
      if rendition != RenditionName.main {
        await self.waitForPreparation(of: rendition)
        if let rendition, self.isNotReady(rendition) { return .unavailable }
      }
      let bitrate = self.stream.averageVideoBitrate.map { $0 + self.stream.audioSettings.bitrate }
      self.state.withLock { state in
        state.machine.encoderBitrate = bitrate
        for rendition in state.renditions {
          state.machine.setBitrate(rendition.bitrate + self.stream.audioSettings.bitrate, of: rendition.name)
        }
      }
    }
    while true {
      if let response = await self.attempt(request, of: rendition) { return response }
    }
  }

  /// Passes the request to the state machine and waits if it must; nil when woken to retry.
  private func attempt(_ request: HLSRequest, of rendition: String?) async -> HLSResponse? {
    let number = self.makeWaiterNumber()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let now = self.now()
        let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop ?? self.eventLoop
        var response: HLSResponse?
        self.perform { (state: inout State) in
          let result = state.respond(to: request, of: rendition, at: now)
          if case .wait(let deadline) = result.response {
            state.waiters[number] = Waiter(deadline: deadline, eventLoop: eventLoop, continuation: continuation)
          } else {
            response = result.response
          }
          return result.effects
        }
        if let response {
          continuation.resume(returning: response)
        } else if Task.isCancelled {
          self.cancel(number)
        }
      }
    } onCancel: {
      self.cancel(number)
    }
  }

  func makeWaiterNumber() -> Int {
    self.state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
  }

  func cancel(_ number: Int) {
    self.state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume(returning: .unavailable)
  }

  func perform(_ body: (inout HLSStreamGroup) -> HLSEffects) {
    self.perform { (state: inout State) in body(&state.machine) }
  }

  /// Runs `body` with the lock held and performs the returned effects.
  func perform(_ body: (inout State) -> HLSEffects) {
    let (requestsKeyframe, woken) = self.state.withLock { state -> (Bool, [Waiter]) in
      let effects = body(&state)
      let isActive = state.machine.isActive
      self.isActive.store(isActive, ordering: .relaxed)
      Self.updateUse(of: &state)
      var woken: [Waiter] = []
      if effects.wakesRequests {
        woken = Array(state.waiters.values)
        state.waiters.removeAll(keepingCapacity: true)
      }
      self.setTimer(of: &state)
      return (effects.requestsKeyframe, woken)
    }
    if requestsKeyframe { self.stream.requestKeyframe() }
    Self.wake(woken)
  }

  /// Starts or ends the use of the renditions. Called with the lock held, so that the last change is performed last.
  private static func updateUse(of state: inout State) {
    let isUsing = state.machine.areRenditionsActive
    guard isUsing != state.usesRenditions else { return }
    state.usesRenditions = isUsing
    for rendition in state.renditions {
      // HLS has waited for further requests itself.
      if isUsing { rendition.beginUse() } else { rendition.endUse(lingers: false) }
    }
  }

  /// Resumes waiting requests, with one hop per event loop.
  private static func wake(_ waiters: [Waiter]) {
    var rest = waiters
    while let eventLoop = rest.first?.eventLoop {
      let split = rest.partition { $0.eventLoop !== eventLoop }
      let resumed = Array(rest[..<split])
      rest.removeFirst(split)
      eventLoop.execute {
        for waiter in resumed { waiter.continuation.resume(returning: nil) }
      }
    }
  }

  /// Starts the timer while deadlines are possible; stops it otherwise.
  private func setTimer(of state: inout State) {
    let isNeeded = state.machine.isActive || !state.waiters.isEmpty
    guard isNeeded != (state.timer != nil) else { return }
    if isNeeded {
      state.timer = self.eventLoop.scheduleRepeatedTask(initialDelay: Self.timerInterval, delay: Self.timerInterval) {
        [weak self] task in
        guard let self else { return task.cancel() }
        self.checkDeadlines()
      }
    } else {
      state.timer?.cancel()
      state.timer = nil
    }
  }

  private func checkDeadlines() {
    let now = self.now()
    var overdue: [Waiter] = []
    self.perform { state in
      for (number, waiter) in state.waiters where waiter.deadline <= now {
        overdue.append(waiter)
        state.waiters[number] = nil
      }
      return state.machine.advance(to: now)
    }
    Self.wake(overdue)
  }
}
