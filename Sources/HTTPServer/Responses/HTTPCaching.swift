internal import Authentication

/// The caching policy of a response, sent as `Cache-Control`, RFC 9111 §5.2.
package enum HTTPCaching: Hashable, Sendable {
  /// Cacheable for a year: the content of the path never changes.
  case immutable
  /// Cacheable for a number of seconds.
  case seconds(Int)
  /// Cacheable for a number of seconds in shared caches, and for one second in those of browsers.
  case shared(Int)
  /// Cacheable, revalidated on each use by its entity tag.
  case revalidated
  /// Not stored.
  case never
  /// A literal value.
  case other(String)

  /// The value of `Cache-Control`.
  ///
  /// - Parameter isPrivate: Whether a password is required or credentials were sent, so that shared caches must not store the
  ///   response.
  func text(isPrivate: Bool) -> String {
    let scope = isPrivate ? "private" : "public"
    return switch self {
    case .immutable: "\(scope), max-age=31536000, immutable"
    case .seconds(let seconds): "\(scope), max-age=\(seconds)"
    case .shared(let seconds): isPrivate ? "private, max-age=1" : "public, max-age=1, s-maxage=\(seconds)"
    case .revalidated: "\(scope), no-cache"
    case .never: "no-store"
    case .other(let text): isPrivate && !text.contains("private") ? "private, \(text)" : text
    }
  }
}

/// Comparison of entity tags for `If-None-Match`, RFC 9110 §13.1.2.
package enum EntityTag {
  /// Returns the first tag of `If-None-Match` that matches `etag` or its gzip form; nil when none does.
  ///
  /// A 304 response carries the returned tag, so that a cache finds the stored response to update, RFC 9111 §4.3.4.
  package static func match(_ value: String?, _ etag: String) -> String? {
    guard let value, value.utf8.count <= 4096 else { return nil }
    if value.trimmingSpace() == "*" { return etag }
    let forms = [etag, Self.gzipped(etag)]
    for tag in value.splitOutsideQuotes(UInt8(ascii: ",")) {
      let strong = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
      if forms.contains(strong) { return strong }
    }
    return nil
  }

  /// The entity tag of the gzip form, which has different bytes and so needs a different tag.
  static func gzipped(_ etag: String) -> String {
    etag.hasSuffix("\"") ? "\(etag.dropLast())-gzip\"" : etag
  }
}
