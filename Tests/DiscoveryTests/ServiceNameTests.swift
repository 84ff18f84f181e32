import Testing

@testable import Discovery

@Suite("Service instance name, RFC 6763 §4.1.1")
struct ServiceNameTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var stream: String
    var host: String
    var name: String
    var testDescription: String { self.name }
  }

  static let long = String(repeating: "s", count: 80)
  static let longHost = String(repeating: "h", count: 80)

  @Test(arguments: [
    Case(stream: "hello", host: "myhost", name: "hello on myhost"),
    Case(stream: "hello", host: "myhost.example.org", name: "hello on myhost"),
    Case(stream: "hello", host: "", name: "hello"),
    Case(stream: "", host: "myhost", name: "myhost"),
    Case(stream: "", host: "", name: "camera"),
    Case(stream: "a\u{0}b\nc\u{7F}", host: "my\thost", name: "abc on myhost"),
    Case(stream: "garden/left", host: "küche", name: "garden/left on küche"),
    // A label has at most 63 bytes; " on " takes 4 of them.
    Case(stream: Self.long, host: "h", name: String(repeating: "s", count: 58) + " on h"),
    Case(stream: "s", host: Self.longHost, name: "s on " + String(repeating: "h", count: 58)),
    Case(
      stream: Self.long, host: Self.longHost,
      name: String(repeating: "s", count: 30) + " on " + String(repeating: "h", count: 29)),
  ])
  func `the name contains stream and machine`(example: Case) {

    let name = ServiceName(stream: example.stream, host: example.host)
    #expect(name.text == example.name)
    #expect(name.text.utf8.count <= 63)
  }

  @Test func `truncation never splits a character`() {
    // One character of 25 bytes, and one that has 3 bytes in its decomposed form.
    for character in ["👨‍👩‍👧‍👦", "e\u{301}", "é", "x"] {
      for count in 0...70 {
        let stream = String(repeating: "x", count: count % 7) + String(repeating: character, count: count)
        let name = ServiceName(stream: stream, host: "h")
        let kept = name.text.dropLast(count == 0 ? 1 : 5)
        #expect(name.text.utf8.count <= 63)
        #expect(stream.hasPrefix(kept))
        #expect(stream.count == kept.count || name.text.utf8.count + character.utf8.count > 63)
      }
    }
  }

  @Test func `a numbered name keeps the maximum length`() {
    let name = ServiceName(stream: "hello", host: "myhost")
    #expect(name.numbered(1) == name)
    #expect(name.numbered(2).text == "hello on myhost (2)")
    let full = ServiceName(stream: Self.long, host: Self.longHost).numbered(10)
    #expect(full.text == String(repeating: "s", count: 30) + " on " + String(repeating: "h", count: 24) + " (10)")
    #expect(full.text.utf8.count == 63)
  }
}
