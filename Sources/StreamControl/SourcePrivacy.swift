internal import Effects
internal import Streaming
internal import Synchronization
internal import Threading

/// Finds streams that show a source with privacy, or have shown it: no other stream may be switched to it without, and those
/// that show it already cover faces too. A source is free again once its stream covers no faces any more, or has ended.
package final class SourcePrivacy: Sendable {
  /// A stream that covers the faces of a source.
  struct Hiding: Hashable {
    /// Name of the stream.
    var stream: String
    /// Smallest face that is covered, relative to the frame's shorter side.
    var minimumFace: Double
  }

  /// A source that a stream has shown with privacy, and may have left since.
  private struct Memory: Sendable {
    var source: IdentifiedSource
    weak var stream: LiveStream?
  }

  /// A mask over whole frames of a stream, until its effects cover faces or no other stream hides its source.
  private struct Cover: Sendable {
    weak var stream: LiveStream?
    let mask: PrivacyMask
  }

  private struct Weak<Object: AnyObject & Sendable>: Sendable {
    weak var object: Object?
  }

  private struct State: Sendable {
    var sources: [Weak<StreamSources>] = []
    var effects: [Weak<StreamEffects>] = []
    var covers: [Cover] = []
    var memories: [Memory] = []

    /// The sources of each stream.
    var all: [StreamSources] { self.sources.compactMap(\.object) }

    func effects(of stream: LiveStream) -> StreamEffects? {
      self.effects.compactMap(\.object).first { $0.stream === stream }
    }

    /// Faces that a stream hides by its own settings, not because another one does; nil without privacy.
    func ownHiding(of stream: LiveStream) -> Hiding? {
      guard !stream.hasEnded else { return nil }
      let effects = self.effects(of: stream)
      if let effects, effects.isHiding { return Hiding(stream: stream.name, minimumFace: effects.minimumFace) }
      let isHiding = stream.effects.contains { $0.isPrivacy && !$0.isImposed && !(effects?.owns($0) ?? false) }
      return isHiding ? Hiding(stream: stream.name, minimumFace: Double(PrivacyMask.defaultMinimumFace)) : nil
    }

    /// Remembers the sources that streams with privacy show now, and forgets the sources of streams without privacy.
    mutating func remember() {
      let hiding = self.all.filter { self.ownHiding(of: $0.stream) != nil }
      // Of a source that was left, no more is found out: it is not taken for any other one.
      for index in self.memories.indices {
        let (source, stream) = (self.memories[index].source, self.memories[index].stream)
        guard !source.isComplete,
          !hiding.contains(where: { $0.stream === stream && $0.shownVideo.video == source.video })
        else { continue }
        self.memories[index].source = IdentifiedSource(source.video, identity: source.identity, isComplete: true)
      }
      let now = hiding.map { Memory(source: $0.shownVideo, stream: $0.stream) }.filter { !$0.source.identity.isEmpty }
      self.memories.removeAll { memory in
        !hiding.contains { $0.stream === memory.stream }
          || now.contains { $0.stream === memory.stream && $0.source.includes(memory.source) }
      }
      self.memories += now
    }

    /// The sources that other streams hide from a stream: those that they have shown, and those to which they are being
    /// switched.
    private func hidden(from stream: LiveStream) -> [(source: IdentifiedSource, hiding: Hiding)] {
      self.all.filter { $0.stream !== stream }.flatMap { other in
        guard let hiding = self.ownHiding(of: other.stream) else {
          return [(source: IdentifiedSource, hiding: Hiding)]()
        }
        let shown = self.memories.filter { $0.stream === other.stream }.map(\.source)
        return (shown + other.nextVideos).map { ($0, hiding) }
      }
    }

    /// The strictest of the other streams that hide one of these sources from a stream; nil for none.
    func hiding(_ sources: [IdentifiedSource], from stream: LiveStream) -> Hiding? {
      self.hidden(from: stream).filter { hidden in
        sources.contains { $0.identity.isSame(as: hidden.source.identity) }
      }.map(\.hiding).min { ($0.minimumFace, $0.stream) < ($1.minimumFace, $1.stream) }
    }

    /// Whether other streams hide what a stream shows, or will show when a switch ends, or may do so as far as is known yet.
    func isToBeCovered(_ stream: LiveStream) -> Bool {
      guard let sources = self.all.last(where: { $0.stream === stream }), !stream.hasEnded else { return false }
      let shown = sources.shownVideos
      return self.hidden(from: stream).contains { hidden in shown.contains { $0.couldBe(hidden.source) } }
    }

    /// Adds a mask over whole frames to effects of a stream none of which covers faces.
    mutating func cover(_ stream: LiveStream, in effects: inout [any VideoEffect]) {
      guard !effects.contains(where: { $0.isPrivacy }) else { return }
      self.covers.removeAll { $0.stream === stream || $0.stream.map(\.hasEnded) ?? true }
      let mask = PrivacyMask.imposed()
      self.covers.append(Cover(stream: stream, mask: mask))
      effects.append(mask)
    }
  }

  /// The streams of this process, where their owner gives no others.
  package static let shared = SourcePrivacy()

  /// Streams of which none is added yet.
  package init() {}

  private let state = Mutex(State())
  /// One ``update()`` at a time.
  private let updates = AsyncMutex()
  /// Whether a further ``update()`` waits, since names could not be found out.
  private let isWaiting = Mutex(false)
  /// Time after which names that could not be found out are looked for again.
  private static let retryInterval = Duration.seconds(15)

  /// Adds the sources of a stream, while they exist.
  func add(_ sources: StreamSources) {
    self.state.withLock { state in
      state.sources.removeAll { $0.object == nil }
      state.sources.append(Weak(object: sources))
    }
  }

  /// Adds the effects of a stream, while they exist.
  func add(_ effects: StreamEffects) {
    self.state.withLock { state in
      state.effects.removeAll { $0.object == nil }
      state.effects.append(Weak(object: effects))
    }
  }

  /// Runs a body with the state of one moment, in which the current sources of streams with privacy are remembered.
  private func locked<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let objects = self.state.withLock { ($0.all, $0.effects.compactMap(\.object)) }
    for sources in objects.0 { sources.followCapturer() }
    // None of them ends while the lock is held.
    return withExtendedLifetime(objects) {
      self.state.withLock { state in
        state.remember()
        return body(&state)
      }
    }
  }

  /// Name of another stream that hides a source: a stream with privacy that shows the source, or has shown it. nil where none
  /// does, or where `stream` has privacy too by its own settings.
  func streamHiding(_ source: SourceIdentity, from stream: LiveStream) -> String? {
    self.locked { state in
      guard state.ownHiding(of: stream) == nil else { return nil }
      return state.hiding([IdentifiedSource(nil, identity: source, isComplete: true)], from: stream)?.stream
    }
  }

  /// The strictest of the other streams that hide a stream's video source, or another one of a switch under way, by their own
  /// settings; nil for none.
  func hiding(_ stream: LiveStream) -> Hiding? {
    self.locked { state in
      let sources = state.all.last { $0.stream === stream }
      return state.hiding(sources?.shownVideos ?? [], from: stream)
    }
  }

  /// Whether a stream has privacy by its own settings.
  var hasPrivacy: Bool { self.locked { state in state.all.contains { state.ownHiding(of: $0.stream) != nil } } }

  /// Finds out what the names of sources refer to, as far as that takes time, where a stream has privacy.
  ///
  /// - Parameter again: Whether addresses that could not be looked up are looked up again.
  package func identifySources(again: Bool = false) async {
    guard self.hasPrivacy else { return }
    for sources in self.state.withLock({ $0.all }) { await sources.identifyVideo(again: again) }
  }

  /// Covers faces in all streams that show openly what another one hides, and shows them where none does any more. Whole
  /// frames are covered from the start of this call until the models are ready; and until the next change where they
  /// cannot be used.
  package func update() async {
    self.cover()
    // Goes on without its caller: a request whose client is gone must not leave a stream covered.
    await Task {
      guard await self.updates.lock() else { return }
      defer { self.updates.unlock() }
      await self.identifySources()
      self.cover()
      for sources in self.state.withLock({ $0.all }) where !sources.stream.hasEnded {
        try? await self.state.withLock { $0.effects(of: sources.stream) }?.follow()
        self.uncover(sources.stream)
      }
      self.retry()
    }.value
  }

  /// Looks again, later, for names that could not be found out: another stream may show the same source under another name.
  private func retry() {
    guard self.hasPrivacy,
      self.state.withLock({ $0.all }).contains(where: { sources in
        !sources.stream.hasEnded && !sources.shownVideos.allSatisfy(\.isFinal)
      })
    else { return }
    let isFirst = self.isWaiting.withLock { isWaiting in
      defer { isWaiting = true }
      return !isWaiting
    }
    guard isFirst else { return }
    Task {
      try? await Task.sleep(for: Self.retryInterval)
      self.isWaiting.withLock { $0 = false }
      // No change of sources or effects waits for this.
      await self.identifySources(again: true)
      await self.update()
    }
  }

  /// Covers, before it returns, whole frames of streams that show openly what another one hides, or may do so as far as is
  /// known yet.
  package func cover() {
    self.locked { state in
      for stream in state.all.map(\.stream) where state.isToBeCovered(stream) {
        // A change of effects, even to the same ones, draws a frame again.
        guard !stream.effects.contains(where: { $0.isPrivacy }) else { continue }
        stream.changeAllEffects { state.cover(stream, in: &$0) }
      }
    }
  }

  /// Changes the effects of a stream, and covers its whole frames in the same step where another one hides what it shows and
  /// none of its new effects covers faces.
  func changeEffects(of stream: LiveStream, _ body: (inout [any VideoEffect]) -> Void) {
    self.locked { state in
      let isToBeCovered = state.isToBeCovered(stream)
      stream.changeAllEffects { effects in
        body(&effects)
        if isToBeCovered { state.cover(stream, in: &effects) }
      }
    }
  }

  /// Removes the mask over whole frames where another one covers faces, or the source is not hidden.
  private func uncover(_ stream: LiveStream) {
    self.locked { state in
      guard let cover = state.covers.first(where: { $0.stream === stream })?.mask else { return }
      let isToBeCovered = state.isToBeCovered(stream)
      stream.changeAllEffects { effects in
        let others = effects.filter { $0 !== cover }
        guard !isToBeCovered || others.contains(where: { $0.isPrivacy }) else { return }
        effects = others
        state.covers.removeAll { $0.mask === cover }
      }
    }
  }
}
