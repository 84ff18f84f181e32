public import Media

/// Users and tokens of a file, one a line:
///
/// ```
/// # comment
/// anna:sesame                          a viewer
/// operator ben:$scrypt$ln=14,r=8,p=5$…  an operator, with the output of "vidicon password"
/// publisher=door carl:password         a publisher of the stream "door"
/// operator token=0123456789abcdef      a token of an operator
/// ```
public struct UserFile: Hashable, Sendable {
  /// Maximum size of a file, in bytes.
  public static let maximumBytes = 1 << 20

  /// The users, in the order of the file.
  public private(set) var users: [Credentials] = []
  /// The tokens, in the order of the file.
  public private(set) var tokens: [AccessToken] = []

  /// A file without lines.
  static let empty = UserFile()

  private init() {}

  /// Parses the text of a file.
  ///
  /// - Throws: `invalid` with the number of the line, never with its content; `tooLarge` beyond ``maximumBytes``.
  public init(parsing text: String) throws(ParsingError) {
    guard text.utf8.count <= Self.maximumBytes else { throw ParsingError(.tooLarge, field: "user file") }
    let lines = text.utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: "\n") }
    for (index, bytes) in lines.enumerated() {
      var line = String(decoding: bytes, as: UTF8.self)
      if line.utf8.last == UInt8(ascii: "\r") { line = String(decoding: bytes.dropLast(), as: UTF8.self) }
      let content = line.trimmingSpace()
      if content.isEmpty || content.hasPrefix("#") { continue }
      let field = "line \(index + 1) of the user file"
      guard !content.utf8.contains(where: { $0.isControl && $0 != UInt8(ascii: "\t") }) else {
        throw ParsingError(.invalid, field: field)
      }
      let (role, rest) = try Self.role(of: content, field: field)
      if rest.hasPrefix("token="), !rest.contains(":") {
        guard let token = AccessToken(parsing: String(rest.dropFirst(6)), role: role) else {
          throw ParsingError(.invalid, field: field)
        }
        self.tokens.append(token)
      } else {
        guard let user = Credentials(parsing: rest, role: role), user.isUsable, self.isNew(user) else {
          throw ParsingError(.invalid, field: field)
        }
        self.users.append(user)
      }
    }
  }

  /// Splits a line into its role, a viewer without one, and the rest.
  private static func role(of line: String, field: String) throws(ParsingError) -> (Role, String) {
    guard let space = line.utf8.firstIndex(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }),
      !line[..<space].contains(":")
    else { return (.viewer, line) }
    let rest = line[space...].trimmingSpace()
    switch line[..<space] {
    case "viewer": return (.viewer, rest)
    case "operator": return (.operator, rest)
    case let word where word.hasPrefix("publisher=") && word.utf8.count > 10:
      return (.publisher(stream: String(word.dropFirst(10))), rest)
    default: throw ParsingError(.invalid, field: field)
    }
  }

  private func isNew(_ user: Credentials) -> Bool {
    !self.users.contains { $0.user == user.user }
  }
}
