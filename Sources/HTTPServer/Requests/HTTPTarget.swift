internal import Authentication
internal import Media

/// A request target: the decoded path segments and the query, RFC 9110 §7.1 and RFC 3986 §3.3.
///
/// Rejects segments that are empty, `.` or `..`, or contain a slash, a backslash or a control character, encoded or not: a
/// proxy or cache in front of the server may interpret these differently.
package struct HTTPTarget: Hashable, Sendable {
  /// Reason for rejecting a target.
  package enum Failure: Error, Hashable {
    /// 400, with the reason.
    case malformed(String)
    /// 404: an empty segment, which no name contains.
    case notFound
  }

  /// The path segments, percent-decoded.
  package let components: [String]
  /// Whether the path, other than `/`, ends in a slash.
  package let hasTrailingSlash: Bool
  /// The query without its question mark, not decoded; empty without one.
  package let query: String
  /// Path of the server's root at a known reverse proxy, such as `/cam`, in the form of ``prefix(parsing:)``; nil where none is
  /// named.
  package var prefix: String?

  /// Parses the origin form (path and query) or the absolute form sent to proxies.
  package init(parsing text: String) throws(Failure) {
    var rest = text[...]
    if rest.utf8.first != UInt8(ascii: "/") {
      // The authority of the absolute form is ignored, RFC 9112 §3.2.2.
      guard let scheme = rest.firstRange(of: "://"),
        ["http", "https"].contains(rest[..<scheme.lowerBound].lowercased())
      else { throw .malformed("the path must start with a slash") }
      rest = rest[scheme.upperBound...]
      let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
      rest = rest[end...]
    }
    if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
    var query = ""
    if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
      query = String(rest[rest.utf8.index(after: mark)...])
      rest = rest[..<mark]
    }
    self.query = query
    var parts = rest.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    self.hasTrailingSlash = parts.count > 1 && parts.last?.isEmpty == true
    if parts.last?.isEmpty == true { parts.removeLast() }
    var components: [String] = []
    for part in parts { components.append(try Self.decode(part)) }
    self.components = components
  }

  /// The decoded value of a query parameter; nil when it is absent or malformed.
  package func parameter(_ name: String) -> String? {
    for pair in self.query.utf8.split(separator: UInt8(ascii: "&")) {
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      guard pair[..<equals].elementsEqual(name.utf8) else { continue }
      let value = pair[equals...].dropFirst().map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
      return Self.percentDecoded(value).flatMap { String(validating: $0, as: UTF8.self) }
    }
    return nil
  }

  /// Whether the `uri` of a Digest response is the request target, RFC 7616 §3.4.6; proxies may use the absolute form.
  package static func isSame(_ proven: String, _ requested: String) -> Bool {
    if proven == requested { return true }
    guard let proven = try? HTTPTarget(parsing: proven), let requested = try? HTTPTarget(parsing: requested) else {
      return false
    }
    return proven == requested
  }

  private static func decode(_ part: Substring.UTF8View) throws(Failure) -> String {
    if part.isEmpty { throw .notFound }
    guard let bytes = Self.percentDecoded(part) else {
      throw .malformed("a percent sign without two hexadecimal digits in the path")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .malformed("the path is not UTF-8") }
    if text == "." || text == ".." { throw .malformed("the path contains a . or .. segment") }
    if bytes.contains(where: { $0.isControl || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }) {
      throw .malformed("an encoded slash, a backslash or a control character in the path")
    }
    return text
  }

  /// Percent-decodes, RFC 3986 §2.1; nil for a malformed escape.
  static func percentDecoded(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = iterator.next()?.hexadecimalValue, let low = iterator.next()?.hexadecimalValue else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}
