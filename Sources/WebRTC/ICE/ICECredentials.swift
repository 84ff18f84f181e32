/// Username fragment and password of one side of an ICE session, RFC 8839 §5.4.
package struct ICECredentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// `ice-ufrag`: 4 to 256 characters.
  package let usernameFragment: String
  /// `ice-pwd`: 22 to 256 characters.
  package let password: String

  /// Creates credentials; nil when a length is wrong, or a character is not an ice-char (letters, digits, `+` and `/`).
  package init?(usernameFragment: String, password: String) {
    guard (4...256).contains(usernameFragment.utf8.count), (22...256).contains(password.utf8.count),
      (usernameFragment + password).utf8.allSatisfy(Self.isICECharacter)
    else { return nil }
    self.usernameFragment = usernameFragment
    self.password = password
  }

  /// Creates credentials of this side: 48 bits of fragment, 144 of password.
  ///
  /// - Parameter makeRandom: Makes 64 random bits; cryptographically secure, since the password keeps others out.
  package init(makeRandom: () -> UInt64) {
    self.usernameFragment = Self.text(characterCount: 8, makeRandom)
    self.password = Self.text(characterCount: 24, makeRandom)
  }

  /// The fragment; the password is secret.
  package var description: String { self.usernameFragment }

  /// The fragment; the password is secret.
  package var customMirror: Mirror { Mirror(self, children: ["usernameFragment": self.usernameFragment]) }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static func isICECharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
      true
    default: false
    }
  }

  private static func text(characterCount: Int, _ makeRandom: () -> UInt64) -> String {
    var text: [UInt8] = []
    while text.count < characterCount {
      let bits = makeRandom()
      for position in 0..<10 { text.append(Self.alphabet[Int(bits >> UInt64(6 * position) & 0x3F)]) }
    }
    return String(decoding: text.prefix(characterCount), as: UTF8.self)
  }
}
