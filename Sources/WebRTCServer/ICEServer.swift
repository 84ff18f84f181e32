public import Media

/// A STUN or TURN server by which WebRTC clients get through their networks.
public struct ICEServer: Hashable, Sendable, CustomStringConvertible {
  /// URI of RFC 7064 or RFC 7065: `stun:HOST:PORT`, `turn:HOST:PORT?transport=tcp`.
  public var uri: String
  /// Name and password of TURN; every viewer gets them.
  public var credentials: Credentials?

  /// A name and its password.
  public struct Credentials: Hashable, Sendable {
    /// Name of the TURN account.
    public var user: String
    /// The password, which is in no message.
    public var password: String

    /// Creates credentials of a TURN account.
    public init(user: String, password: String) {
      self.user = user
      self.password = password
    }
  }

  /// Parses `stun:HOST[:PORT]`, `stuns:`, `turn:USER:PASSWORD@HOST[:PORT][?transport=udp]` or `turns:`; name and password may be
  /// percent-encoded.
  ///
  /// - Throws: ``VidiconError``, which does not repeat the text: it may have a password.
  public init(_ text: String) throws(VidiconError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, ["stun", "stuns", "turn", "turns"].contains(parts[0]) else {
      throw Self.failure("it does not begin with stun:, stuns:, turn: or turns:")
    }
    let isRelay = parts[0].hasPrefix("turn")
    var address = parts[1]
    if let end = address.lastIndex(of: "@") {
      let user = address[..<end].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard isRelay, user.count == 2, let name = Self.decoded(user[0]), let password = Self.decoded(user[1]) else {
        throw Self.failure("what is before @ is not USER:PASSWORD of a TURN server")
      }
      self.credentials = Credentials(user: name, password: password)
      address = address[address.index(after: end)...]
    }
    guard !isRelay || self.credentials != nil else { throw Self.failure("a TURN server needs USER:PASSWORD@") }
    let query = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard Self.isHost(query[0]), query.count == 1 || (isRelay && ["transport=udp", "transport=tcp"].contains(query[1]))
    else { throw Self.failure("its host, port or transport is malformed") }
    self.uri = "\(parts[0]):\(address)"
  }

  /// The URI, without credentials.
  public var description: String { self.uri }

  /// The value of a `Link` field, RFC 9725 §4.6.
  var link: String {
    var link = "<\(self.uri)>; rel=\"ice-server\""
    if let credentials {
      link += "; username=\"\(credentials.user)\"; credential=\"\(credentials.password)\"; credential-type=\"password\""
    }
    return link
  }

  /// Decodes percent-encoding; nil for an empty text, and one that a quoted string cannot have.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    let isPrintable = bytes.allSatisfy {
      (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    return (1...256).contains(bytes.count) && isPrintable ? String(decoding: bytes, as: UTF8.self) : nil
  }

  /// Whether a text is a host name or address, in brackets for IPv6, with an optional port.
  private static func isHost(_ text: Substring) -> Bool {
    var host = text
    if host.last != "]", let colon = host.lastIndex(of: ":") {
      guard let port = UInt16(host[host.index(after: colon)...]), port > 0 else { return false }
      host = host[..<colon]
    }
    if host.first == "[", host.last == "]" {
      return host.count > 2
        && host.dropFirst().dropLast().utf8.allSatisfy { "0123456789abcdefABCDEF:.".utf8.contains($0) }
    }
    let isName = host.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    return (1...255).contains(host.utf8.count) && isName
  }

  private static func failure(_ cause: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: "an ICE server", cause: cause,
      nextStep: "write stun:HOST[:PORT] or turn:USER:PASSWORD@HOST[:PORT][?transport=tcp]")
  }
}
