internal import Media

/// Name, password and role of a user.
public struct Credentials: Hashable, Sendable {
  /// A password, or what it can be verified with.
  public enum Password: Hashable, Sendable {
    /// The password itself; needed for Digest.
    case clear(Secret)
    /// A scrypt hash: valid for Basic and logins on the page.
    case scrypt(PasswordHash)
  }

  /// The name, without a colon.
  public let user: String
  /// The password; may contain colons.
  public let password: Password
  /// The role of the user.
  public var role: Role

  /// Credentials of a user.
  ///
  /// - Parameters:
  ///   - user: The name, without a colon.
  ///   - password: The password; a text in the form of a ``PasswordHash`` is one. A text that begins like one and is none, such
  ///     as a hash that was cut, is not usable: it would be a password that others have seen.
  ///   - role: The role of the user.
  public init(user: String, password: String, role: Role = .viewer) {
    self.user = user
    if let hash = try? PasswordHash(parsing: password) {
      self.password = .scrypt(hash)
    } else {
      self.password = .clear(Secret(password.hasPrefix("$scrypt$") ? "" : password))
    }
    self.role = role
  }

  /// Whether a client can log in: the name is not empty and has no colon, the password is not empty.
  public var isUsable: Bool {
    !self.user.isEmpty && !self.user.utf8.contains(UInt8(ascii: ":")) && self.password != .clear(Secret(""))
  }

  /// Parses `user:password`; nil without a colon or with an empty name.
  public init?(parsing text: String, role: Role = .viewer) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else { return nil }
    self.init(
      user: String(text[..<colon]), password: String(text[text.utf8.index(after: colon)...]), role: role)
  }

  /// The password itself; nil for a hash.
  var clearPassword: String? {
    if case .clear(let secret) = self.password { secret.text } else { nil }
  }
}

/// A token and the role that it gives, RFC 6750.
public struct AccessToken: Hashable, Sendable {
  /// Maximum length of a token, in bytes.
  static let maximumLength = 256

  /// The token as clients send it.
  public let secret: Secret
  /// The role of clients that send it.
  public let role: Role

  /// A token; nil unless the text has 16 to 256 characters of the form `b64token`, RFC 6750 §2.1.
  public init?(parsing text: String, role: Role) {
    guard (16...Self.maximumLength).contains(text.utf8.count), Self.isToken(text) else { return nil }
    self.secret = Secret(text)
    self.role = role
  }

  /// A token of 128 random bits in hexadecimal digits.
  init(role: Role, makeRandom: () -> UInt64) {
    let bytes = [makeRandom(), makeRandom()].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
    }
    self.secret = Secret(Hexadecimal.encode(bytes))
    self.role = role
  }

  /// Whether the text has the form `b64token`, RFC 6750 §2.1.
  static func isToken(_ text: some StringProtocol) -> Bool {
    let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }
    return !digits.isEmpty
      && digits.allSatisfy { byte in
        byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte.lowercasedASCII)
          || "-._~+/".utf8.contains(byte)
      }
  }
}
