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
  private struct Memory {
    let source: SourceIdentity
    weak var stream: LiveStream?
  }

  /// A mask over whole frames of a stream, until its effects cover faces or no other stream hides its source.
  private struct Cover {
    weak var stream: LiveStream?
    let mask: PrivacyMask
  }

  private struct State {
    var sources: [Weak<StreamSources>] = []
    var effects: [Weak<StreamEffects>] = []
    var covers: [Cover] = []
    var memories: [Memory] = []
  }

  private struct Weak<Object: AnyObject> {
    weak var object: Object?
  }

  /// The streams of this process.
  package static let shared = SourcePrivacy()

  private let state = Mutex(State())
  /// One ``update()`` at a time.
  private let updates = AsyncMutex()

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

  /// Name of another stream that hides a source: a stream with privacy that shows the source, or has shown it. nil where none
  /// does, or where `stream` has privacy too by its own settings.
  func streamHiding(_ source: SourceIdentity, from stream: LiveStream) -> String? {
    self.ownHiding(of: stream) != nil ? nil : self.hiding(source, from: stream)?.stream
  }

  /// The strictest of the other streams that hide a stream's video source, or the one to which it is being switched, by their own
  /// settings; nil for none.
  func hiding(_ stream: LiveStream) -> Hiding? {
    guard let sources = self.sources(of: stream) else { return nil }
    return sources.shownIdentities.compactMap { self.hiding($0, from: stream) }.min {
      ($0.minimumFace, $0.stream) < ($1.minimumFace, $1.stream)
    }
  }

  private func hiding(_ source: SourceIdentity, from stream: LiveStream) -> Hiding? {
    guard !source.isEmpty else { return nil }
    self.remember()
    let memories = self.state.withLock { $0.memories }
    return self.others(than: stream).compactMap { other in
      let isHidden = memories.contains { $0.stream === other.stream && $0.source.isSame(as: source) }
      return isHidden ? self.ownHiding(of: other.stream) : nil
    }.min { ($0.minimumFace, $0.stream) < ($1.minimumFace, $1.stream) }
  }

  /// Whether a stream hides a source.
  var hidesSources: Bool { self.state.withLock { !$0.memories.isEmpty } }

  /// Remembers the sources that streams with privacy show now, and forgets the sources of streams without privacy.
  ///
  /// Call it before a stream leaves its source.
  func remember() {
    let hiding = self.all.filter { self.ownHiding(of: $0.stream) != nil }
    let now = hiding.map { Memory(source: $0.videoIdentity, stream: $0.stream) }.filter { !$0.source.isEmpty }
    self.state.withLock { state in
      state.memories.removeAll { memory in
        !hiding.contains { $0.stream === memory.stream }
          || now.contains { $0.stream === memory.stream && $0.source == memory.source }
      }
      state.memories += now
    }
  }

  /// Faces that a stream hides by its own settings, not because another one does; nil without privacy.
  private func ownHiding(of stream: LiveStream) -> Hiding? {
    guard !stream.hasEnded else { return nil }
    let effects = self.effects(of: stream)
    if let effects, effects.isHiding { return Hiding(stream: stream.name, minimumFace: effects.minimumFace) }
    let own = self.cover(of: stream)
    let isHiding = stream.effects.contains { $0.isPrivacy && $0 !== own && !(effects?.owns($0) ?? false) }
    return isHiding ? Hiding(stream: stream.name, minimumFace: Double(PrivacyMask.defaultMinimumFace)) : nil
  }

  /// Finds out what the names of sources refer to, as far as that takes time, where a stream has privacy.
  package func identifySources() async {
    guard self.all.contains(where: { self.ownHiding(of: $0.stream) != nil }) else { return }
    for sources in self.all { await sources.identifyVideo() }
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
      for stream in self.all.map(\.stream) where !stream.hasEnded {
        try? await self.effects(of: stream)?.follow()
        self.uncover(stream)
      }
    }.value
  }

  /// Covers, before it returns, whole frames of streams that show openly what another one hides, or may do so as far as is
  /// known yet.
  package func cover() {
    self.remember()
    for sources in self.all where !sources.stream.hasEnded && self.isToBeCovered(sources) {
      let stream = sources.stream
      self.state.withLock { state in
        state.covers.removeAll { $0.stream.map(\.hasEnded) ?? true }
        guard !Self.isPrivate(stream), !state.covers.contains(where: { $0.stream === stream }) else { return }
        let mask = PrivacyMask()
        state.covers.append(Cover(stream: stream, mask: mask))
        stream.changeEffects { $0.append(mask) }
      }
    }
  }

  private func isToBeCovered(_ sources: StreamSources) -> Bool {
    if self.hiding(sources.stream) != nil { return true }
    guard !sources.isVideoIdentified else { return false }
    let identity = sources.videoIdentity
    let memories = self.state.withLock { $0.memories }
    return memories.contains { $0.stream !== sources.stream && $0.source.couldBe(identity) }
  }

  /// Removes the mask over whole frames where another one covers faces, or the source is not hidden.
  private func uncover(_ stream: LiveStream) {
    guard let cover = self.cover(of: stream) else { return }
    let isToBeCovered = self.sources(of: stream).map { self.isToBeCovered($0) } ?? false
    self.state.withLock { state in
      stream.changeEffects { effects in
        let others = effects.filter { $0 !== cover }
        guard !isToBeCovered || others.contains(where: { $0.isPrivacy }) else { return }
        effects = others
        state.covers.removeAll { $0.mask === cover }
      }
    }
  }

  private var all: [StreamSources] { self.state.withLock { $0.sources.compactMap(\.object) } }

  private func others(than stream: LiveStream) -> [StreamSources] { self.all.filter { $0.stream !== stream } }

  private func sources(of stream: LiveStream) -> StreamSources? { self.all.last { $0.stream === stream } }

  private func effects(of stream: LiveStream) -> StreamEffects? {
    self.state.withLock { $0.effects.compactMap(\.object) }.first { $0.stream === stream }
  }

  private func cover(of stream: LiveStream) -> PrivacyMask? {
    self.state.withLock { $0.covers.first { $0.stream === stream }?.mask }
  }

  private static func isPrivate(_ stream: LiveStream) -> Bool { stream.effects.contains { $0.isPrivacy } }
}
