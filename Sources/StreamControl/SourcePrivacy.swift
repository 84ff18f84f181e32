internal import Effects
internal import Streaming
internal import Synchronization

/// Finds streams that show a source with privacy: no other stream may be switched to it without, and those that show it
/// already cover faces too.
package final class SourcePrivacy: Sendable {
  /// A stream that covers the faces of a source.
  struct Hiding: Hashable {
    /// Name of the stream.
    var stream: String
    /// Smallest face that is covered, relative to the frame's shorter side.
    var minimumFace: Double
  }

  private struct State {
    var sources: [Weak<StreamSources>] = []
    var effects: [Weak<StreamEffects>] = []
    /// Masks over whole frames, until the effects of a stream cover faces.
    var covers: [(stream: ObjectIdentifier, mask: PrivacyMask)] = []
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

  /// Name of another stream that shows a source with privacy; nil where none does, or `stream` has privacy too.
  func streamHiding(_ source: String, from stream: LiveStream) -> String? {
    guard !Self.isPrivate(stream) else { return nil }
    return self.others(than: stream).first {
      Self.isPrivate($0.stream) && Self.areSame($0.video, source)
    }?.stream.name
  }

  /// The strictest of the other streams that show a stream's video source with privacy by their own settings; nil for none.
  func hiding(_ stream: LiveStream) -> Hiding? {
    guard let source = self.all.first(where: { $0.stream === stream })?.video else { return nil }
    return self.others(than: stream).compactMap { other in
      guard Self.areSame(other.video, source), !other.stream.hasEnded else { return nil }
      let effects = self.effects(of: other.stream)
      let smallest = Double(PrivacyMask.defaultMinimumFace)
      if let effects, effects.isHiding { return Hiding(stream: other.stream.name, minimumFace: effects.smallestFace) }
      let own = self.cover(of: other.stream)
      let isHiding = other.stream.effects.contains {
        $0.isPrivacy && $0 !== own && !(effects?.owns($0) ?? false)
      }
      return isHiding ? Hiding(stream: other.stream.name, minimumFace: smallest) : nil
    }.min { ($0.minimumFace, $0.stream) < ($1.minimumFace, $1.stream) }
  }

  /// Covers faces in all streams that show openly what another one hides, and shows them where none does any more. Whole
  /// frames are covered from the start of this call until the models are ready; and until the next change where they
  /// cannot be used.
  func update() async {
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

  /// Whether two names are those of one device, file or address, whatever their options; generated video is none.
  package static func areSame(_ first: String?, _ second: String?) -> Bool {
    func place(_ text: String?) -> Substring? {
      guard let text, SourceText(text).scheme != nil else { return nil }
      // Users and passwords are masked; another user's address is that of the same camera.
      let place = SourceText(text).shown(isOperator: true).prefix { $0 != "?" }
      return place.firstRange(of: "…@").map { place[..<$0.lowerBound] + place[$0.upperBound...] } ?? place
    }
    return place(first).map { $0 == place(second) } ?? false
  }
}
