internal import Recording
internal import Streaming
internal import Synchronization
internal import Threading

/// The recorders of a server's streams, one each.
final class AttachedRecorders: Sendable {
  private let recorders = Mutex<[ObjectIdentifier: (stream: LiveStream, recorder: Recorder)]>([:])

  func attach(_ recorder: Recorder, to stream: LiveStream) {
    self.recorders.withLock { $0[ObjectIdentifier(stream)] = (stream, recorder) }
  }

  func recorder(of stream: LiveStream) -> Recorder? {
    self.recorders.withLock { $0[ObjectIdentifier(stream)]?.recorder }
  }

  /// Forgets the recorder of a stream, and returns it.
  func detach(from stream: LiveStream) -> Recorder? {
    self.recorders.withLock { $0.removeValue(forKey: ObjectIdentifier(stream))?.recorder }
  }

  /// Stops all recordings, and waits until they are over, or a time has passed.
  ///
  /// - Returns: Whether they are over.
  func stop(within limit: Duration?) async -> Bool {
    let recorders = self.recorders.withLock { $0.values.map(\.recorder) }
    // Finishing cannot be broken off, so that nothing that is waited for may hold up the end.
    let stopping = Task {
      await withDiscardingTaskGroup { group in
        for recorder in recorders { group.addTask { await recorder.stop() } }
      }
    }
    guard let limit else {
      await stopping.value
      return true
    }
    return await stopping.result(within: limit) != nil
  }
}
