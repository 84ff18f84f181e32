internal import Codecs
internal import Effects
internal import Media
internal import Synchronization

extension LiveStream {
  /// Adds an output; it gets every sample from now on. One added after the end of the stream is ended at once.
  public func add(_ output: any StreamOutput) {
    let isAdded = self.outputs.withLock { outputs in
      guard outputs != nil else { return false }
      outputs?.append(output)
      return true
    }
    guard isAdded else { return output.streamEnded() }
    // Codec configurations may have changed since the output was created.
    self.announcements.withLock { _ in
      for description in self.descriptions { output.descriptionChanged(to: description) }
    }
  }

  /// Removes an output; it may still get samples that are being delivered.
  public func remove(_ output: any StreamOutput) {
    self.outputs.withLock { $0?.removeAll { $0 === output } }
  }

  /// Announces the codec configuration of the samples that follow.
  func describe(_ description: CodecDescription) {
    self.announcements.withLock { _ in
      self.state.withLock { $0.latest[description.kind] = description }
      for output in self.outputs.withLock({ $0 }) ?? [] { output.descriptionChanged(to: description) }
    }
  }

  func broadcast(_ sample: EncodedSample) {
    for output in self.outputs.withLock({ $0 }) ?? [] {
      output.consume(sample)
    }
    if sample.kind == .audio { self.shared.renditions.consumeAudio(sample) }
  }

  /// Outputs video of a generation, unless that is over: frames became private while it was encoded. The frames after a
  /// lost one refer to it, so that none is output before the next keyframe.
  func broadcast(_ video: EncodedSample, generation: Int) {
    let isOutput = self.awaitsKeyframe.withLock { awaitsKeyframe in
      guard self.shared.renditions.generation == generation, video.isKeyframe || !awaitsKeyframe else {
        awaitsKeyframe = true
        return false
      }
      awaitsKeyframe = false
      self.broadcast(video)
      return true
    }
    if !isOutput { self.requestKeyframe() }
  }

  /// Discards frames and segments that outputs have kept, and what is being encoded.
  func discardEarlier() {
    self.awaitsKeyframe.withLock { _ in
      self.shared.snapshots.discardEarlier(to: self.shared.renditions.discardEarlier())
      for output in self.outputs.withLock({ $0 }) ?? [] { output.discardEarlier() }
    }
  }

  func broadcast(_ metadata: TimedFrameMetadata) {
    for output in self.outputs.withLock({ $0 }) ?? [] {
      output.consume(metadata)
    }
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
    let outputs = self.outputs.withLock { $0.take() }
    for output in outputs ?? [] { output.streamEnded() }
  }
}
