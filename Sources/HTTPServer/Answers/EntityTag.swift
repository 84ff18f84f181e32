internal import Authentication

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
