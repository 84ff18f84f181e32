internal import Bitstreams
package import Media
internal import Synchronization

/// Media of one publisher for a ``PublishedInput``, from `begin` to ``end(error:)``. Its methods say whether the publisher still has the
/// stream: another one displaces it when it is silent.
///
/// The session of a publisher's connection calls it, on any thread:
///
/// ```swift
/// guard let publication = input.begin() else { return refuse() }
/// guard publication.receive(depacketizer.depacketize(message)) else { return close() }
/// publication.end()
/// ```
package struct Publication: Sendable {
  private let input: PublishedInput
  private let id: PublisherSlot.ID

  /// The publication that has an input's slot.
  init(of input: PublishedInput, id: PublisherSlot.ID) {
    self.input = input
    self.id = id
  }

  /// Lets a publisher that sends faster than in real time be held back: its samples wait for their times from now on, and its owner
  /// asks for ``holdTime`` and stops receiving meanwhile.
  package func holdsBack() {
    self.input.state.withLock { state in
      if state.slot.handleActivity(of: self.id, at: self.input.now()) { state.timeline.restart(.published) }
    }
  }

  /// The time for which nothing is to be received of a publisher that sends faster than in real time; nil for others.
  package var holdTime: MediaDuration? {
    let now = self.input.now()
    return self.input.state.withLock { state in
      guard let span = state.timeline.bufferedSpan, let latest = state.latest,
        state.slot.handleActivity(of: self.id, at: now)
      else { return nil }
      let excess = latest - now - span
      // In few steps, which wake the connection; silent for longer, another publisher would displace it.
      if excess > .zero { return min(excess + .seconds(1), PublishedInput.maximumHoldTime) }
      return state.run?.buffer.isHalfFull ?? false ? .milliseconds(100) : nil
    }
  }

  /// Passes what a packet or message of the publisher contains to the consumer; nothing too, which shows that the publisher sends.
  ///
  /// - Returns: Whether the publisher still has the stream.
  package func receive(_ contents: [ReceivedMedia]) -> Bool {
    guard !contents.isEmpty else {
      return self.input.state.withLock { $0.slot.handleActivity(of: self.id, at: self.input.now()) }
    }
    return contents.allSatisfy { media in
      switch media {
      case .description(let description): self.describe(description)
      case .sample(let sample): self.consume(sample)
      case .unsupported(.video, let codec): self.append(.videoWaits(.unsupportedCodec(codec)))
      case .unsupported(.audio, let codec): self.append(.noAudio(.unsupportedCodec(codec)))
      case .missingKeyframe(let count): self.append(.videoWaits(.missingStart(of: "publisher", dropped: count)))
      }
    }
  }

  /// Sets a track's first or new codec configuration.
  ///
  /// - Returns: Whether the publisher still has the stream.
  package func describe(_ description: CodecDescription) -> Bool {
    self.describe(codec: PublishedCodec(description))
  }

  /// Sets a track's first or new codec.
  ///
  /// - Returns: Whether the publisher still has the stream.
  package func describe(codec changed: PublishedCodec) -> Bool {
    self.input.state.withLock { state in
      guard state.slot.handleActivity(of: self.id, at: self.input.now()) else { return false }
      // The other track goes on as it is: a new one would wait for its next keyframe.
      var codecs = TrackCodecs(handling: self.input.handling, source: self.input.name)
      switch changed.kind {
      case .video:
        guard state.video != changed else { return true }
        (state.video, codecs.video) = (changed, changed)
        state.group.removeAll()
      case .audio:
        guard state.audio != changed else { return true }
        (state.audio, codecs.audio) = (changed, changed)
      }
      state.run?.buffer.appendChange(codecs)
      return true
    }
  }

  /// Buffers a sample, whose times are on the publisher's clock, for the consumer.
  ///
  /// - Returns: Whether the publisher still has the stream.
  package func consume(_ sample: EncodedSample) -> Bool {
    let now = self.input.now()
    return self.consume(sample, now: now) { timeline in
      timeline.map(
        sample.kind, decode: sample.decodeTime.nanoseconds, presentation: sample.presentationTime.nanoseconds,
        arrival: now)
    }
  }

  /// Buffers a sample, whose times are on the stream's clock, for the consumer.
  ///
  /// - Returns: Whether the publisher still has the stream.
  package func consumeTimed(_ sample: EncodedSample) -> Bool {
    self.consume(sample, now: self.input.now()) { $0.accept(sample.kind, at: sample.presentationTime) }
  }

  private func consume(
    _ sample: EncodedSample, now: MediaTime,
    map: (inout SourceTimeline) -> SourceTimeline.Times
  ) -> Bool {
    var requestKeyframe: (@Sendable () -> Void)?
    let isAccepted = self.input.state.withLock { state in
      guard state.slot.handleActivity(of: self.id, at: now) else { return false }
      state.lastError = nil
      let times = map(&state.timeline)
      guard !state.timeline.skips(sample.kind, at: times, isKeyframe: sample.isKeyframe) else { return true }
      state.latest = max(state.latest ?? times.decode, times.decode)
      if sample.kind == .video { state.group.append(sample, times: times) }
      guard let run = state.run else { return true }
      if run.buffer.appendLive(NetworkPacket(sample, times: times)), sample.kind == .video {
        requestKeyframe = state.requestKeyframe
      }
      return true
    }
    requestKeyframe?()
    return isAccepted
  }

  private func append(_ item: PlayoutBuffer.Item) -> Bool {
    self.input.state.withLock { state in
      guard state.slot.handleActivity(of: self.id, at: self.input.now()) else { return false }
      if case .noAudio = item { state.audio = nil }
      state.run?.buffer.append(item)
      return true
    }
  }

  /// Ends a publication, unless another one has displaced it.
  ///
  /// - Parameter error: The reason that the owner is to know; nil when the publisher has ended it.
  package func end(error: VidiconError? = nil) {
    self.input.state.withLock { state in
      guard state.slot.end(self.id) else { return }
      (state.video, state.audio) = (nil, nil)
      state.requestKeyframe = nil
      state.group.removeAll()
      if let error, error == state.lastError { return }
      state.lastError = error
      state.run?.buffer.append(.lost(error ?? self.input.idle))
    }
  }
}
