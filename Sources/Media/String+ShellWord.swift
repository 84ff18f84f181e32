extension String {
  /// The text as one word of a shell: in single quotation marks where a character has a meaning there.
  package var shellWord: String {
    let isPlain = !self.isEmpty && self.unicodeScalars.allSatisfy { Self.plainScalars.contains($0) }
    return isPlain ? self : "'\(self.replacing("'", with: "'\\''"))'"
  }

  private static let plainScalars: Set<Unicode.Scalar> = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+@%=".unicodeScalars)
}
