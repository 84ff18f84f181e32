internal import Effects
internal import Streaming
internal import Synchronization

/// Finds streams that show a source with privacy: no other stream may be switched to it without.
package final class SourcePrivacy: Sendable {
  private struct Entry {
    weak var sources: StreamSources?
  }

  /// The streams of this process.
  static let shared = SourcePrivacy()

  private let entries = Mutex<[Entry]>([])

  /// Adds the sources of a stream, while they exist.
  func add(_ sources: StreamSources) {
    self.entries.withLock { entries in
      entries.removeAll { $0.sources == nil }
      entries.append(Entry(sources: sources))
    }
  }

  /// Name of another stream that shows a source with privacy; nil where none does, or `stream` has privacy too.
  func streamHiding(_ source: String, from stream: LiveStream) -> String? {
    guard !Self.isPrivate(stream) else { return nil }
    let others = self.entries.withLock { $0.compactMap(\.sources) }
    return others.first {
      $0.stream !== stream && Self.isPrivate($0.stream) && Self.areSame($0.video, source)
    }?.stream.name
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
