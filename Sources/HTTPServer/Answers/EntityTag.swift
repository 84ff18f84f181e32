internal import Authentication

/// Compares the `ETag` of what there is with what a client has, RFC 9110 §13.1.2.
enum EntityTag {
  /// Whether one of the tags of `If-None-Match` is this one, also in its compressed form.
  static func matches(_ value: String?, _ etag: String) -> Bool {
    guard let value, value.utf8.count <= 4096 else { return false }
    if value.trimmingSpace() == "*" { return true }
    return value.splitOutsideQuotes(UInt8(ascii: ",")).contains { tag in
      let strong = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
      return strong == etag || strong == Self.gzipped(etag)
    }
  }

  /// The tag of the same content compressed: other bytes have another tag.
  static func gzipped(_ etag: String) -> String {
    etag.hasSuffix("\"") ? "\(etag.dropLast())-gzip\"" : etag
  }
}
