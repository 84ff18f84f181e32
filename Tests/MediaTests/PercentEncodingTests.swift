import Testing

@testable import Media

@Suite("Percent-encoding, RFC 3986 §2.1")
struct PercentEncodingTests {
  @Test(
    arguments: [
      ("", false, ""), ("AZaz09-._~", false, "AZaz09-._~"), ("a b", false, "a%20b"), ("ä", false, "%C3%A4"),
      ("a/b", false, "a%2Fb"), ("a/b c", true, "a/b%20c"), ("+%=?", true, "%2B%25%3D%3F"),
    ])
  func `all but unreserved characters is encoded, and slashes unless they are kept`(
    text: String, keepsSlashes: Bool, encoded: String
  ) {
    #expect(PercentEncoding.encode(text, keepsSlashes: keepsSlashes) == encoded)
  }
}
