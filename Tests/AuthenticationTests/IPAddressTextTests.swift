import Authentication
import Testing

@Suite("Text of IP addresses, RFC 5952")
struct IPAddressTextTests {
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
    ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
    ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
    ("::ffff:192.0.2.1", "192.0.2.1"),
  ])
  func `an address has its canonical text`(text: String, canonical: String) {
    #expect(IPAddress(parsing: text)?.description == canonical)
  }
}
