import ArgumentParser
import Foundation
import Media
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("vidicon config")
struct ConfigCommandTests {
  /// A configuration file, readable by its owner only.
  private struct File {
    private let folder: TemporaryFolder
    var path: String { "\(self.folder.path)/vidicon.yaml" }

    init(_ text: String) throws {
      self.folder = try TemporaryFolder()
      #expect(
        FileManager.default.createFile(
          atPath: self.path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
    }

    func configuration(_ arguments: String...) throws -> ServeConfiguration {
      try ServeConfiguration(ServeCommand.parse(["--config", self.path] + arguments))
    }
  }

  private static let secrets = """
    iceServers: ["stun:a.example", "turn:us:sesame@b.example"]
    users: [{name: anna, password: sesame}, {name: bert, password: "@sesame"}, {token: sesamesesamesesame, role: operator}]
    streams:
      - name: door
        source: rtsp://anna:sesame@192.0.2.7/stream1
        push: [rtmp://a.example/app/sesame, {url: whip+https://b.example/sesame, token: sesame, bitrate: 500k},
          {url: whip+https://c.example/, token: "@sesame"}, "whip+https://d.example/sesame?key=sesame&rendition=low",
          "rtmp://e.example/app/k?rendition=sesame,y"]
      - {name: studio, source: "whip:?token=sesamesesamesesame"}
    """

  @Test func `text in place of a file is read as the file is, with the options, and its errors name the given path`()
    throws
  {
    let text = "httpPort: 1\nhosts: [a, b]\nstreams: [{name: door, source: bars, size: 64x48}]\n"
    let command = try ServeCommand.parse(["--config", "/absent/vidicon.yaml", "--http-port", "8081"])
    let configuration = try ServeConfiguration(command, file: (text: text, path: SetupCommand.path))
    #expect(configuration.httpPort == 8081 && configuration.streams.map(\.name) == ["door"])
    let file = try File(text)
    #expect(try file.configuration("--http-port", "8081") == configuration)
    for (text, place) in [("streams: [{name: door, sorce: bars}]\n", ":1:"), ("a: [\n", ":"), ("", "")] {
      let error = #expect(throws: VidiconError.self) {
        try ServeConfiguration(command, file: (text: text, path: SetupCommand.path))
      }
      #expect(error?.code == .invalidSpecification && error?.subject.hasPrefix(SetupCommand.path + place) == true)
    }
  }

  @Test func `each value has its origin, and a preset is one`() throws {
    let file = try File("httpPort: 0\nhosts: [a, b]\nstreams: [{name: door, size: 64x48, fps: 15}]\n")
    let configuration = try file.configuration("--rtsp-port", "0", "--preset", "portrait", "--host", "c")
    let text = ConfigurationText(configuration, showsSecrets: false).text
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    for line in [
      "httpPort: 0 # file", "rtspPort: 0 # option", "- c # option", "- name: door # file", "fps: 15 # file",
      "preset: portrait # option", "size: 720x1280 # preset", "bitrate: 2300000 # preset", "# audio: auto # default",
      "# webrtcPort: 8189 # default", "# rtmpPort: # default",
    ] { #expect(lines.contains(line), "\(line) is not in \(text)") }
    #expect(!lines.contains("- a # file"))
    #expect(try File(text).configuration() == configuration)
  }

  @Test func `secrets are masked, and a masked one is refused with its place`() throws {
    let configuration = try File(Self.secrets).configuration()
    let text = ConfigurationText(configuration, showsSecrets: false).text
    #expect(!text.contains("sesame"), "\(text)")
    for shown in [
      "stun:a.example", "@b.example", "anna", "192.0.2.7/stream1", "rtmp://a.example/app/…", "500k",
      "whip+https://d.example/…?rendition=low",
    ] {
      #expect(text.contains(shown), "\(shown) is not in \(text)")
    }
    let masked = try File(text)
    let error = #expect(throws: VidiconError.self) { try masked.configuration() }
    #expect(
      error?.exitStatus == 64 && error?.description.contains("its secret is masked") == true,
      "\(String(describing: error))")
    #expect(error?.description.hasPrefix("\(masked.path):") == true, "\(String(describing: error))")
    let shown = ConfigurationText(configuration, showsSecrets: true).text
    #expect(try File(shown).configuration() == configuration)
  }

  @Test(arguments: [
    "users: [{name: anna, password: …}]", "users: [{token: …, role: operator}]",
    "streams: [{name: a, source: \"rtsp://…@h/x\"}]", "streams: [{name: a, audio: \"rtsp://…@h/x\"}]",
    "streams: [{name: a, push: rtmp://h/app/…}]", "streams: [{name: a, source: \"whip:\", whipToken: …}]",
    "iceServers: [\"turn:…@h\"]",
  ])
  func `no masked secret is accepted`(yaml: String) throws {
    let error = #expect(throws: VidiconError.self) { try ServeConfiguration(yaml: yaml, path: "vidicon.yaml") }
    #expect(error?.cause == "its secret is masked", "\(String(describing: error))")
  }

  @Test(arguments: [
    ["--user", "anna:…"], ["--operator", "anna:…"], ["--push", "rtmp://h/app/…"],
    ["--push", "token=…,url=whip+https://h/p"], ["--ice-server", "turn:…@h"], ["--source", "file:rtsp://…@h/x"],
  ])
  func `no masked secret is accepted as an option`(arguments: [String]) throws {
    let error = #expect(throws: VidiconError.self) { try ServeConfiguration(ServeCommand.parse(arguments)) }
    #expect(error?.cause == "its secret is masked", "\(String(describing: error))")
  }

  @Test(arguments: ["file:2026-11-22_12:30.mp4", "v4l2:Integrated Camera: Integrated C", "screen::0.0+1,2"])
  func `names of files and devices are shown as they are`(source: String) throws {
    let yaml = "streams: [{name: a, source: \"\(source)\"}]"
    let text = ConfigurationText(try File(yaml).configuration(), showsSecrets: false).text
    #expect(text.contains(source) && !text.contains("…"), "\(text)")
  }

  @Test(arguments: [
    ("bind: localhost", "--bind"), ("iceAddresses: [cam.example.org]", "--ice-address"),
    ("streams: [{name: a, rendition: none, push: {url: rtmp://h/a/k, rendition: low}}]", "the push"),
    ("streams: [{name: a, rendition: none, push: rtmp://h/a/k?rendition=low}]", "the push"),
  ])
  func `check names what the start would find out`(yaml: String, subject: String) throws {
    let configuration = try File(yaml).configuration()
    let error = #expect(throws: VidiconError.self) { try configuration.checkFiles() }
    #expect(error?.subject == subject && error?.exitStatus == 64, "\(String(describing: error))")
  }

  @Test func `a file may have the mask in its name, and a title has it`() throws {
    let yaml = "streams: [{name: a, source: \"file:/a/b….mp4\", title: \"Yard…\", record: x.mp4}]"
    #expect(try ServeConfiguration(yaml: yaml, path: "vidicon.yaml").streams[0].recording.title == "Yard…")
  }

  @Test(
    arguments: [
      (
        "bitrate: 2M",
        "vidicon.yaml:1:1: unknown key \"bitrate\"; \"bitrate\" is a key of a stream; write it below streams"
      ),
      ("rtsp-port: 1", "vidicon.yaml:1:1: unknown key \"rtsp-port\"; did you mean \"rtspPort\"?"),
      (
        "streams:\n  - name: a\n    bitrat: 2M",
        "vidicon.yaml:3:5: unknown key \"bitrat\"; did you mean \"bitrate\"?"
      ),
      (
        "streams: [{name: a, httpPort: 1}]",
        "vidicon.yaml:1:21: unknown key \"httpPort\"; \"httpPort\" is a key of the server; write it outside of streams"
      ),
      ("users: [{name: a, pasword: x}]", "vidicon.yaml:1:19: unknown key; did you mean \"password\"?"),
    ])
  func `an unknown key is named with its place and the key that was meant`(yaml: String, message: String) throws {
    let error = #expect(throws: VidiconError.self) { try ServeConfiguration(yaml: yaml, path: "vidicon.yaml") }
    #expect(error?.description == message && error?.exitStatus == 64)
  }

  @Test func `a key of --stream that was meant is named`() throws {
    let error = #expect(throws: VidiconError.self) {
      try StreamOptions(parsing: "name=a,bitrat=2M", defaults: StreamOptions())
    }
    #expect(error?.nextStep.hasPrefix("did you mean bitrate? They are ") == true)
  }

  @Test(
    arguments: [
      ("insecureBasic: true", "insecureBasic: it has no effect, since no user has a password"),
      ("insecureBasic: true\nusers: [{name: a, password: b}]", nil),
      ("recordingsFor: viewers", "recordingsFor: it has no effect, since nothing is recorded"),
      ("recordingsFor: viewers\nstreams: [{name: a, recordings: /}]", nil),
      ("control: none\nfiles: [/]", "files: it has no effect, since no client may choose a source with control none"),
      ("cors: [\"*\", \"https://a.example\"]", "cors: other origins have no effect, since * stands for all"),
      (
        "users: [{token: 0123456789abcdef, role: publisher, stream: yard}]\nstreams: [{name: door}]",
        "users: a publisher has no effect, since there is no stream \"yard\""
      ),
      (
        "streams: [{name: a, audio: none, audioBitrate: 48k}]",
        "audioBitrate of \"a\": it has no effect, since audio is none"
      ),
      ("streams: [{name: a, audio: none, preset: portrait}]", nil),
      (
        "streams: [{name: a, passThrough: \"on\", profile: main}]",
        "passThrough of \"a\": it has no effect, since a profile is encoded always"
      ),
      (
        "streams: [{name: a, record: x.mp4, recordings: /}]",
        "recordings of \"a\": it has no effect, since record names the files"
      ),
      (
        "streams: [{name: a, record: x.mp4}, {name: b, keepAge: 3d}]",
        "keepAge of \"b\": it has no effect, since the stream has neither record nor recordings"
      ),
      ("streams: [{name: a, record: x.mp4}, {name: b, recordings: /, keepAge: 3d}]", nil),
    ] as [(String, String?)])
  func `a setting without effect is named with the reason`(yaml: String, line: String?) throws {
    #expect(try File(yaml).configuration().ineffectiveSettings == (line.map { [$0] } ?? []))
  }

  @Test func `an option of recordings for all streams is not named for those without one`() throws {
    let file = try File("streams: [{name: a, record: x.mp4}, {name: b}]")
    #expect(try file.configuration("--keep-age", "3d").ineffectiveSettings == [])
    let streams = ["--stream", "name=a,record=x.mp4", "--stream", "name=b,keepSize=1G"]
    let command = try ServeCommand.parse(streams)
    let lines = try ServeConfiguration(command).ineffectiveSettings
    #expect(lines == ["keepSize of \"b\": it has no effect, since the stream has neither record nor recordings"])
  }

  @Test func `check ends with one line and a status, and opens nothing`() async throws {
    let file = try File("control: none\nfiles: [/]\nstreams: [{name: door, source: bars}, {name: yard}]\n")
    let result = try await BuiltProgram("vidicon").run(["config", "check", file.path])
    #expect(result.status == 0)
    #expect(OutputLines(result.output).lines == ["\(file.path): valid, with the streams door, yard"])
    #expect(OutputLines(result.errors).own.count == 1, "the setting without effect")
    let wrong = try File("streams:\n  - {name: a, fps: 0}\n")
    let failure = try await BuiltProgram("vidicon").run(["config", "check", wrong.path])
    let line = OutputLines(failure.errors).own.first ?? ""
    #expect(failure.status == 64 && line.contains("\(wrong.path):2:20: \"0\": it is not a frame rate"), "\(line)")
    let missing = try await BuiltProgram("vidicon").run(["config", "check", "/nowhere/vidicon.yaml"])
    #expect(missing.status == 1 && OutputLines(missing.output).text.isEmpty)
    let twice = try await BuiltProgram("vidicon").run(["config", "check", file.path, "--config", file.path])
    #expect(twice.status == 64)
  }

  @Test func `print writes a file that check accepts`() async throws {
    let file = try File("rtspPort: 0\nstreams: [{name: door, source: bars}]\n")
    let printed = try await BuiltProgram("vidicon").run(["config", "print", file.path, "--fps", "15"])
    #expect(printed.status == 0 && OutputLines(printed.errors).own == [])
    let again = try File(OutputLines(printed.output).text)
    #expect(try again.configuration() == file.configuration("--fps", "15"))
  }
}
