/// A user who may watch.
public struct Credentials: Hashable, Sendable {
  /// The name, without a colon.
  public let user: String
  /// The password; may hold colons and be empty.
  public let password: String

  /// A user who may watch.
  ///
  /// - Parameters:
  ///   - user: The name, without a colon.
  ///   - password: The password.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }

  /// Whether a login with them is possible: the name is not empty and has no colon, the password is not empty.
  public var isUsable: Bool {
    !self.user.isEmpty && !self.user.utf8.contains(UInt8(ascii: ":")) && !self.password.isEmpty
  }

  /// Credentials from `user:password`; nil without a colon or a name.
  public init?(parsing text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else { return nil }
    self.user = String(text[..<colon])
    self.password = String(text[text.utf8.index(after: colon)...])
  }
}
