public import Authentication
public import Media

/// A user and password for a server that wants them within RTMP (`authmod`).
public struct RTMPLogin: Hashable, Sendable {
  /// The user's name, as the server knows it.
  public var user: String
  /// The user's password in plain text.
  public var password: Secret
}

/// The address of a stream at another server, `rtmp[s]://[USER:PASSWORD@]HOST[:PORT]/APP[/INSTANCE]/KEY[?QUERY]`.
///
/// The key is the last component with its query, and a secret: no description shows it, nor a password.
public struct RTMPURL: Hashable, Sendable {
  /// Whether the connection is encrypted: `rtmps`.
  public var isEncrypted: Bool
  /// The user and password, where they are in the URL; percent-encoded there.
  public var login: RTMPLogin?
  /// The host, an IPv6 address without brackets.
  public var host: String
  /// The port, 1 to 65,535; 1935 by default, 443 with encryption.
  public var port: UInt16
  /// The application: all components but the last; may be empty.
  public var application: String
  /// Query of the application with its question mark; empty without one. It may have a secret.
  public var applicationQuery: Secret
  /// The stream key with its query; empty when the path has one component only.
  public var key: Secret

  /// Parses a URL.
  ///
  /// - Throws: `.unsupported` for another scheme, `.invalid` for a malformed host or port, a user without a password, or control characters,
  ///   `.missing` without an application. No error contains the key.
  public init(parsing text: String) throws(ParsingError) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts.first.flatMap { String($0) } ?? ""
    switch true {
    case scheme.equalsIgnoringCase("rtmp"): self.isEncrypted = false
    case scheme.equalsIgnoringCase("rtmps"): self.isEncrypted = true
    default: throw ParsingError(.unsupported, field: "scheme", offset: 0)
    }
    guard parts.count == 2, parts[1].starts(with: "//".utf8) else { throw ParsingError(.invalid, field: "URL") }
    guard !text.utf8.contains(where: { $0.isControl || $0 == UInt8(ascii: " ") }) else {
      throw ParsingError(.invalid, field: "URL")
    }
    let rest = parts[1].dropFirst(2)
    let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    var authority = rest[..<end]
    if let mark = authority.lastIndex(of: UInt8(ascii: "@")) {
      self.login = try Self.login(Substring(authority[..<mark]))
      authority = authority[authority.index(after: mark)...]
    }
    let parsed = try URLAuthority(of: authority, defaultPort: self.isEncrypted ? 443 : 1935)
    (self.host, self.port) = (parsed.host, parsed.port)
    let path = rest[end...].drop { $0 == UInt8(ascii: "/") }
    guard !path.isEmpty else { throw ParsingError(.missing, field: "application") }
    // A slash in the query belongs to the key, unless none precedes the query: backup servers of YouTube have one for the
    // application, live2?backup=1/KEY.
    let mark = path.firstIndex(of: UInt8(ascii: "?")) ?? path.endIndex
    guard let slash = path[..<mark].lastIndex(of: UInt8(ascii: "/")) ?? path.lastIndex(of: UInt8(ascii: "/")) else {
      self.application = String(Substring(path[..<mark]))
      self.applicationQuery = Secret(String(Substring(path[mark...])))
      self.key = Secret("")
      return
    }
    let applicationEnd = min(mark, slash)
    self.application = String(Substring(path[..<applicationEnd]))
    self.applicationQuery = Secret(String(Substring(path[applicationEnd..<slash])))
    self.key = Secret(String(Substring(path[path.index(after: slash)...])))
  }

  /// The URL up to the application, for users.
  public var address: String {
    let authority = URLAuthority.text(host: self.host, port: self.port, defaultPort: self.isEncrypted ? 443 : 1935)
    return "\(self.isEncrypted ? "rtmps" : "rtmp")://\(authority)/\(self.application)"
  }

  /// The URL up to the application with its query, for `connect`: `tcUrl`.
  public var connectionURL: String { self.address + self.applicationQuery.text }

  /// The URL with an answer to its server in the query of the application.
  ///
  /// - Parameter query: The answer of `RTMPClientFailure.authentication`.
  public func authenticated(with query: Secret) -> RTMPURL {
    var url = self
    let separator = self.applicationQuery.isEmpty ? "?" : "&"
    url.applicationQuery = Secret(self.applicationQuery.text + separator + query.text)
    return url
  }

  /// The key and its parts, and the password, raw and decoded, in descending order of length: secrets that no report of a
  /// server's text may contain. Values of queries, those of the application included, are among them, unless they are so short
  /// that they are part of usual words.
  var secrets: [String] {
    let key = self.key.text
    var parts = [key, String(key.prefix { $0 != "?" })]
    for text in [key, self.applicationQuery.text] {
      guard let query = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
      else { continue }
      for pair in query.split(whereSeparator: { $0 == "&" || $0 == ";" }) {
        let value = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).last ?? pair
        if value.utf8.count >= 4 { parts.append(String(value)) }
      }
    }
    if let password = self.login?.password.text, password.utf8.count >= 4 { parts.append(password) }
    for part in parts {
      for text in [part, part.replacing("+", with: " ")] {
        if let decoded = Substring(text).percentDecoded { parts.append(decoded) }
      }
    }
    return Set(parts.filter { !$0.isEmpty }).sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
  }

  private static func login(_ text: Substring) throws(ParsingError) -> RTMPLogin {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(\.percentDecoded)
    // The user becomes a part of a query.
    guard parts.count == 2, let user = parts[0], let password = parts[1], !user.isEmpty, !password.isEmpty,
      !(user + password).utf8.contains(where: \.isControl), !user.utf8.contains(where: { "&?#= ".utf8.contains($0) })
    else { throw ParsingError(.invalid, field: "user") }
    return RTMPLogin(user: user, password: Secret(password))
  }
}
