import Foundation
import TestSupport
import Testing

@testable import Recording
@testable import VidiconCommand

@Suite("Exit status and message of the program")
struct ExitStatusTests {
  @Test(
    arguments: [
      (["serve", "--fps", "0"], "\"0\": it is not a frame rate; give 1 to 240"),
      (["serve", "--rtsp-port", "70000"], "--rtsp-port: 70000 is not a port; give 1 to 65535"),
      (["serve", "--rtsp-port", "abc"], "--rtsp-port: \"abc\" is not a port; give 1 to 65535"),
      (
        ["serve", "--rtsp-port", "1", "--http-port", "1"],
        "--http-port: it is 1, as --rtsp-port is; give each a port of its own"
      ),
      (["serve", "--tls-cert", "c.pem"], "give both --tls-cert FILE and --tls-key FILE"),
      (["serve", "--rtmps-port", "1"], "RTMPS needs a certificate"),
      (["serve", "--webrtc", "off", "--ice-address", "192.0.2.1"], "leave --webrtc off out"),
      (["serve", "--webrtc", "no"], "give on or off"), (["serve", "--ice-server", "stun:"], "write stun:HOST"),
      (["serve", "--webrtc-port", "65536"], "--webrtc-port"),
      (["serve", "--rtmp-port", "8554"], "it is 8554, as --rtsp-port is"),
      (["serve", "--rtsps-port", "1"], "RTSPS needs a certificate"),
      (["serve", "--stream", "name=a", "--stream", "name=a"], "\"a\": two streams have this name; give each its own"),
      (
        ["serve", "--stream", "name=a,source=pipe:", "--stream", "name=b,source=pipe:"],
        "standard input: it can feed one stream only; use pipe: once"
      ),
      (
        ["serve", "--stream", "name=a,source=file:x.mp4,faces=privacy", "--stream", "name=b,source=file:x.mp4"],
        "\"b\": it would show the source of \"a\" without privacy"
      ),
      (["serve", "--name", "a", "--stream", "name=b"], "--name: it cannot be given with --stream"),
      (["serve", "--split-size", "1M"], "nothing is recorded; add --record PATTERN"),
      (["serve", "--user", "joe"], "a name, a colon and a password are expected; give NAME:PASSWORD"),
      (["serve", "--source", "tape:"], "tape:"),
      (["serve", "--mask-part", "eyes"], "add --mask"),
      (["serve", "--colour", "red"], "see vidicon --help"), (["tape"], "see vidicon --help"),
      (["serve", "--fps"], "see vidicon --help"), (["record"], "see vidicon --help"),
      (["repair"], "see vidicon --help"), (["control"], "see vidicon --help"),
      (["control", "live"], "there is nothing to change; give KEY=VALUE"),
      (["control", "colour=red"], "\"colour\": there is no such key"),
      (["status", "--port", "70000"], "is not a port"),
      (["record", "x.mp4", "--duration", "soon"], "\"soon\": it is not a time"),
      (["record", "x.mp4", "--stream", "name=a", "--stream", "name=b"], "records one stream"),
      (["record", "%Q.mp4", "--source", "bars"], "%Q"),
    ] as [([String], String)])
  func `a wrong option ends the program with status 64 and one line`(arguments: [String], message: String) async throws
  {
    let result = try await BuiltProgram("vidicon").run(arguments)
    #expect(result.status == 64)
    #expect(OutputLines(result.output).text.isEmpty)
    let lines = OutputLines(result.errors).own
    #expect(lines.count == 1 && lines[0].contains(message), "\(lines)")
  }

  @Test(
    arguments: [
      ["serve", "--user", "anna", "sesame"], ["serve", "--operator=anna", "sesame"], ["serve", "anna:sesame"],
      ["serve", "--usr", "anna:sesame"], ["serve", "--usr=anna:sesame"], ["serve", "--user", "sesame"],
      ["serve", "--source", "htp://anna:sesame@h/x"], ["serve", "--source", "rtsp:/anna:sesame@h/x"],
      ["serve", "--audio", "htp://h/x?token=sesame", "--source", "bars"], ["serve", "--source", "rtsp://anna:sesame@"],
      ["serve", "--stream", "source=rtsp://anna:sesame@h/x"],
      ["serve", "--stream", "name=a,source=rtsp://a:b,sesame,c@h"],
      ["record", "x.mp4", "--source", "htp://anna:sesame@h/x"], ["control", "live", "htp://anna:sesame@h/x"],
      ["control", "htp://anna:sesame@h/x?a=b"], ["control", "htp://anna:sesame@h/x", "mirror=true"],
      ["control", "source:rtsp://anna:sesame@h/x=1"],
    ])
  func `a wrong command line ends the program with status 64 and one line without the password`(
    arguments: [String]
  ) async throws {
    let result = try await BuiltProgram("vidicon").run(arguments)
    #expect(result.status == 64)
    let errors = OutputLines(result.errors)
    #expect(errors.own.count == 1 && !errors.text.contains("sesame"), "\(errors.own)")
    #expect(OutputLines(result.output).text.isEmpty)
  }

  @Test(
    arguments: [
      (["serve", "--config", "/nowhere/vidicon.yaml"], "there is no such file; check the path of --config"),
      (["serve", "--source", "file:/nowhere/clip.mp4"], "there is no such file"),
      (["serve", "--source", "bars", "--recordings", "/nowhere"], "there is no such folder; create it"),
      (["record", "/nowhere/clip.mp4", "--source", "bars", "--audio", "none", "--size", "64x48"], "/nowhere"),
      (["repair", "/nowhere/clip.mp4"], "/nowhere/clip.mp4: "),
    ] as [([String], String)])
  func `a missing file ends the program with status 1 and one line`(arguments: [String], message: String) async throws {
    let result = try await BuiltProgram("vidicon").run(arguments)
    #expect(result.status == 1)
    #expect(OutputLines(result.output).text.isEmpty)
    let lines = OutputLines(result.errors).own
    #expect(lines.count == 1 && lines[0].contains(message), "\(lines)")
  }

  @Test func `each of several files to repair is reported, and a failed one determines the exit status`() async throws {
    let result = try await BuiltProgram("vidicon").run(["repair", "/nowhere/1.mp4", "/nowhere/2.mp4"])
    #expect(result.status == 1)
    let lines = OutputLines(result.errors).own
    #expect(lines.count == 2 && lines[0].contains("1.mp4") && lines[1].contains("2.mp4"))
  }

  @Test(
    arguments: [
      (["--version"], ProgramVersion.number), (["--help"], "SUBCOMMANDS:"), (["serve", "--help"], "--rtsp-port"),
      (["help", "record"], "--split-duration"), ([], "SUBCOMMANDS:"),
    ] as [([String], String)])
  func `help and version are on standard output, with status 0`(arguments: [String], text: String) async throws {
    let result = try await BuiltProgram("vidicon").run(arguments)
    #expect(result.status == 0)
    #expect(OutputLines(result.output).text.contains(text))
    #expect(OutputLines(result.errors).own == [])
  }

  @Test(.timeLimit(.minutes(5)))
  func `a recording of a given length ends with status 0, and reports its file as text`() async throws {
    let folder = try TemporaryFolder()
    let result = try await BuiltProgram("vidicon").run([
      "record", "\(folder.path)/clip.mp4", "--source", "bars", "--audio", "tone", "--size", "64x48", "--fps", "10",
      "--duration", "1.5s",
    ])
    #expect(result.status == 0)
    let lines = OutputLines(result.output).lines
    #expect(lines.first == "  Recording  \(folder.path)/clip.mp4")
    // A busy machine may be late with the last frames, which are then not in the file.
    let report = lines.last { $0.hasPrefix("  Recorded   \(folder.path)/clip.mp4   00:00:0") }
    #expect(report != nil && report == lines.last, "\(lines)")
    #expect(onQuietMachine(report?.contains("   00:00:01   ") == true), "\(lines)")
    #expect(OutputLines(result.errors).own == [])
    // The same name again is refused.
    let again = try await BuiltProgram("vidicon").run([
      "record", "\(folder.path)/clip.mp4", "--source", "bars", "--duration", "1s",
    ])
    #expect(again.status == 1)
    let errors = OutputLines(again.errors).own
    #expect(errors.last?.hasSuffix("it exists already; give another name, or --overwrite") == true, "\(errors)")
  }

  @Test(.timeLimit(.minutes(5)))
  func `SIGHUP of a closed terminal finishes the recording, with status 0`() async throws {
    let session = try RecordingSession()
    try await session.hangUp(closingTerminal: true)
    let result = try await session.end()
    #expect(result.status == 0, "\(result.errors.text)")
    let files = Recordings.list(matching: try FilePattern(session.path))
    #expect(files.map(\.isFinished) == [true])
  }

  @Test(
    .timeLimit(.minutes(5)), arguments: [true, false])
  func `SIGHUP is ignored when it was ignored at the start, as with nohup, or without a terminal`(
    isIgnored: Bool
  ) async throws {
    let session = try RecordingSession(
      ignoresHangup: isIgnored, hasTerminal: isIgnored, ["--audio", "none", "--duration", "5.5s"])
    try await session.hangUp(closingTerminal: false)
    let result = try await session.end()
    #expect(result.status == 0)
    let lines = result.output.lines
    // The first fragment, after which the signal comes, has a second at most.
    #expect(lines.last?.contains(/00:00:0[2-5]/) == true, "\(lines)")
    #expect(onQuietMachine(lines.last?.contains("00:00:05") == true), "\(lines)")
    let warnings = result.errors.text
    #expect(warnings.contains("SIGHUP: goes on") == !isIgnored, "\(warnings)")
  }

  @Test(.timeLimit(.minutes(5)))
  func `with JSON, a recording's events are its parts in order`() async throws {
    let folder = try TemporaryFolder()
    let result = try await BuiltProgram("vidicon").run([
      "record", "\(folder.path)/clip.mp4", "--source", "plasma", "--audio", "none", "--size", "64x48", "--fps", "10",
      "--duration", "1s", "--name", "door", "--json",
    ])
    #expect(result.status == 0)
    let objects = try OutputLines(result.output).lines.map {
      try JSONDecoder().decode([String: JSONValue].self, from: Data($0.utf8))
    }
    let events = objects.filter { $0["event"] == "recording" }
    #expect(events.map { $0["change"] } == ["started", "finished", "ended"])
    #expect(events.allSatisfy { $0["stream"] == "door" })
    #expect(events.prefix(2).allSatisfy { $0["path"] == .text("\(folder.path)/clip.mp4") })
    guard events.count > 1, case .number(let seconds)? = events[1]["seconds"] else {
      Issue.record("no length")
      return
    }
    #expect(seconds > 0 && seconds <= 1.1)
    #expect(onQuietMachine(seconds >= 0.9), "\(seconds)")
    // Progress names the same state and file.
    for object in objects where object["event"] == "status" {
      guard case .object(let recording)? = object["recording"] else {
        Issue.record("no recording in \(object)")
        continue
      }
      #expect(recording["path"] == .text("\(folder.path)/clip.mp4") && recording["parts"] == 1)
    }
  }
}

/// A folder that is removed with the last reference.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    self.path = FileManager.default.temporaryDirectory.appending(path: "command-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: self.path)  // A leftover folder is harmless.
  }
}
