internal import HLS
internal import Media

/// What `Cache-Control` says of an answer, RFC 9111 §5.2.
enum HTTPCaching: Hashable, Sendable {
  /// For ever: another file never has this name.
  case immutable
  /// Whole seconds.
  case seconds(Int)
  /// It may be kept, and is asked for each time by its tag.
  case revalidated
  /// Never.
  case never
  /// As who made the file says.
  case other(String)

  /// The caching that HLS wants. Caches count whole seconds, and a playlist that may be kept for none costs the origin a
  /// request for each viewer; the target duration of one second, of which half is advised, becomes one second.
  init(_ caching: HLSContent.Caching) {
    switch caching {
    case .immutable: self = .immutable
    case .short(let time), .blocking(let time): self = .seconds(max(1, Int(time.nanoseconds / 1_000_000_000)))
    }
  }

  /// The header's value.
  ///
  /// - Parameter isPrivate: Whether a password is needed, so that a shared cache must not hand it to others.
  func text(isPrivate: Bool) -> String {
    let scope = isPrivate ? "private" : "public"
    return switch self {
    case .immutable: "\(scope), max-age=31536000, immutable"
    case .seconds(let seconds): "\(scope), max-age=\(seconds)"
    case .revalidated: "\(scope), no-cache"
    case .never: "no-store"
    case .other(let text): isPrivate && !text.contains("private") ? "private, \(text)" : text
    }
  }
}
