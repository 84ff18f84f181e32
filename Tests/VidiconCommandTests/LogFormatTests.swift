import ArgumentParser
import Authentication
import Foundation
import Media
import Serving
import Testing

@testable import VidiconCommand

@Suite("Lines of the log as prose, and as keys and values")
struct LogFormatTests {
  /// 2026-11-21T07:41:03.123Z.
  private static let time = CalendarTime(unixTime: .milliseconds(1_795_246_863_123))

  private static let event = LogEvent(
    .sourceEnded, stream: "door", fields: ["kind": "video", "absent": nil], measures: ["duration": "61.0"],
    message: "the video source has ended; viewers stay connected")

  private static func line(_ format: LogFormat, _ event: LogEvent, isJournal: Bool = false) -> String? {
    format.line(event, isJournal: isJournal, at: Self.time)
  }

  @Test func `prose has the stream and the message, and for the journal a priority in place of the program's name`() {
    let text = "door: the video source has ended; viewers stay connected"
    #expect(Self.line(.text, Self.event) == "vidicon: \(text)")
    #expect(Self.line(.text, Self.event, isJournal: true) == "<4>\(text)")
    #expect(Self.line(.text, LogEvent(.failed, .error, message: "a\nb"), isJournal: true) == "<3>a b")
  }

  @Test func `keys are the time and the level unless the journal has them, the event, its facts, and the message`() {
    let facts =
      "event=source_ended stream=door kind=video duration=61.0 "
      + "message=\"the video source has ended; viewers stay connected\""
    #expect(Self.line(.keys, Self.event) == "time=2026-11-21T07:41:03.123Z level=warning \(facts)")
    #expect(Self.line(.keys, Self.event, isJournal: true) == "<4>\(facts)")
  }

  @Test func `the number of folded events is behind the prose, and a value of its own among keys`() {
    var event = LogEvent(.sourceSilent, stream: "a", message: "no frames")
    event.foldedCount = 312
    #expect(Self.line(.text, event) == "vidicon: a: no frames (312 more like this)")
    let keys = "<4>event=source_silent stream=a message=\"no frames\" more=312"
    #expect(Self.line(.keys, event, isJournal: true) == keys)
  }

  @Test func `what a server reports has keys of its own, and prose where it needs attention`() {
    var visit = ViewerVisit(
      stream: "door", rendition: "low", protocolName: "rtsp", address: "192.0.2.7", start: .zero)
    visit.end = .slow
    let facts = "stream=door protocol=rtsp rendition=low address=192.0.2.7"
    let wrong = AccessRefusal.wrongCredentials(address: "192.0.2.7", count: 3)
    let clear = AccessRefusal.passwordWithoutTLS(address: "::1", count: 1)
    let change = ServerEvent.controlled(
      method: "PATCH", path: "/api/streams/{name}", stream: "a b", role: .operator, address: "::1", status: 200)
    let expected: [(ServerEvent, keys: String, isProse: Bool)] = [
      (.line("port 1 is in use"), "<4>event=message message=\"port 1 is in use\"", true),
      (.viewerJoined(visit), "<5>event=viewer_joined \(facts)", false),
      (
        .viewerLeft(visit, after: .seconds(61)),
        "<5>event=viewer_left stream=door protocol=rtsp rendition=low reason=slow address=192.0.2.7 duration=61.0",
        false
      ),
      (.viewerFailed(stream: "a", "b c"), "<4>event=viewer_failed stream=a message=\"b c\"", true),
      (
        change,
        "<5>event=control stream=\"a b\" method=PATCH path=/api/streams/{name} status=200 role=operator address=::1",
        false
      ),
      (
        .refused(wrong),
        "<4>event=login_refused reason=wrong address=192.0.2.7 count=3 message=\"\(wrong.text ?? "")\"", true
      ),
      (
        .refused(clear), "<4>event=login_refused reason=no_tls address=::1 count=1 message=\"\(clear.text ?? "")\"",
        true
      ),
      (
        .refused(.throttled(address: "192.0.2.7", .seconds(8))), "<4>event=login_throttled address=192.0.2.7 delay=8.0",
        false
      ),
    ]
    for (event, keys, isProse) in expected {
      #expect(Self.line(.keys, LogEvent(event), isJournal: true) == keys)
      #expect(Self.line(.text, LogEvent(event)) == (isProse ? "vidicon: \(event.text ?? "")" : nil))
    }
    let host = LogEvent(.refused(.foreignHost("evil.example", count: 1)))
    #expect(Self.line(.keys, host)?.contains("event=host_refused host=evil.example count=1 message=") == true)
  }

  @Test func `an event without a message has no prose`() {
    let event = LogEvent(.stopped, .notice)
    #expect(Self.line(.text, event) == nil)
    #expect(Self.line(.keys, event, isJournal: true) == "<5>event=stopped")
  }

  @Test(arguments: [
    ("door", "door"), ("rtsp://192.0.2.1:8554/a?b", "rtsp://192.0.2.1:8554/a?b"), ("Küche🎥", "Küche🎥"), ("", "\"\""),
    ("a b", "\"a b\""), ("a=b", "\"a=b\""), ("say \"x\"", "\"say \\\"x\\\"\""), ("C:\\a", "\"C:\\\\a\""),
    ("a\nlevel=error", "\"a\\nlevel=error\""), ("a\r\nb\tc", "\"a\\r\\nb\\tc\""),
    ("\u{0}\u{1B}[2J", "\"\\u0000\\u001b[2J\""),
    ("\u{9B}31m\u{7F}\u{85}", "\"\\u009b31m\\u007f\\u0085\""), ("\u{2028}\u{202E}", "\"\\u2028\\u202e\""),
    ("a\u{A0}b", "\"a\\u00a0b\""), ("\u{E0001}", "\"\\udb40\\udc01\""),
  ])
  func `a value is quoted where it could be taken for another one, or changes a terminal`(text: String, value: String) {
    #expect(LogFormat.value(text) == value)
  }

  @Test func `a name, a message or an address of a client makes no second line and no key of its own`() {
    let hostile = "x\" level=error\nevent=failed\u{1B}]0;a\u{7}\r<3>y\u{85}z\u{2029}\\"
    let event = LogEvent(.message, stream: hostile, fields: ["agent": hostile], message: hostile)
    for format in LogFormat.allCases {
      for isJournal in [false, true] {
        let line = Self.line(format, event, isJournal: isJournal) ?? ""
        let hasControl = line.unicodeScalars.contains {
          [.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
        }
        #expect(!line.isEmpty && !hasControl, "\(format): \(line)")
      }
    }
    let keys = Self.line(.keys, event, isJournal: true) ?? ""
    let parts = ["event", "message", "stream", hostile, "agent", hostile, "message", hostile]
    #expect(Self.parse(String(keys.dropFirst(3))) == parts)
  }

  /// Keys and values in turn, as a program reads them: values in quotes are JSON texts.
  private static func parse(_ line: String) -> [String] {
    var rest = line[...]
    var parts: [String] = []
    while !rest.isEmpty {
      guard let match = rest.prefixMatch(of: #/(\w+)=("(?:[^"\\]|\\.)*"|[^ "=]*)(?: |$)/#) else {
        return parts + ["no logfmt"]
      }
      let value = String(match.2)
      let text = try? JSONDecoder().decode(String.self, from: Data(value.utf8))
      parts += [String(match.1), value.hasPrefix("\"") ? text ?? "no JSON" : value]
      rest = rest[match.range.upperBound...]
    }
    return parts
  }

  @Test func `a value that is too long is cut`() {
    let maximum = LogFormat.maximumValueLength
    #expect(LogFormat.value(String(repeating: "a", count: maximum)) == String(repeating: "a", count: maximum))
    #expect(LogFormat.value(String(repeating: "a", count: maximum + 1)) == String(repeating: "a", count: maximum) + "…")
    let escaped = LogFormat.value(String(repeating: "\u{0}", count: maximum * 2))
    #expect(escaped == "\"" + String(repeating: "\\u0000", count: maximum) + "…\"")
  }

  @Test func `the journal gets keys and everything else prose, unless a form is given`() {
    #expect(LogFormat(given: nil, isJournal: true) == .keys && LogFormat(given: nil, isJournal: false) == .text)
    for format in LogFormat.allCases {
      for isJournal in [false, true] { #expect(LogFormat(given: format, isJournal: isJournal) == format) }
    }
  }

  // A process of its own: its standard error is what JOURNAL_STREAM names.
  @Test func `where standard error is the journal, a line has keys, and its priority as a mark`() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      var status = stat()
      precondition(fstat(STDERR_FILENO, &status) == 0)
      setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
      Terminal.warn("a b")
      _ = LineWriter.standardError.flush(within: nil)
    }
    let lines = OutputLines(result.standardErrorContent).lines
    #expect(lines.contains("<4>event=message message=\"a b\""), "\(lines)")
  }

  @Test func `the option names a form`() throws {
    #expect(try ServeCommand.parse([]).options.log == nil)
    #expect(try ServeCommand.parse(["--log", "keys"]).options.log == .keys)
    #expect(try RecordCommand.parse(["--log", "text", "a.mp4"]).options.log == .text)
    #expect(throws: (any Error).self) { try ServeCommand.parse(["--log", "xml"]) }
  }

  @Test func `every event is described in the documentation`() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/operate.md")
    let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
    func words(_ text: Substring) -> [String] { text.matches(of: #/`(\w+)`/#).map { String($0.1) } }
    var described: Set<LogEvent.Name> = []
    for row in rows {
      let columns = row.split(separator: "|", omittingEmptySubsequences: true)
      let names = columns.first.map(words)?.compactMap { LogEvent.Name(rawValue: $0) } ?? []
      guard !names.isEmpty, columns.count == 2 else { continue }
      described.formUnion(names)
      // Values of keys, and what is no key, are in parentheses.
      let text = columns[1].replacing(#/\([^)]*\)/#, with: "")
      let promised = Set(words(text[...])).subtracting(["message", "more", "stream"])
      let keys = names.map(\.keys).reduce(into: Set<String>()) { $0.formUnion($1.always.union($1.sometimes)) }
      #expect(promised == keys, "\(names.map(\.rawValue))")
    }
    #expect(Set(LogEvent.Name.allCases).subtracting(described) == [])
  }

  @Test func `an event that lacks a key, or has another one, is found`() {
    #expect(LogEvent(.snapshotFailed, fields: ["path": "a"]).hasItsKeys)
    #expect(!LogEvent(.snapshotFailed).hasItsKeys)
    #expect(!LogEvent(.snapshotFailed, fields: ["path": "a", "kind": "b"]).hasItsKeys)
    #expect(LogEvent(.loginThrottled, address: "::1", measures: ["delay": "1.0"]).hasItsKeys)
    #expect(!LogEvent(.loginThrottled, measures: ["delay": "1.0"]).hasItsKeys)
  }

  @Test func `an event of a stream that prose does not name has it among its keys`() {
    let event = LogEvent(.sourceEnded, fields: ["kind": "video"], message: "the recording continues").about("door")
    #expect(Self.line(.text, event) == "vidicon: the recording continues")
    let keys = "<4>event=source_ended stream=door kind=video message=\"the recording continues\""
    #expect(Self.line(.keys, event, isJournal: true) == keys)
  }

  @Test(
    arguments: [
      ([], nil), (["serve", "--log", "keys", "--fps"], .keys), (["serve", "--log=text"], .text),
      (["serve", "--log=text", "--log", "keys"], .keys), (["serve", "--log", "xml"], nil), (["serve", "--log"], nil),
      (["--logs", "keys"], nil),
    ] as [([String], LogFormat?)])
  func `arguments ask for a form, also those that cannot be parsed`(arguments: [String], format: LogFormat?) {
    #expect(LogFormat.requested(by: arguments) == format)
  }
}
