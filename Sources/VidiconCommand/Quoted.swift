import Media

/// A value of an option in a message: in quotation marks, without anything that may be a password or token.
func quoted(_ text: some StringProtocol) -> String {
  "\"\(text.withoutCredentials())\""
}
