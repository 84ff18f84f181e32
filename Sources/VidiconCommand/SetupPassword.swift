import Authentication
import Media

/// A password that `vidicon setup` was given, or has made.
struct SetupPassword: Sendable {
  /// Minimum length of one that is given, in characters.
  static let minimumLength = 8
  /// Letters and digits that are not mistaken for others: 31 of them, 99 bits in twenty.
  private static let alphabet = Array("abcdefghjkmnpqrstuvwxyz23456789")

  /// The password itself.
  let secret: Secret
  /// Whether it was made, so that its user has to be shown it.
  let isGenerated: Bool

  /// Checks a given password.
  ///
  /// - Parameter subject: The option or user, for messages, which never quote the password.
  init(given text: String, subject: String) throws(VidiconError) {
    guard text.count >= Self.minimumLength else {
      throw .usage(subject, "the password is too short", "give \(Self.minimumLength) characters or more")
    }
    guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw .usage(subject, "the password has a control character", "give letters, digits and marks")
    }
    self.secret = Secret(text)
    self.isGenerated = false
  }

  /// Makes a password: four groups of five letters and digits.
  init(using generator: inout some RandomNumberGenerator) {
    let groups = (0..<4).map { _ in
      String((0..<5).map { _ in Self.alphabet[Int.random(in: Self.alphabet.indices, using: &generator)] })
    }
    self.secret = Secret(groups.joined(separator: "-"))
    self.isGenerated = true
  }
}
