/// A user who may watch.
public struct Credentials: Hashable, Sendable {
  /// The name, without a colon.
  public let user: String
  /// The password; may hold colons and be empty.
  public let password: String

  /// Credentials from `user:password`; nil without a colon or a name.
  public init?(parsing text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else { return nil }
    self.user = String(text[..<colon])
    self.password = String(text[text.utf8.index(after: colon)...])
  }
}
