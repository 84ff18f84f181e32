import Media
import NIOCore
import StreamControl
import Streaming
import Testing

@testable import ControlAPI
@testable import HTTPServer

@Suite("Members of a request's JSON")
struct JSONMembersTests {
  private enum Key: String, CaseIterable {
    case name, count
  }

  private static func json(_ text: String) throws -> JSONValue {
    try #require(JSONValue(parsing: ByteBuffer(string: text)))
  }

  /// The reason for which a body is refused.
  private static func reason(_ body: () throws -> Void) -> String? {
    (#expect(throws: HTTPRefusal.self) { try body() })?.reason
  }

  @Test func `values are converted, and absent ones are nil`() throws {
    let members = try JSONMembers(try Self.json(#"{"name": "a"}"#), keys: Key.self, form: "x")
    #expect(members.count == 1)
    #expect(try members.line(.name, "is a text") == "a")
    #expect(try members.value(.count, "is a number", as: \.integer) == nil)
    let all = try JSONMembers(try Self.json(#"{"name": null, "count": 3}"#), keys: Key.self, form: "x")
    #expect(try all.value(.count, "is a number", as: \.integer) == 3)
    #expect(Self.reason { _ = try all.value(.name, "is a text", as: \.text) } == #""name" is a text"#)
  }

  @Test(arguments: ["[]", "null", "3", #""SECRET""#])
  func `anything but an object is refused with the form`(text: String) throws {
    let json = try Self.json(text)
    #expect(Self.reason { _ = try JSONMembers(json, keys: Key.self, form: "{…}") } == "the body is {…}")
  }

  @Test func `of several unknown keys the first is named, cut and escaped`() throws {
    let json = try Self.json(#"{"zoo": 1, "name": 2, "a\nb": 3}"#)
    #expect(
      Self.reason { _ = try JSONMembers(json, keys: Key.self, form: "x") }
        == #""a\nb" is not a key; the keys are name, count"#)
    let long = try Self.json("{\"\(String(repeating: "é", count: 50))\": 1}")
    #expect(
      Self.reason { _ = try JSONMembers(long, keys: Key.self, form: "x") }
        == "\"\(String(repeating: "é", count: 40))…\" is not a key; the keys are name, count")
  }

  @Test func `a line has no control characters`() throws {
    for text in [#"{"name": "a\nb"}"#, #"{"name": "\u007f"}"#, #"{"name": "\u0000"}"#] {
      let members = try JSONMembers(try Self.json(text), keys: Key.self, form: "x")
      #expect(Self.reason { _ = try members.line(.name, "is a text") } == #""name" contains a control character"#)
    }
  }

  @Test func `an object with secrets has one reason for every mistake`() throws {
    let unknown = try Self.json(#"{"SECRET": 1}"#)
    #expect(Self.reason { _ = try JSONMembers(unknown, keys: Key.self, form: "x", secretsReason: "wrong") } == "wrong")
    let members = try JSONMembers(
      try Self.json(#"{"name": "SECRET\n", "count": "SECRET"}"#), keys: Key.self, form: "x", secretsReason: "wrong")
    #expect(Self.reason { _ = try members.value(.count, "is a number", as: \.integer) } == "wrong")
    #expect(Self.reason { _ = try members.line(.name, "is a text") } == "wrong")
  }

  @Test func `of several mistakes in a change always the same one is reported`() throws {
    for _ in 0..<10 {
      let change = try Self.json(#"{"rotation": 1, "pause": 1, "mirror": 1, "controls": {"z": [], "b": []}}"#)
      #expect(
        Self.reason { _ = try StreamChange(change, startBitrate: 1) }
          == #""controls": "b" is a whole number, true or false"#)
      let source = try Self.json(#"{"video": 1, "audio": 2}"#)
      #expect(Self.reason { _ = try SourceNames(source) } == #""audio" is a source, as text"#)
    }
  }

  @Test func `null is a value of a change, and no width of a rendition`() throws {
    let change = try StreamChange(try Self.json(#"{"bitrate": null, "controls": null}"#), startBitrate: 700_000)
    #expect(change.bitrate == 700_000 && change.resetsControls && change.isMirrored == nil)
    let size = #""width": 32, "height": 32, "bitrate": 50000"#
    let settings = try RenditionSettings(try Self.json("{\(size), \"frameRate\": null}"), name: "low")
    #expect(settings == RenditionSettings(name: "low", width: 32, height: 32, bitrate: 50_000))
    let rate = try RenditionSettings(try Self.json("{\(size), \"frameRate\": 12.5}"), name: "low").frameRate
    #expect(rate?.framesPerSecond == 12.5)
    let null = try Self.json(#"{"width": null}"#)
    #expect(Self.reason { _ = try RenditionSettings(null, name: "low") } == #""width" is a number"#)
    let fast = try Self.json("{\(size), \"frameRate\": \"30\"}")
    #expect(
      Self.reason { _ = try RenditionSettings(fast, name: "low") }
        == #""frameRate" is a number from 1 to 1000, with at most three decimals"#)
  }
}
