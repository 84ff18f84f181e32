internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// Retains the samples of a starting stream until its recording begins, so that the recording contains the first video
/// frame.
final class Preroll: StreamOutput {
  private enum Held {
    case sample(EncodedSample)
    case change(CodecDescription)
  }

  private struct State {
    var held: [Held] = []
    var byteCount = 0
    var target: (any StreamOutput)?
    var hasStreamEnded = false
    var isClosed = false
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: Maximum number of retained bytes; beyond it everything is discarded and the recording begins
  ///   later.
  init(limit: Int) {
    self.limit = limit
  }

  /// Delivers the retained samples to `target`, then each new one.
  ///
  /// - Returns: False when the preroll has been closed; nothing is delivered then.
  func forward(to target: any StreamOutput) -> Bool {
    self.state.withLock { state in
      guard !state.isClosed else { return false }
      // Under the lock, so that no sample overtakes another.
      for held in state.held {
        switch held {
        case .sample(let sample): target.consume(sample)
        case .change(let description): target.descriptionChanged(to: description)
        }
      }
      if state.hasStreamEnded { target.streamEnded() }
      state.held = []
      state.target = target
      return true
    }
  }

  /// Discards the retained samples and stops delivering.
  func close() {
    self.state.withLock { state in
      state = State()
      state.isClosed = true
    }
  }

  func consume(_ sample: EncodedSample) {
    let target = self.state.withLock { state -> (any StreamOutput)? in
      if let target = state.target { return target }
      state.byteCount += sample.payload.readableBytes
      if state.byteCount > self.limit {
        state.held = []
        state.isClosed = true
      }
      if !state.isClosed { state.held.append(.sample(sample)) }
      return nil
    }
    target?.consume(sample)
  }

  func descriptionChanged(to description: CodecDescription) {
    let target = self.state.withLock { state -> (any StreamOutput)? in
      if state.target == nil, !state.isClosed { state.held.append(.change(description)) }
      return state.target
    }
    target?.descriptionChanged(to: description)
  }

  func discardEarlier() {
    let target = self.state.withLock { state -> (any StreamOutput)? in
      state.held.removeAll { if case .sample = $0 { true } else { false } }
      return state.target
    }
    target?.discardEarlier()
  }

  func streamEnded() {
    let target = self.state.withLock { state in
      state.hasStreamEnded = true
      return state.target
    }
    target?.streamEnded()
  }
}
