import ArgumentParser
import Foundation
import Media
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("vidicon check", .timeLimit(.minutes(5)))
struct CheckCommandTests {
  @Test func `each of several faults of one configuration is found, by its part`() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = "\(folder.path)/vidicon.yaml"
    let text = """
      bind: 192.0.2.7
      rtspPort: 8554
      httpPort: 8080
      webrtc: "off"
      discovery: false
      httpsPort: 8443
      tlsCertificate: \(folder.path)/cert.pem
      tlsKey: \(folder.path)/key.pem
      streams:
        - {name: door, source: "v4l2:/dev/video-none", audio: none, size: 64x48, record: "\(folder.path)/none/a.mp4"}
        - {name: yard, source: bars, audio: none, size: 64x48, encoder: none}
      """
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    var check = MachineCheck(ConfigurationReading(try ServeCommand.parse(["--config", path])))
    check.limit = .seconds(300)
    // Root reads the rules by another program.
    check.parts[.firewall] = nil
    let report = await check.run()
    #expect(report.exitStatus == 2)
    func faults(_ part: CheckPart) -> [String] {
      report.sections.filter { $0.part == part }.flatMap(\.findings).filter { $0.verdict == .fault }.map(\.subject)
    }
    #expect(faults(.configuration) == ["\(folder.path)/cert.pem"])
    #expect(faults(.ports) == ["RTSP port 8554", "HTTP port 8080", "HTTPS port 8443"])
    #expect(faults(.addresses) == ["address 192.0.2.7"])
    #expect(faults(.cameras) == ["camera v4l2:/dev/video-none"])
    // A busy machine may be too slow for the other one.
    #expect(faults(.encoder).contains("encoder of yard"))
    #expect(faults(.recordings) == ["recordings of door"])
    #expect(faults(.certificates) == ["\(folder.path)/cert.pem"])
    for finding in report.findings where finding.verdict != .ok {
      #expect(finding.remedy != nil && !finding.meaning.isEmpty, "\(finding)")
    }
    let parts = CheckPart.allCases.filter { check.parts[$0] != nil }
    #expect(parts.count == 13)
    #expect(report.sections.map(\.part) == parts && report.sections.allSatisfy { !$0.findings.isEmpty })
  }

  @Test func `a command that mends a fault removes it`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let configuration = try ServeConfiguration(
      unchecked: ServeCommand.parse(["--source", "bars", "--record", "\(folder.path)/a b/c.mp4"]))
    let before = RecordingFacts(configuration).findings
    guard case .command(let command)? = before.first?.remedy else {
      Issue.record("\(before)")
      return
    }
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", command]
    try Process.startAlone { try shell.run() }
    shell.finish()
    let after = RecordingFacts(configuration).findings
    #expect(before[0].verdict == .fault && after.count == 1 && after[0] != before[0], "\(after)")
    #expect(!after[0].meaning.contains("does not exist"))
  }

  @Test func `a report that cannot be written is refused before the check of a stream`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try CheckCommand.requireWritable("\(folder.path)/report.md")
    for path in ["\(folder.path)/none/report.md", folder.path] {
      let error = try #require(throws: VidiconError.self) { try CheckCommand.requireWritable(path) }
      #expect(error.cause == "the report cannot be written")
    }
  }

  @Test func `the program prints findings and a summary, or one object, and ends with their status`() async throws {
    let arguments = ["--source", "bars", "--size", "64x48", "--fps", "0", "--bind", "127.0.0.1", "--no-discovery"]
    let text = try await BuiltProgram("vidicon").run(["check"] + arguments)
    #expect(text.status == 2)
    #expect(OutputLines(text.output).lines.last?.contains(" fault") == true)
    let json = try await BuiltProgram("vidicon").run(["check", "--json"] + arguments)
    #expect(json.status == 2)
    let lines = OutputLines(json.output).lines
    #expect(lines.count == 1)
    let object = try JSONDecoder().decode([String: JSONValue].self, from: Data((lines.first ?? "").utf8))
    #expect(object["verdict"] == "fault")
    let unknown = try await BuiltProgram("vidicon").run(["check", "--colour", "red"])
    #expect(unknown.status == 64)
  }
}
