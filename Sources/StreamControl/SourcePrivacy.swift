internal import Effects
internal import Streaming
internal import Synchronization

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

  private struct State {
    var sources: [Weak<StreamSources>] = []
    var effects: [Weak<StreamEffects>] = []
    /// Masks over whole frames, until the effects of a stream cover faces.
    var covers: [(stream: ObjectIdentifier, mask: PrivacyMask)] = []
    var memories: [Memory] = []
  }

  private struct Weak<Object: AnyObject> {
    weak var object: Object?
  }

  /// The streams of this process.
  static let shared = SourcePrivacy()

  private let state = Mutex(State())

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

  /// Name of another stream that hides a source: it shows it with privacy, or has. nil where none does, or `stream` has
  /// privacy too.
  func streamHiding(_ source: SourceIdentity, from stream: LiveStream) -> String? {
    Self.isPrivate(stream) ? nil : self.hiding(source, from: stream)?.stream
  }

  /// The strictest of the other streams that hide a stream's video source by their own settings; nil for none.
  func hiding(_ stream: LiveStream) -> Hiding? {
    guard let sources = self.all.first(where: { $0.stream === stream }) else { return nil }
    return self.hiding(sources.videoIdentity, from: stream)
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

  /// Remembers what streams with privacy show now, and forgets what those without it have shown.
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
  func identifySources() async {
    guard self.all.contains(where: { self.ownHiding(of: $0.stream) != nil }) else { return }
    for sources in self.all { await sources.identifyVideo() }
  }

  /// Covers faces in all streams that show openly what another one hides, and shows them where none does any more. Whole
  /// frames are covered from the start of this call until the models are ready; and until the next change where they
  /// cannot be used.
  func update() async {
    await self.identifySources()
    self.remember()
    let streams = self.all.map(\.stream).filter { !$0.hasEnded }
    for stream in streams where self.hiding(stream) != nil && !Self.isPrivate(stream) {
      let mask = PrivacyMask()
      self.state.withLock { $0.covers.append((ObjectIdentifier(stream), mask)) }
      stream.effects.append(mask)
    }
    for stream in streams {
      try? await self.effects(of: stream)?.follow()
      guard let cover = self.cover(of: stream) else { continue }
      let others = stream.effects.filter { $0 !== cover }
      guard others.contains(where: { $0.isPrivacy }) || self.hiding(stream) == nil else { continue }
      stream.effects = others
      self.state.withLock { $0.covers.removeAll { $0.mask === cover } }
    }
  }

  private var all: [StreamSources] { self.state.withLock { $0.sources.compactMap(\.object) } }

  private func others(than stream: LiveStream) -> [StreamSources] { self.all.filter { $0.stream !== stream } }

  private func effects(of stream: LiveStream) -> StreamEffects? {
    self.state.withLock { $0.effects.compactMap(\.object) }.first { $0.stream === stream }
  }

  private func cover(of stream: LiveStream) -> PrivacyMask? {
    self.state.withLock { $0.covers.first { $0.stream == ObjectIdentifier(stream) }?.mask }
  }

  private static func isPrivate(_ stream: LiveStream) -> Bool { stream.effects.contains { $0.isPrivacy } }
}
