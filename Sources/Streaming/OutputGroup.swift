internal import Effects
internal import Media
internal import Synchronization

/// The outputs of one encoding: of a stream's main rendition, or of another one. They get its video, the stream's audio and the
/// metadata of effects, each on one thread.
final class OutputGroup: Sendable {
  private struct Video {
    /// Lowest generation of frames that are output, see ``RenditionSet/generation``.
    var generation = 0
    /// Whether no frame is output until the next keyframe: those after a lost one refer to it.
    var awaitsKeyframe = false
    /// Codec configuration of the last sample.
    var description: CodecDescription?
  }

  /// Nil once the stream has ended.
  private let outputs = Mutex<[any StreamOutput]?>([])
  /// Locked while codec configurations are announced, so that an old one never follows a new one.
  private let announcing = Mutex(())
  private let announced = Mutex<[MediaKind: CodecDescription]>([:])
  /// Locked while video is output, so that none from before ``discardEarlier(_:)`` follows it, and none follows an end.
  private let video = Mutex(Video())
  /// Locked while audio is output.
  private let audio = Mutex(())

  private var all: [any StreamOutput] { self.outputs.withLock { $0 ?? [] } }

  /// Whether the stream has ended.
  var hasEnded: Bool { self.outputs.withLock { $0 == nil } }

  /// Codec configurations of the samples that follow, video first.
  var descriptions: [CodecDescription] {
    self.announced.withLock { announced in [announced[.video], announced[.audio]].compactMap(\.self) }
  }

  /// Whether another output has consumers.
  func hasConsumers(besides output: any StreamOutput) -> Bool {
    self.all.contains { $0 !== output && $0.hasConsumers }
  }

  /// Adds an output, after the codec configurations were announced to it; one that cannot be added is ended at once.
  ///
  /// - Parameter isOpen: Whether the encoding has samples for it; asked while no output can be added or ended.
  func add(_ output: any StreamOutput, where isOpen: () -> Bool = { true }) {
    let isAdded = self.announcing.withLock { _ in
      if self.hasEnded { return false }
      for description in self.descriptions { output.descriptionChanged(to: description) }
      return self.outputs.withLock { outputs in
        guard outputs != nil, isOpen() else { return false }
        outputs?.append(output)
        return true
      }
    }
    if !isAdded { output.streamEnded() }
  }

  /// Removes an output; it may still get samples that are being output.
  func remove(_ output: any StreamOutput) {
    self.outputs.withLock { $0?.removeAll { $0 === output } }
  }

  /// Announces the codec configuration of the samples that follow, unless it is the last one.
  func announce(_ description: CodecDescription) {
    self.announcing.withLock { _ in
      let isNew = self.announced.withLock { announced in
        if announced[description.kind] == description { return false }
        announced[description.kind] = description
        return true
      }
      guard isNew else { return }
      for output in self.all { output.descriptionChanged(to: description) }
    }
  }

  /// Outputs a sample of the video, after its codec configuration where that has changed.
  ///
  /// - Parameter generation: ``RenditionSet/generation`` before its frame was released.
  /// - Returns: False for a sample that is not output: frames became private while it was encoded, or it refers to one that was not
  ///   output. The next keyframe is.
  func consumeVideo(_ sample: EncodedSample, of description: CodecDescription, generation: Int) -> Bool {
    self.video.withLock { video in
      if description != video.description {
        video.description = description
        self.announce(description)
      }
      guard generation >= video.generation, sample.isKeyframe || !video.awaitsKeyframe else {
        video.awaitsKeyframe = true
        return false
      }
      video.awaitsKeyframe = false
      for output in self.all { output.consume(sample) }
      return true
    }
  }

  /// Outputs a sample of the stream's audio.
  func consumeAudio(_ sample: EncodedSample) {
    self.audio.withLock { _ in
      for output in self.all { output.consume(sample) }
    }
  }

  /// Outputs the metadata of a frame, before its sample.
  func consume(_ metadata: TimedFrameMetadata) {
    self.video.withLock { _ in
      for output in self.all { output.consume(metadata) }
    }
  }

  /// Discards what outputs have kept of earlier generations, and what is being encoded.
  ///
  /// - Parameter beginGeneration: Begins a generation and returns its number; called while no video is output, so that the keyframe by
  ///   which it begins is not discarded.
  func discardEarlier(_ beginGeneration: () -> Int) {
    self.video.withLock { video in
      video.generation = beginGeneration()
      for output in self.all { output.discardEarlier() }
    }
  }

  /// Ends the outputs. Others can be added, such as to an encoder that is opened again.
  func endOutputs() {
    self.end(leaving: [])
  }

  /// Ends the outputs: the stream has ended.
  func end() {
    self.end(leaving: nil)
  }

  private func end(leaving rest: [any StreamOutput]?) {
    let ended = self.video.withLock { _ in
      self.audio.withLock { _ in
        self.announcing.withLock { _ in
          self.outputs.withLock { outputs in
            defer { if outputs != nil { outputs = rest } }
            return outputs ?? []
          }
        }
      }
    }
    for output in ended { output.streamEnded() }
  }
}
