import Media
import NIOCore
import NIOPosix
import Threading
import WebRTC
import WebRTCServer

/// Checks from UDP ports of this machine whether a candidate of a server is reached, RFC 8445. Used on its event loop only.
// Safe because all properties are used on the event loop only.
final class ICEProbe: @unchecked Sendable {
  private let eventLoop: any EventLoop
  private let promise: EventLoopPromise<TransportAddress?>
  private var agent: ICEControllingAgent
  private var sockets: WHIPSockets?
  private var timer: Scheduled<Void>?
  private var isClosed = false
  private let clock = StreamClock.system

  private init(
    _ agent: ICEControllingAgent, on eventLoop: any EventLoop, promise: EventLoopPromise<TransportAddress?>
  ) {
    (self.agent, self.eventLoop, self.promise) = (agent, eventLoop, promise)
  }

  /// Checks candidates until one is selected.
  ///
  /// - Returns: The address that is reached; nil where none is up to the deadline.
  static func run(
    local: ICECredentials, remote: ICECredentials, candidates: [ICECandidate], until deadline: MediaTime
  ) async -> TransportAddress? {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = eventLoop.makePromise(of: TransportAddress?.self)
    let now = StreamClock.system.now()
    let agent = ICEControllingAgent(
      local: local, remote: remote, candidates: candidates, tieBreaker: .random(in: 0...UInt64.max), at: now)
    let probe = ICEProbe(agent, on: eventLoop, promise: promise)
    let limit = eventLoop.scheduleTask(in: .nanoseconds(max(deadline - now, .zero).nanoseconds)) {
      promise.succeed(nil)
    }
    let opening = WHIPSockets.open(on: eventLoop) { bytes, source in probe.receive(bytes, from: source) }
    opening.whenSuccess { probe.start($0) }
    opening.whenFailure { _ in promise.succeed(nil) }
    let address = try? await promise.futureResult.get()
    limit.cancel()
    eventLoop.execute { probe.close() }
    return address
  }

  private func start(_ sockets: WHIPSockets) {
    guard !self.isClosed else { return sockets.close() }
    self.sockets = sockets
    self.check()
  }

  private func close() {
    self.isClosed = true
    self.timer?.cancel()
    self.sockets?.close()
  }

  private func receive(_ bytes: ByteBuffer, from source: TransportAddress) {
    guard !self.isClosed, let message = try? STUNMessage(parsing: bytes) else { return }
    self.perform(self.agent.handle(message, from: source, at: self.clock.now()))
  }

  private func check() {
    self.perform(self.agent.handleTimeout(at: self.clock.now(), makeRandom: { .random(in: 0...UInt64.max) }))
  }

  private func perform(_ outputs: [ICEControllingAgent.Output]) {
    var batch = DatagramBatch()
    for output in outputs {
      switch output {
      case .send(let bytes, let address): batch.append(bytes, to: address)
      case .selected(let address): self.promise.succeed(address)
      case .failed: self.promise.succeed(nil)
      }
    }
    if !batch.isEmpty { self.sockets?.send(batch) }
    self.timer?.cancel()
    guard !self.isClosed, let deadline = self.agent.nextDeadline else { return }
    let delay = max(deadline - self.clock.now(), .zero)
    self.timer = self.eventLoop.scheduleTask(in: .nanoseconds(delay.nanoseconds)) { self.check() }
  }
}
