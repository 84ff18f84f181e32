import Testing

@testable import Media

@Suite("Hexadecimal text, RFC 4648 §8")
struct HexadecimalTests {
  @Test(
    arguments: [([0x00, 0x0F, 0xA0, 0xFF], "000fa0ff"), ([], ""), ([0x9A], "9a")] as [([UInt8], String)])
  func `each byte has two digits, of either case`(bytes: [UInt8], text: String) {
    #expect(Hexadecimal.encode(bytes) == text)
    #expect(Hexadecimal.encode(bytes, uppercase: true) == text.uppercased())
    #expect(Hexadecimal.decode(text) == (bytes.isEmpty ? nil : bytes))
    #expect(Hexadecimal.decode(text.uppercased()) == (bytes.isEmpty ? nil : bytes))
  }

  @Test func `a separator is between bytes only`() {
    #expect(Hexadecimal.encode([0xAB, 0x01, 0xCD], uppercase: true, separator: ":") == "AB:01:CD")
    #expect(Hexadecimal.encode([0xAB], separator: ":") == "ab" && Hexadecimal.encode([], separator: ":") == "")
  }

  @Test func `every byte is decoded as it was encoded`() {
    let bytes = Array(UInt8.min...UInt8.max)
    #expect(Hexadecimal.decode(Hexadecimal.encode(bytes)) == bytes)
  }

  @Test(arguments: ["", "1", "123", "0g", "0x10", " 10", "+1", "-1", "1é", "１０", "0/", "0:", "@0", "G0", "`0"])
  func `other text is not hexadecimal`(text: String) {
    #expect(Hexadecimal.decode(text) == nil)
  }

  @Test func `only digits have a value`() {
    #expect("0a9Ff".utf8.map(\.hexadecimalValue) == [0, 10, 9, 15, 15])
    #expect((UInt8.min...UInt8.max).count { $0.hexadecimalValue != nil } == 22)
  }
}
