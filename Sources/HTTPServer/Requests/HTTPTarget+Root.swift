internal import Media

/// References to resources of this server, RFC 3986 §4.2, from the resource of a request.
///
/// Behind a reverse proxy the server's root may be below a path: the proxy receives `/cam/live` and forwards `/live`. A relative
/// reference is right below every path, also where no proxy names it.
extension HTTPTarget {
  /// Maximum length of a ``prefix``, in bytes.
  static let maximumPrefixLength = 256

  /// Reference to the server's root, with a slash at the end: `./`, `../` for each folder of the path, or the known prefix.
  package var root: String {
    if let prefix { return prefix + "/" }
    let depth = self.components.count - (self.hasTrailingSlash ? 0 : 1)
    return depth > 0 ? String(repeating: "../", count: depth) : "./"
  }

  /// Returns a reference to a path of this server.
  ///
  /// The reference goes up to the root, also where a shorter one exists: OBS replaces the path of its request by the value of
  /// `Location`, and curl then removes leading `..` segments, RFC 3986 §5.2.4, so that `../live/whip/ID` is right for it too.
  ///
  /// - Parameter path: Percent-encoded, with the first slash, without `.` and `..` segments.
  package func reference(to path: String) -> String {
    self.root + path.drop { $0 == "/" }
  }

  /// Parses the path at which a proxy has the server's root, such as `/cam` or `/cam/`.
  ///
  /// Only a path-absolute is one (RFC 3986 §3.3) without `//`, `.` and `..` segments, query, fragment, comma (several proxies) and
  /// control characters, encoded or not, of at most ``maximumPrefixLength`` bytes.
  ///
  /// - Returns: The path without a slash at the end, with all but unreserved characters percent-encoded; nil for `/` and any other
  ///   text.
  package static func prefix(parsing text: String) -> String? {
    guard text.utf8.count <= Self.maximumPrefixLength, text.utf8.first == UInt8(ascii: "/"),
      !text.utf8.contains(where: { [UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ",")].contains($0) }),
      let path = try? HTTPTarget(parsing: text), !path.components.isEmpty
    else { return nil }
    return "/" + PercentEncoding.encode(path.components.joined(separator: "/"), keepsSlashes: true)
  }
}
