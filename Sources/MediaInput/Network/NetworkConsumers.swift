internal import Capture
internal import Media
internal import Threading

/// Video and audio consumer of a network source.
final class NetworkConsumers: Sendable {
  private struct State {
    var video: (any VideoConsumer)?
    var audio: (any AudioConsumer)?
    /// Consumer that the thread is calling.
    var delivering: MediaKind?
  }

  private let state = Monitor(State())

  func attach(video consumer: any VideoConsumer) {
    self.state.withLock { $0.video = consumer }
  }

  func attach(audio consumer: any AudioConsumer) {
    self.state.withLock { $0.audio = consumer }
  }

  func isAttached(_ kind: MediaKind) -> Bool {
    self.state.read { kind == .video ? $0.video != nil : $0.audio != nil }
  }

  /// Detaches a consumer. No call follows after it returns, unless the consumer itself makes the call.
  ///
  /// - Returns: Whether no consumer is left.
  func detach(_ kind: MediaKind, isDelivering: Bool) -> Bool {
    let isEmpty = self.state.withLock { state in
      if kind == .video { state.video = nil } else { state.audio = nil }
      return state.video == nil && state.audio == nil
    }
    if !isDelivering { _ = self.state.wait { $0.delivering == kind ? nil : true } }
    return isEmpty
  }

  func notifyVideo(_ body: (any VideoConsumer) -> Void) {
    self.notify(.video, { $0.video }, body)
  }

  func notifyAudio(_ body: (any AudioConsumer) -> Void) {
    self.notify(.audio, { $0.audio }, body)
  }

  private func notify<Consumer>(_ kind: MediaKind, _ consumer: (State) -> Consumer?, _ body: (Consumer) -> Void) {
    let consumer = self.state.withLock { state in
      let consumer = consumer(state)
      if consumer != nil { state.delivering = kind }
      return consumer
    }
    guard let consumer else { return }
    body(consumer)
    self.state.withLock { $0.delivering = nil }
  }
}
