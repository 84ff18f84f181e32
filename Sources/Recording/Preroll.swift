internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// Holds the samples of a stream that starts until its recording does, so that the first picture is in it.
final class Preroll: StreamOutput {
  private struct State {
    var samples: [EncodedSample] = []
    var byteCount = 0
    var descriptions: [MediaKind: CodecDescription] = [:]
    var target: (any StreamOutput)?
    var hasStreamEnded = false
    var isClosed = false
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: The most bytes to hold; with more, the recording starts too late for the first picture.
  init(limit: Int) {
    self.limit = limit
  }

  /// Hands over what is held, then what comes.
  ///
  /// - Returns: Whether it does; not once it is closed.
  func forward(to target: any StreamOutput) -> Bool {
    self.state.withLock { state in
      guard !state.isClosed else { return false }
      // Under the lock, so that no sample overtakes another.
      for sample in state.samples { target.consume(sample) }
      if state.hasStreamEnded { target.streamEnded() }
      state.samples = []
      state.target = target
      return true
    }
  }

  /// Holds and hands over nothing more.
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
        state.samples = []
        state.isClosed = true
      }
      if !state.isClosed { state.samples.append(sample) }
      return nil
    }
    target?.consume(sample)
  }

  /// A recording begins with one description: what needs an earlier one is let go.
  func descriptionChanged(to description: CodecDescription) {
    self.state.withLock { state in
      let earlier = state.descriptions.updateValue(description, forKey: description.kind)
      guard let earlier, earlier != description, state.target == nil else { return }
      (state.samples, state.byteCount) = ([], 0)
    }
  }

  func streamEnded() {
    let target = self.state.withLock { state in
      state.hasStreamEnded = true
      return state.target
    }
    target?.streamEnded()
  }
}
