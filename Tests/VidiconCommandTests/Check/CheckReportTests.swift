import CaptureDevices
import ControlAPI
import Dispatch
import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("Report of a check", .timeLimit(.minutes(5)))
struct CheckReportTests {
  private static let report = CheckReport([
    .cameras: [.warning("camera v4l2:/dev/video0", "obs (process 7) has it open", .advice("close that program"))],
    .ports: [
      .ok("HTTP port 8080", "free"), .fault("RTSP port 8554", "in use", .command("sudo ss -lnpt 'sport = :8554'")),
    ],
  ])

  @Test func `each finding is a line in the order of the parts, with its remedy below`() {
    #expect(
      Self.report.lines == [
        "ok       HTTP port 8080           free",
        "fault    RTSP port 8554           in use",
        "         run: sudo ss -lnpt 'sport = :8554'",
        "warning  camera v4l2:/dev/video0  obs (process 7) has it open",
        "         close that program",
        "1 fault, 1 warning",
      ])
    #expect(CheckReport([.clock: [.ok("clock", "synchronized")]]).lines.last == "all right")
  }

  @Test func `names of devices and files cannot end a line or color it`() {
    let report = CheckReport([.cameras: [.fault("a\nb", "c\u{1B}[31md", .advice("e\r\nf"))]])
    #expect(report.lines == ["fault    a b  c [31md", "         e f", "1 fault"])
  }

  @Test func `JSON has each finding with its part, and a command or an advice`() throws {
    let data = try JSONEncoder().encode(Self.report.entry)
    let object = try JSONDecoder().decode([String: JSONValue].self, from: data)
    #expect(object["verdict"] == "fault")
    #expect(
      object["findings"] == [
        .object(["part": "ports", "subject": "HTTP port 8080", "verdict": "ok", "meaning": "free"]),
        .object([
          "part": "ports", "subject": "RTSP port 8554", "verdict": "fault", "meaning": "in use",
          "command": "sudo ss -lnpt 'sport = :8554'",
        ]),
        .object([
          "part": "cameras", "subject": "camera v4l2:/dev/video0", "verdict": "warning",
          "meaning": "obs (process 7) has it open", "advice": "close that program",
        ]),
      ])
  }

  @Test func `the exit status is that of the worst finding`() {
    let (ok, warning) = (CheckFinding.ok("a", "b"), CheckFinding.warning("a", "b", nil))
    #expect(CheckReport([:]).exitStatus == 0 && CheckReport([.clock: [ok]]).exitStatus == 0)
    #expect(CheckReport([.clock: [ok, warning]]).exitStatus == 1)
    #expect(Self.report.exitStatus == 2)
  }

  @Test func `an error becomes its cause and its next step, of which a command stands alone`() {
    let error = VidiconError(.notFound, subject: "a", cause: "b", nextStep: "run: c -d")
    #expect(CheckFinding(error) == .fault("a", "b", .command("c -d")))
    #expect(CheckFinding(error, subject: "e", verdict: .warning) == .warning("e", "b", .command("c -d")))
    #expect(CheckFinding.Remedy(nextStep: "run: c $D, then log in again") == .command("c $D  # then log in again"))
    #expect(CheckFinding("a", problem: "b; do c; d", verdict: .fault) == .fault("a", "b", .advice("do c; d")))
    #expect(CheckFinding("a", problem: "b", verdict: .fault) == .fault("a", "b", nil))
  }

  @Test(arguments: [
    ("sudo ufw allow 1/tcp", "ufw allow 1/tcp"), ("sudo mkdir a && sudo chown b a", "mkdir a && chown b a"),
    ("mkdir 'a && sudo b'", "mkdir 'a && sudo b'"), (#"sudo df 'a\''b && sudo c'"#, #"df 'a\''b && sudo c'"#),
    (#"sudo df 'a\' && sudo b"#, #"df 'a\' && b"#), ("echo sudo a", "echo sudo a"),
  ])
  func `root needs no sudo, which many machines of root do not have`(command: String, own: String) {
    let report = CheckReport([.ports: [.fault("a", "b", .command(command)), .fault("c", "d", .advice(command))]])
    #expect(report.forRoot.findings.map(\.remedy) == [.command(own), .advice(command)])
    #expect(report.forRoot.exitStatus == 2 && report.forRoot.sections.map(\.part) == [.ports])
  }

  @Test(
    arguments: [
      ("mkdir -p 'a && b'", "sudo -u door mkdir -p 'a && b'"), ("sudo mkdir a && sudo chown b a", nil),
      ("sudo chown b a && chmod u+rwx a", "sudo chown b a && sudo -u door chmod u+rwx a"),
      ("vidicon devices", "sudo -u door vidicon devices"), ("ip address", nil), ("timedatectl", nil),
      ("sudo usermod -aG audio door  # then log in again", nil),
    ] as [(String, String?)])
  func `on the page, commands run as the user of the program that serves`(command: String, other: String?) {
    let finding = CheckFinding.fault("a", "b", .command(command))
    #expect(finding.forOthers("sudo -u door") == .fault("a", "b", .command(other ?? command)))
    let advice = CheckFinding.fault("a", "b", .advice(command))
    #expect(advice.forOthers("sudo") == advice && CheckFinding.ok("a", "b").forOthers("sudo") == .ok("a", "b"))
  }

  @Test func `the report of a program that serves has commands for other users`() async {
    let finding = CheckFinding.fault("a", "b", .command("chmod 600 c"))
    let check = ServiceCheck { MachineCheck(parts: [.configuration: { [finding] }], limit: .seconds(300)) }
    #expect(await check.perform().findings.map(\.command) == ["\(CurrentUser.substitute) chmod 600 c"])
  }

  @Test func `a part that does not respond is a fault, and takes nothing from the others`() async {
    let isReleased = DispatchSemaphore(value: 0)
    defer { isReleased.signal() }
    let hanging = MachineCheck(
      parts: [
        .screen: {
          _ = isReleased.wait(timeout: .now() + .seconds(300))
          return []
        }
      ], limit: .milliseconds(20))
    let report = await hanging.run()
    #expect(report.sections.map(\.part) == [.screen] && report.exitStatus == 2)
    #expect(report.findings.map(\.meaning) == ["no response within the time of the check"])
    let others = MachineCheck(
      parts: [.clock: { [.ok("clock", "synchronized")] }, .ports: { [] }], limit: .seconds(300))
    let sections = await others.run().sections
    #expect(sections.map(\.part) == [.ports, .clock] && sections.map(\.findings.count) == [0, 1])
  }
}
