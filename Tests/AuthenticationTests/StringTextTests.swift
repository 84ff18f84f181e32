import Testing

@testable import Authentication

@Suite("Text of header fields, RFC 2616 §2.2")
struct StringTextTests {
  @Test func `names are compared without regard to the case of ASCII letters`() {
    #expect("Content-Length".equalsIgnoringCase("content-LENGTH"))
    #expect(!"Content".equalsIgnoringCase("Content-Length"))
    #expect(!"É".equalsIgnoringCase("é"))
    // "@" and "`" differ by the bit that distinguishes capitals from small letters.
    #expect(!"@".equalsIgnoringCase("`"))
  }

  @Test(arguments: [(" \t a b\t", "a b"), ("a", "a"), (" \t", ""), ("", ""), ("\u{A0}a", "\u{A0}a")])
  func `spaces and tabs at the ends are removed`(text: String, trimmed: String) {
    #expect(text.trimmingSpace() == trimmed)
  }

  @Test func `control characters become spaces`() {
    #expect("a\r\nb\0c\u{7F}d".withoutControls() == "a  b c d")
    #expect("é".withoutControls() == "é")
  }

  @Test(arguments: [
    ("a, b ,c", ["a", "b", "c"]), ("", [""]), (",", ["", ""]), ("\"a,b\",c", ["\"a,b\"", "c"]),
    ("\"a\\\",b\",c", ["\"a\\\",b\"", "c"]), ("\"a,b", ["\"a,b"]),
  ])
  func `separators within a quoted string do not split`(text: String, parts: [String]) {
    #expect(text.splitOutsideQuotes(UInt8(ascii: ",")) == parts)
  }

  @Test(arguments: [
    ("\"a b\"", "a b"), ("\"a\\\"b\\\\\"", "a\"b\\"), ("a", "a"), ("\"", "\""), ("\"\"", ""), ("\"a", "\"a"),
  ])
  func `a quoted string loses its quotes and escapes`(text: String, unquoted: String) {
    #expect(text.unquoted() == unquoted)
  }

  @Test func `a number has decimal digits only and fits its type`() {
    #expect("007".decimal(as: UInt8.self) == 7)
    #expect("255".decimal(as: UInt8.self) == 255)
    for text in ["256", "-1", "+1", " 1", "0x1", "1.0", "", "١"] { #expect(text.decimal(as: UInt8.self) == nil) }
  }

  @Test func `a token has no separators, spaces or controls`() {
    #expect("GET_PARAMETER!#$%&'*+-.^`|~09az".utf8.allSatisfy { $0.isToken })
    #expect(!"()<>@,;:\\\"/[]?={} \t\u{7F}é".utf8.contains { $0.isToken })
  }

  @Test(arguments: [("user", "pass", true), ("", "pass", false), ("us:er", "pass", false), ("user", "", false)])
  func `credentials are usable with a name without a colon and a password`(
    user: String, password: String, isUsable: Bool
  ) {
    #expect(Credentials(user: user, password: password).isUsable == isUsable)
  }
}
