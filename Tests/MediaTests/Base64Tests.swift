import Testing

@testable import Media

@Suite("Base64, RFC 4648 §4")
struct Base64Tests {
  /// The test vectors of RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of the specification are encoded and decoded`(text: String, encoded: String) {
    #expect(Base64.encode(Array(text.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
  }

  @Test(arguments: [("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v")])
  func `padding is left out on demand, and not needed`(text: String, encoded: String) {
    #expect(Base64.encode(Array(text.utf8), isPadded: false) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
  }

  @Test func `every byte survives at each of the three places of a group`() {
    for byte in UInt8.min...UInt8.max {
      for place in 0..<3 {
        var bytes: [UInt8] = [0x55, 0xAA, 0x0F]
        bytes[place] = byte
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      }
    }
  }

  @Test func `every length up to a hundred bytes is padded to a multiple of four characters`() {
    for count in 0...100 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
      let text = Base64.encode(bytes)
      #expect(text.utf8.count == (count + 2) / 3 * 4)
      #expect(Base64.decode(text) == bytes)
      #expect(Base64.encode(bytes, isPadded: false) == String(text.prefix { $0 != "=" }))
    }
  }

  @Test func `the last two characters of the alphabet are plus and slash`() {
    #expect(Base64.encode([0xFB, 0xEF, 0xBE]) == "++++")
    #expect(Base64.encode([0xFF, 0xFF, 0xFF]) == "////")
    #expect(Base64.decode("-_-_") == nil, "the alphabet of URLs is another one")
  }

  @Test(arguments: ["Z", "Zm9vY", "Zg==Zg==", "Zg=Z", "Zm 8=", "Zm\n8=", "Zm8é", "Ｚｇ", "Zm9v!", "\0"])
  func `other text is refused`(text: String) {
    #expect(Base64.decode(text) == nil)
    #expect(Base64.decode(text[...]) == nil)
  }
}
