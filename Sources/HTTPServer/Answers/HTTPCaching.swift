internal import HLS
internal import Media

/// The caching policy of a response, sent as `Cache-Control`, RFC 9111 §5.2.
enum HTTPCaching: Hashable, Sendable {
  /// Cacheable for a year: the content of the path never changes.
  case immutable
  /// Cacheable for a number of seconds.
  case seconds(Int)
  /// Cacheable, revalidated on each use by its entity tag.
  case revalidated
  /// Not stored.
  case never
  /// A literal value.
  case other(String)

  /// The policy of an HLS file, rounded down to whole seconds and at least one: with zero a cache would forward the playlist
  /// request of every viewer to the origin. RFC 8216bis advises half the target duration, which is one second here.
  init(_ caching: HLSContent.Caching) {
    switch caching {
    case .immutable: self = .immutable
    case .short(let time), .blocking(let time): self = .seconds(max(1, Int(time.nanoseconds / 1_000_000_000)))
    }
  }

  /// The value of `Cache-Control`.
  ///
  /// - Parameter isPrivate: Whether a password is required, so that shared caches must not store the response.
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
