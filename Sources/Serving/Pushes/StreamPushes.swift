public import Media
internal import NIOCore
public import Pushing
package import Streaming
internal import Synchronization
internal import Threading

/// The pushes of a stream: the servers that it is sent to, as many at once as ``maximumCount``, from one encoding.
///
/// Each push connects again for ever, until it is removed or the stream ends.
public final class StreamPushes: Sendable {
  private struct State {
    var pushes: [Push] = []
    var lastID = 0
    var hasEnded = false
  }

  /// Maximum number of pushes of a stream.
  public static let maximumCount = 8

  private let stream: LiveStream
  private let service: PushService
  private let allowsLinkLocal: Bool
  private let state = Mutex(State())
  private let (eventStream, eventContinuation) = AsyncStream.makeStream(
    of: PushEvent.self, bufferingPolicy: .bufferingNewest(100))

  /// Creates an empty list.
  ///
  /// - Parameter allowsLinkLocal: Whether pushes that clients add may reach link-local addresses.
  package init(_ stream: LiveStream, service: PushService, allowsLinkLocal: Bool) {
    self.stream = stream
    self.service = service
    self.allowsLinkLocal = allowsLinkLocal
  }

  /// Changes of the pushes' states; for one consumer. Ends with the stream.
  public var events: AsyncStream<PushEvent> { self.eventStream }

  /// The pushes in the order of their list.
  public var reports: [PushReport] {
    let now = StreamClock.system.now()
    return self.state.withLock { $0.pushes }.map { push in
      let status = push.status
      var nextAttempt: MediaDuration?
      if case .waiting(let time) = status.phase { nextAttempt = max(time - now, .zero) }
      return PushReport(
        id: push.id, address: push.target.address, rendition: push.target.rendition, status: status,
        nextAttempt: nextAttempt)
    }
  }

  /// Adds pushes of a running stream.
  ///
  /// - Throws: ``VidiconError`` when a rendition does not exist, there are more than ``maximumCount``, or the stream does not run;
  ///   nothing is added then.
  public func add(_ targets: [PushTarget]) throws(VidiconError) {
    let present = self.state.withLock { $0.pushes.map { PushEntry.existing($0.id) } }
    try self.replace(with: present + targets.map(PushEntry.new), areLinkLocalAllowed: true)
  }

  /// Replaces the list: pushes that are not in it are stopped.
  ///
  /// - Throws: As ``add(_:)``, and for a number that is not in the list; nothing is changed then.
  package func replace(with entries: [PushEntry]) throws(VidiconError) {
    try self.replace(with: entries, areLinkLocalAllowed: self.allowsLinkLocal)
  }

  private func replace(with entries: [PushEntry], areLinkLocalAllowed: Bool) throws(VidiconError) {
    guard entries.count <= Self.maximumCount else {
      throw VidiconError(
        .invalidSpecification, subject: "\(entries.count) pushes", cause: "a stream has at most \(Self.maximumCount)",
        nextStep: "leave some out")
    }
    guard self.stream.isRunning, let eventLoop = self.service.eventLoop() else {
      throw VidiconError(
        .wrongState, subject: "push", cause: "the stream does not run", nextStep: "start the stream first")
    }
    var renditions: [String: Rendition] = [:]
    for case .new(let target) in entries {
      guard let rendition = self.stream.rendition(named: target.rendition) else {
        let names = [RenditionName.main] + self.stream.renditions.map(\.name)
        throw VidiconError(
          // The name may be a secret of the server's, from the URL.
          .notFound, subject: "push", cause: "the stream has no rendition of its name",
          nextStep: "give one of \(names.joined(separator: ", "))")
      }
      renditions[target.rendition] = rendition
    }
    let change = self.state.withLock { state -> Result<(started: [Push], stopped: [Push]), VidiconError> in
      var (pushes, started): ([Push], [Push]) = ([], [])
      for entry in entries {
        switch entry {
        case .existing(let id):
          guard let push = state.pushes.first(where: { $0.id == id }), !pushes.contains(where: { $0.id == id }) else {
            return .failure(
              VidiconError(
                .notFound, subject: "push \(id)", cause: "there is no such push, or it is given twice",
                nextStep: "use the numbers of the present list, each once"))
          }
          pushes.append(push)
        case .new(let target):
          state.lastID += 1
          let push = Push(
            id: state.lastID, target: target, rendition: renditions[target.rendition] ?? self.stream.main,
            service: self.service, eventLoop: eventLoop, allowsLinkLocal: areLinkLocalAllowed,
            report: { [eventContinuation] in eventContinuation.yield($0) })
          pushes.append(push)
          started.append(push)
        }
      }
      if state.hasEnded { return .success(([], [])) }
      let stopped = state.pushes.filter { push in !pushes.contains { $0 === push } }
      state.pushes = pushes
      return .success((started, stopped))
    }
    let (started, stopped) = try change.get()
    for push in stopped { _ = push.stop() }
    for push in started { push.start() }
  }

  /// Stops all pushes, and waits until each server has been sent the end of its stream.
  package func stop() async {
    let pushes = self.state.withLock { state in
      state.hasEnded = true
      defer { state.pushes = [] }
      return state.pushes
    }
    self.eventContinuation.finish()
    // Fails only when the event loop has ended, and with it the connections.
    for end in pushes.map({ $0.stop() }) { try? await end.get() }
  }
}
