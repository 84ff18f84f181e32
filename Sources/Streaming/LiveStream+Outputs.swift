internal import Effects
internal import Media

extension LiveStream {
  /// Adds an output; it gets every sample from now on. One added after the end of the stream is ended at once.
  public func add(_ output: any StreamOutput) {
    self.shared.outputs.add(output)
  }

  /// Removes an output; it may still get samples that are being delivered.
  public func remove(_ output: any StreamOutput) {
    self.shared.outputs.remove(output)
  }

  /// Discards frames and segments that outputs have kept, and what is being encoded.
  func discardEarlier() {
    self.shared.discardEarlier()
  }

  /// Ends the outputs after an encoder has failed; the owner stops the stream.
  func fail(_ error: VidiconError) {
    self.endOutputs()
    self.shared.report(.failed(error))
  }

  /// Notifies every output that the stream has ended.
  func endOutputs() {
    self.shared.snapshots.streamEnded()
    self.shared.renditions.end()
    self.shared.outputs.end()
  }
}
