import Media
import Testing

@testable import Discovery

@Suite("TXT record, RFC 6763 §6")
struct ServiceTextTests {
  @Test func `each pair has a length byte`() throws {
    let text = try ServiceText(["path": "/hello", "v": ""])
    let expected: [UInt8] =
      [11] + Array("path=/hello".utf8)  // A key, an equals sign and a value.
      + [2] + Array("v=".utf8)  // A value may be empty, RFC 6763 §6.4.
    #expect(text.bytes == expected)
  }

  @Test func `a record without pairs is one empty string`() throws {
    #expect(try ServiceText().bytes == [0])
  }

  @Test func `a pair has at most 255 bytes of UTF-8`() throws {
    let value = String(repeating: "é", count: 126)  // 2 + 252 bytes with "k=".
    #expect(try ServiceText(["k": value + "x"]).bytes.first == 255)
    #expect(throws: VidiconError.self) { try ServiceText(["k": value + "xy"]) }
  }

  @Test func `a record has at most 1300 bytes`() throws {
    let value = String(repeating: "x", count: 253)
    // Five pairs of 256 bytes, and one of 20.
    let rest = String(repeating: "x", count: 17)
    let text = try ServiceText(["a": value, "b": value, "c": value, "d": value, "e": value, "f": rest])
    #expect(text.bytes.count == 1300)
    #expect(throws: VidiconError.self) {
      try ServiceText(["a": value, "b": value, "c": value, "d": value, "e": value, "f": rest + "x"])
    }
  }

  @Test(arguments: ["", "a=b", "naïve", "tab\t", "del\u{7F}"])
  func `a key contains printable ASCII except the equals sign`(key: String) {

    let error = #expect(throws: VidiconError.self) { try ServiceText([key: "value"]) }
    #expect(error?.code == .invalidSpecification)
  }

  @Test func `a key is unique case-insensitively`() {
    #expect(throws: VidiconError.self) { try ServiceText(["path": "/a", "PATH": "/b"]) }
  }
}
