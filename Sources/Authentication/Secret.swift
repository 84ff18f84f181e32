internal import Cryptography

/// A password or token that does not appear in text: printing, string interpolation and reflection show `<redacted>`.
public struct Secret: Hashable, Sendable {
  /// The text itself, for comparison and for the owner's terminal only.
  package let text: String

  /// Creates a secret whose descriptions are redacted.
  public init(_ text: String) {
    self.text = text
  }

  /// Whether the secret has no characters.
  public var isEmpty: Bool { self.text.isEmpty }

  /// Whether it equals the bytes, in a time that does not depend on the length of a correct prefix.
  package func matches(_ bytes: some Sequence<UInt8>) -> Bool {
    // Hashes have equal lengths.
    ConstantTime.isEqual(HashAlgorithm.sha256.digest(of: bytes), HashAlgorithm.sha256.digest(of: self.text.utf8))
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<redacted>`, so that interpolation shows no secret.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`, so that a debugger's or test's output shows no secret.
  public var debugDescription: String { self.description }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
