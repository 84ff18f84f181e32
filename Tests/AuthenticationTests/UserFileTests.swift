import Media
import Testing

@testable import Authentication

@Suite("User files and password hashes")
struct UserFileTests {
  @Test func `a line is a viewer, or has a role, and a password or token`() throws {
    let file = try UserFile(
      parsing: "# users\n\nanna:sesame: open \r\n viewer  bob:x\noperator\tben:a b\npublisher=door carl:#\n"
        + "operator token=0123456789abcdef\npublisher=a/b token=fedcba9876543210==\ntoken=0123456789abcdeg")
    #expect(
      file.users == [
        Credentials(user: "anna", password: "sesame: open"), Credentials(user: "bob", password: "x"),
        Credentials(user: "ben", password: "a b", role: .operator),
        Credentials(user: "carl", password: "#", role: .publisher(stream: "door")),
      ])
    #expect(
      file.tokens
        == [
          AccessToken(parsing: "0123456789abcdef", role: .operator),
          AccessToken(parsing: "fedcba9876543210==", role: .publisher(stream: "a/b")),
          AccessToken(parsing: "0123456789abcdeg", role: .viewer),
        ].compactMap(\.self))
  }

  @Test(arguments: [
    "secret", "a:b\nsecret", "admin a:b", "operator", "operator secret", "publisher= a:b", "publisher a:b", "a:", ":b",
    "token=short", "operator token=with spaces in it", "a:b\na:c", "a:b\u{7}",
  ])
  func `an invalid line is reported by its number, without its content`(text: String) {
    let lines = text.split(separator: "\n").count
    #expect {
      try UserFile(parsing: text)
    } throws: { error in
      error as? ParsingError == ParsingError(.invalid, field: "line \(lines) of the user file")
    }
  }

  @Test func `a file of more than a mebibyte is refused`() {
    #expect(throws: ParsingError(.tooLarge, field: "user file")) {
      try UserFile(parsing: String(repeating: "#\n", count: 1 << 20))
    }
  }

  /// RFC 7914 §12: the first 32 bytes of the keys.
  @Test(arguments: [
    (
      "password", "NaCl", 10, 8, 16, "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
    ),
    (
      "pleaseletmein", "SodiumChloride", 14, 8, 1, "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
    ),
  ])
  func `hashes are those of the RFC`(
    password: String, salt: String, logarithm: Int, blockSize: Int, parallelism: Int, expected: String
  ) throws {
    let cost = PasswordHash.Cost(logarithm: logarithm, blockSize: blockSize, parallelism: parallelism)
    let hash = try #require(PasswordHash(password: Array(password.utf8), salt: Array(salt.utf8), cost: cost))
    #expect(Hexadecimal.encode(hash.hash) == expected)
    #expect(hash.verifies(Array(password.utf8)))
    #expect(!hash.verifies(Array("\(password)x".utf8)))
  }

  @Test func `a hash is written and read again, and is the password of a user`() throws {
    let hash = try #require(
      PasswordHash(password: [1], salt: Array(0..<16), cost: .init(logarithm: 3, blockSize: 1, parallelism: 2)))
    #expect(hash.text.hasPrefix("$scrypt$ln=3,r=1,p=2$AAECAwQFBgcICQoLDA0ODw$"))
    #expect(try PasswordHash(parsing: hash.text) == hash)
    #expect(Credentials(parsing: "anna:\(hash.text)")?.password == .scrypt(hash))
    // Cut Base64 is a shorter hash, down to 16 bytes.
    let lengths = hash.text.indices.compactMap { try? PasswordHash(parsing: String(hash.text[..<$0])).hash.count }
    #expect(lengths == Array(16...31))
  }

  @Test(arguments: [
    "$scrypt$ln=3,r=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw", "$scrypt$r=1,ln=3,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
    "$scrypt$ln=3,r=1,p=1,$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw", "$scrypt$ln=3,r=1,p=1$AA$AAECAwQFBgcICQoLDA0ODw",
    "$argon2$ln=3,r=1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
    "$scrypt$ln=30,r=8,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
    "$scrypt$ln=3,r=-1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
    "$scrypt$ln=3,r=1,p=1$AAECAwQFBgc$!AECAwQFBgcICQoLDA0ODw",
    "", "$scrypt$", "secret",
  ])
  func `other text is not a hash`(text: String) {
    #expect((try? PasswordHash(parsing: text)) == nil)
    if text.hasPrefix("$scrypt$") { #expect(Credentials(parsing: "anna:\(text)")?.isUsable == false) }
  }
}
