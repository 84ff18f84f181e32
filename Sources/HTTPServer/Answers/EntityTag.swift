internal import Authentication

/// Compares the `ETag` of what there is with what a client has, RFC 9110 §13.1.2.
package enum EntityTag {
  /// The first tag of `If-None-Match` that is this one, plain or of the compressed form; nil when none is.
  ///
  /// The answer has the tag of the form that the client has: by it a cache finds what it may go on to keep (RFC 9111
  /// §4.3.4).
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

  /// The tag of the same content compressed: other bytes have another tag.
  static func gzipped(_ etag: String) -> String {
    etag.hasSuffix("\"") ? "\(etag.dropLast())-gzip\"" : etag
  }
}
