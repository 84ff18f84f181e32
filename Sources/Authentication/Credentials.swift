/// Name and password of a user.
public struct Credentials: Hashable, Sendable {
  /// The name, without a colon.
  public let user: String
  /// The password; may contain colons.
  public let password: String

  /// Credentials of a user.
  ///
  /// - Parameters:
  ///   - user: The name, without a colon.
  ///   - password: The password.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }

  /// Whether a client can log in: the name is not empty and has no colon, the password is not empty.
  public var isUsable: Bool {
    !self.user.isEmpty && !self.user.utf8.contains(UInt8(ascii: ":")) && !self.password.isEmpty
  }

  /// Parses `user:password`; nil without a colon or with an empty name.
  public init?(parsing text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else { return nil }
    self.user = String(text[..<colon])
    self.password = String(text[text.utf8.index(after: colon)...])
  }
}
