import ArgumentParser
import Authentication
import Foundation
import Media
import Pushing
import Serving
import Testing

@testable import VidiconCommand

@Suite("Options of pushes")
struct PushOptionsTests {
  private static let url = "rtmp://a.example/app/SECRET"

  private static func pushes(_ arguments: [String]) throws -> [PushTarget] {
    try ServeConfiguration(ServeCommand.parse(arguments)).streams[0].pushes
  }

  /// A file with a mode; removed after `body`.
  private static func withFile(
    _ text: String, mode: Int = 0o600, _ body: (String) throws -> Void
  ) throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "pushes-\(UUID())").path
    #expect(
      FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode]))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  @Test func `a push is a URL, or options and a URL that may have commas`() throws {
    let plain = try PushTarget(url: Self.url)
    let special = try PushTarget(url: "\(Self.url),x", rendition: "low", bitrate: 1_500_000, isAdaptive: false)
    let both = try Self.pushes([
      "--push", "rendition=low,bitrate=1500k,adaptive=no,url=\(Self.url),x", "--push", Self.url,
    ])
    #expect(both == [special, plain])
    for text in [Self.url, "rendition=main,\(Self.url)", "url=\(Self.url)"] {
      let found = try Self.pushes(["--push", text])
      #expect(found == [plain], "\(text)")
    }
    let none = try Self.pushes([])
    #expect(none.isEmpty)
  }

  @Test func `the query of the URL names the rendition, wherever a push is written`() throws {
    let url = "whip+https://media.example/live/whip"
    let low = try PushTarget(url: "\(url)?key=SECRET", rendition: "low")
    for text in [
      "\(url)?key=SECRET&rendition=low", "\(url)?rendition=l%6Fw&key=SECRET", "url=\(url)?rendition=low&key=SECRET",
      "rendition=low,url=\(url)?rendition=low&key=SECRET", "rendition=low,\(url)?key=SECRET",
    ] {
      #expect(try Self.pushes(["--push", text]) == [low], "\(text)")
      #expect(try StreamOptions.pushes(inVariable: text) == [low], "\(text)")
      try Self.withFile("\(text)\n") { path in
        let found = try Self.pushes(["--push-file", path])
        #expect(found == [low], "\(text)")
      }
      let yaml = "streams:\n  - name: a\n    push: [\"\(text)\"]"
      #expect(try ServeConfiguration(yaml: yaml, path: "v.yaml").streams[0].pushes == [low], "\(text)")
    }
    let mapping = "streams: [{name: a, push: {url: \"\(url)?key=SECRET&rendition=low\"}}]"
    #expect(try ServeConfiguration(yaml: mapping, path: "v.yaml").streams[0].pushes == [low])
    let error = #expect(throws: VidiconError.self) {
      try Self.pushes(["--push", "rendition=high,url=\(url)?rendition=low&key=SECRET"])
    }
    #expect(error?.cause == "two different renditions are given" && error?.subject == "--push: push")
    #expect(error?.description.contains("SECRET") == false)
  }

  @Test func `a push of WHIP has the token of its text, else that of the file`() throws {
    let url = "whip+https://media.example/live/whip"
    try Self.withFile(" TOKEN-1\n") { path in
      let found = try Self.pushes([
        "--push", url, "--push", "token=TOKEN-2,rendition=low,url=\(url)", "--push", Self.url, "--push-token-file",
        path,
      ])
      #expect(
        try found == [
          PushTarget(url: url, token: Secret("TOKEN-1")),
          PushTarget(url: url, token: Secret("TOKEN-2"), rendition: "low"),
          PushTarget(url: Self.url),
        ])
      // Without a push that gets it.
      let error = #expect(throws: VidiconError.self) {
        try Self.pushes(["--push", Self.url, "--push-token-file", path])
      }
      #expect(error?.description.contains("--push-token-file") == true)
    }
    #expect(try Self.pushes(["--push", url]) == [PushTarget(url: url)])
    for (text, mode) in [("SEC RET", 0o600), ("", 0o600), ("SECRET", 0o644)] {
      try Self.withFile(text, mode: mode) { path in
        let error = #expect(throws: VidiconError.self) { try Self.pushes(["--push", url, "--push-token-file", path]) }
        #expect(error?.description.contains("SEC") == false)
      }
    }
  }

  @Test func `a file has a push a line, and only its owner reads it`() throws {
    let text = "# YouTube\n\n\(Self.url)\r\n  rendition=low,url=rtmps://b.example/live2/SECRET2\n"
    let targets = [
      try PushTarget(url: Self.url), try PushTarget(url: "rtmps://b.example/live2/SECRET2", rendition: "low"),
    ]
    try Self.withFile(text) { path in
      let found = try Self.pushes(["--push-file", path])
      #expect(found == targets)
    }
    for mode in [0o640, 0o604] {
      try Self.withFile(text, mode: mode) { path in
        let error = #expect(throws: VidiconError.self) { try Self.pushes(["--push-file", path]) }
        #expect(error?.description.contains("chmod 600") == true)
      }
    }
    try Self.withFile("\(Self.url)\nrtmp://SECRET") { path in
      let error = #expect(throws: VidiconError.self) { try Self.pushes(["--push-file", path]) }
      #expect(error?.description.contains(":2") == true && error?.description.contains("SECRET") == false)
    }
    for path in ["/nonexistent", "/dev/null", "/tmp"] {
      #expect(throws: VidiconError.self) { try Self.pushes(["--push-file", path]) }
    }
    try Self.withFile("\u{FEFF}\(Self.url)\n") { path in
      let found = try Self.pushes(["--push-file", path])
      #expect(found == [targets[0]], "a byte order mark is no part of a URL")
    }
  }

  /// Whether a file can be another user's: root must be permitted to give it away, as not in every container.
  private static var hasFilesOfOthers: Bool {
    if geteuid() != 0 { return true }
    var isGiven = false
    try? Self.withFile("") { path in isGiven = chown(path, 12_345, gid_t.max) == 0 }
    return isGiven
  }

  @Test(.enabled(if: Self.hasFilesOfOthers, "root may not change the owner of files"))
  func `a file of another user is refused`() throws {
    // The tests' user seems to be another one, and the file not root's.
    try Self.withFile("\(Self.url)\n") { path in
      if geteuid() == 0 { #expect(chown(path, 12_345, gid_t.max) == 0) }
      let error = #expect(throws: VidiconError.self) { try StreamOptions.pushes(inFile: path, user: 54_321) }
      #expect(error?.description.contains("another user") == true)
    }
  }

  @Test func `a variable has URLs between white space`() throws {
    let targets = [try PushTarget(url: Self.url), try PushTarget(url: "rtmp://b/c/d")]
    let found = try StreamOptions.pushes(inVariable: " \(Self.url)\n\trtmp://b/c/d ")
    #expect(found == targets)
  }

  @Test(arguments: [
    "push: rtmp://a.example/app/SECRET", "push: [rtmp://a.example/app/SECRET]",
    "push: [{url: rtmp://a.example/app/SECRET}]",
    "push:\n      - url: rtmp://a.example/app/SECRET\n        rendition: main\n        adaptive: true",
  ])
  func `the configuration file has a list`(text: String) throws {
    let configuration = try ServeConfiguration(yaml: "streams:\n  - name: a\n    \(text)", path: "v.yaml")
    let target = try PushTarget(url: Self.url)
    #expect(configuration.streams[0].pushes == [target])
  }

  @Test func `values are checked by the same rules in options and in the configuration file`() throws {
    let special = try PushTarget(url: Self.url, rendition: "low", bitrate: 1_500_000, isAdaptive: false)
    for adaptive in ["no", "false"] {
      #expect(try Self.pushes(["--push", "rendition=low,bitrate=1500k,adaptive=\(adaptive),\(Self.url)"]) == [special])
      let file = "{rendition: low, bitrate: 1.5M, adaptive: \"\(adaptive)\", url: \"\(Self.url)\"}"
      let configuration = try ServeConfiguration(
        yaml: "streams:\n  - name: a\n    push: [\(file)]", path: "v.yaml")
      #expect(configuration.streams[0].pushes == [special])
    }
    for (key, value, cause) in [
      ("bitrate", "9k", "its bitrate is out of range"), ("token", "SECRET", "a token is of WHIP"),
      ("bitrate", "1500kb", "its bitrate is no number"), ("adaptive", "maybe", "neither yes nor no"),
    ] {
      let option = #expect(throws: VidiconError.self) { try Self.pushes(["--push", "\(key)=\(value),\(Self.url)"]) }
      let inFile = #expect(throws: VidiconError.self) {
        try ServeConfiguration(
          yaml: "streams:\n  - name: a\n    push: [{\(key): \(value), url: \"\(Self.url)\"}]", path: "v.yaml")
      }
      #expect(option?.description.contains(cause) == true && inFile?.description.contains(cause) == true)
      #expect(option?.description.hasPrefix("--push: ") == true)
      #expect(inFile?.description.hasPrefix("v.yaml:3") == true)
    }
  }

  @Test func `a configuration file with stream keys that all users can read is one line, without them`() throws {
    let pushing = "streams:\n  - name: a\n    push: \(Self.url)\n  - name: b\n    push: [\(Self.url)]\n"
    for (text, mode, count) in [
      (pushing, 0o644, 1), (pushing, 0o640, 0), (pushing, 0o600, 0), ("streams:\n  - name: a\n", 0o644, 0),
    ] {
      try Self.withFile(text, mode: mode) { path in
        let configuration = try ServeConfiguration(ServeCommand.parse(["--config", path]))
        #expect(configuration.warnings.count == count, "\(String(mode, radix: 8))")
        for warning in configuration.warnings {
          #expect(warning.hasPrefix(path) && warning.contains("chmod 600") && !warning.contains("SECRET"))
        }
      }
    }
  }

  @Test func `what cannot be pushed to is one line without the key`() throws {
    let texts = [
      "SECRET", "rtmp://h/SECRET", "x=SECRET,rtmp://h/a/k", "adaptive=SECRET,rtmp://h/a/k", "SECRET,SECRET",
      "rendition=low", "bitrate=SECRET,rtmp://h/a/k", "bitrate=1e99,rtmp://h/a/SECRET", "url=SECRET", "http://SECRET",
      "rtmp://h/a/", "bitrate=1500k,bitrate=SECRET,rtmp://h/a/k", "",
    ]
    for text in texts {
      let error = #expect(throws: VidiconError.self, "\(text)") { try Self.pushes(["--push", text]) }
      #expect(error?.description.contains("SECRET") == false && error?.description.contains("\n") == false)
      let yaml = "streams:\n  - name: a\n    push: [\"\(text)\"]"
      let inFile = #expect(throws: VidiconError.self) { try ServeConfiguration(yaml: yaml, path: "v.yaml") }
      #expect(inFile?.description.contains("SECRET") == false && inFile?.description.hasPrefix("v.yaml:3") == true)
    }
    let unknown = #expect(throws: VidiconError.self) {
      try ServeConfiguration(yaml: "streams:\n  - name: a\n    push: [{SECRET: 1}]", path: "v.yaml")
    }
    #expect(unknown?.description.contains("SECRET") == false)
    #expect(throws: VidiconError.self) {
      try Self.pushes(Array(repeating: ["--push", Self.url], count: 9).flatMap(\.self))
    }
    #expect(throws: VidiconError.self) {
      try Self.pushes(["--stream", "name=a", "--stream", "name=b", "--push", Self.url])
    }
  }

  @Test func `the status line has what each push does`() throws {
    var status = PushStatus()
    (status.phase, status.sentBitrate) = (.sending, 2_310_000)
    var report = PushReport(id: 1, address: "rtmp://a.example/app", status: status)
    #expect(report.summary == "push 1 2.31 Mb/s")
    (report.status.hasOwnEncoding, report.status.bitrate) = (true, 812_000)
    report.status.sentBitrate = 800_000
    (report.status.queueAge, report.status.droppedFrames, report.status.reconnects) = (.milliseconds(900), 12, 3)
    #expect(
      report.summary
        == "push 1 0.80 Mb/s of its own at 0.81 Mb/s 0.9 s behind 12 dropped 3 reconnects")
    report.status = PushStatus()
    (report.status.phase, report.status.isWaitingForEncoding) = (.sending, true)
    report.status.sentBitrate = 2_300_000
    #expect(report.summary == "push 1 2.30 Mb/s waits for an encoding")
    let event = PushEvent(push: 1, address: report.address, kind: .waitingForEncoding(sentBitrate: 2_300_000))
    let time = CalendarTime(unixTime: .zero)
    #expect(
      LogFormat.text.line(event.logEvent(of: "a"), isJournal: false, at: time)
        == "vidicon: a: push 1 to rtmp://a.example/app: no encoding of its own is free; it gets the stream at 2.30 Mb/s until "
        + "one is")
    let kinds: [(PushEvent.Kind, name: String, words: String)] = [
      (.sending, "<5>event=push_sending", "sending"), (.stopped, "<5>event=push_stopped", "stopped"),
      (.failed("refused", nextAttempt: .milliseconds(1500)), "<4>event=push_failed", "refused; again in 1.5 s"),
      (.failed("refused", nextAttempt: nil), "<4>event=push_failed", "refused"),
    ]
    for (kind, name, words) in kinds {
      let event = PushEvent(push: 1, address: report.address, kind: kind)
      #expect(
        LogFormat.keys.line(event.logEvent(of: "a"), isJournal: true, at: time)
          == "\(name) stream=a push=1 server=\(report.address) message=\"push 1 to \(report.address): \(words)\"")
    }
    report.status = PushStatus()
    report.status.phase = .waiting(until: .zero)
    report.nextAttempt = .milliseconds(3200)
    #expect(report.summary == "push 1 again in 4 s")
  }
}
