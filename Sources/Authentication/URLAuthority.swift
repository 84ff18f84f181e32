package import Media

/// Host and port of a URL without a user, RFC 3986 §3.2.
package struct URLAuthority: Hashable, Sendable {
  /// The host, an IPv6 address without brackets.
  package var host: String
  /// The port, 1 to 65,535.
  package var port: UInt16

  /// Parses what stands between the slashes of a URL and its path.
  ///
  /// - Parameter defaultPort: The port where the text has none.
  /// - Throws: `.invalid` with the field `host` or `port`.
  package init(of text: Substring.UTF8View, defaultPort: UInt16) throws(ParsingError) {
    var host = text
    var port: Substring.UTF8View?
    if text.first == UInt8(ascii: "[") {
      guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else { throw ParsingError(.invalid, field: "host") }
      host = text[text.index(after: text.startIndex)..<bracket]
      let rest = text[text.index(after: bracket)...]
      guard host.contains(UInt8(ascii: ":")), rest.isEmpty || rest.first == UInt8(ascii: ":") else {
        throw ParsingError(.invalid, field: "host")
      }
      port = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    guard !host.isEmpty, !text.contains(UInt8(ascii: "@")),
      !host.contains(where: { "[]?#/\\\"<>^`{|}".utf8.contains($0) })
    else { throw ParsingError(.invalid, field: "host") }
    self.host = String(Substring(host))
    self.port = defaultPort
    guard let port else { return }
    guard let number = Substring(port).decimal(as: UInt16.self), number > 0 else {
      throw ParsingError(.invalid, field: "port")
    }
    self.port = number
  }

  /// Host and port as a URL has them, without the default port.
  package static func text(host: String, port: UInt16, defaultPort: UInt16) -> String {
    let host = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return port == defaultPort ? host : "\(host):\(port)"
  }
}
