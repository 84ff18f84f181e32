internal import Authentication

/// What a request is asked of: the parts of its path, decoded, and its query, RFC 9110 §4.2 and RFC 3986 §3.3.
///
/// Only paths in which a part is what it looks like: no part is empty or `.` or `..`, none holds a slash, a backslash or
/// a control character, also not encoded. Nothing here is a file, yet a cache in front may see it otherwise.
package struct HTTPTarget: Hashable, Sendable {
  /// Why a path is none.
  package enum Failure: Error, Hashable {
    /// 400, with the reason.
    case malformed(String)
    /// 404: an empty part; no stream and no file has one.
    case notFound
  }

  /// The parts, decoded.
  package let components: [String]
  /// Whether the path ends in a slash that is not its first.
  let hasTrailingSlash: Bool
  /// What follows the question mark; empty without one.
  let query: String

  /// Reads the target of a request: a path with a query, or an absolute address as proxies send it.
  package init(parsing text: String) throws(Failure) {
    var rest = text[...]
    if rest.utf8.first != UInt8(ascii: "/") {
      // Only the path of an absolute address counts, RFC 9112 §3.2.2.
      guard let scheme = rest.firstRange(of: "://"),
        ["http", "https"].contains(rest[..<scheme.lowerBound].lowercased())
      else { throw .malformed("a path starts with a slash") }
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

  /// The value of a parameter of the query, decoded; nil when it is not there or does not decode.
  package func parameter(_ name: String) -> String? {
    for pair in self.query.utf8.split(separator: UInt8(ascii: "&")) {
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      guard pair[..<equals].elementsEqual(name.utf8) else { continue }
      let value = pair[equals...].dropFirst().map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
      return Self.percentDecoded(value).flatMap { String(validating: $0, as: UTF8.self) }
    }
    return nil
  }

  /// Whether the `uri` of a Digest proof is what is asked for, RFC 7616 §3.4.6; proxies write it as an absolute address.
  static func isSame(_ proven: String, _ asked: String) -> Bool {
    if proven == asked { return true }
    guard let proven = try? HTTPTarget(parsing: proven), let asked = try? HTTPTarget(parsing: asked) else {
      return false
    }
    return proven == asked
  }

  private static func decode(_ part: Substring.UTF8View) throws(Failure) -> String {
    if part.isEmpty { throw .notFound }
    guard let bytes = Self.percentDecoded(part) else { throw .malformed("a percent sign without two digits") }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .malformed("a path that is not UTF-8") }
    if text == "." || text == ".." { throw .malformed("a path with dots for a part") }
    if bytes.contains(where: { $0.isControl || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }) {
      throw .malformed("a slash, backslash or control character inside a part of the path")
    }
    return text
  }

  /// Percent-decoding, RFC 3986 §2.1; nil for an escape that is none.
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
