import ArgumentParser
import Foundation
import Media
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Relative paths in the configuration of the service")
struct ServiceFolderTests {
  @Test func `the configuration of the service is known also by a link`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (file, link) = ("\(folder.path)/vidicon.yaml", "\(folder.path)/link.yaml")
    try Data("{}".utf8).write(to: URL(filePath: file))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    #expect(ServiceFolder.isOf(configuration: file, service: file))
    #expect(ServiceFolder.isOf(configuration: link, service: file))
    #expect(!ServiceFolder.isOf(configuration: "\(folder.path)/other.yaml", service: file))
    // Another file stays what it is, and so does none.
    #expect(ServiceFolder.enter(configuration: file) == file && ServiceFolder.enter(configuration: nil) == nil)
  }

  @Test func `relative paths are below the folder of the service`() {
    #expect(ServiceFolder.resolved("clips") == "/var/lib/vidicon/clips")
    #expect(ServiceFolder.resolved(".", in: "/s") == "/s" && ServiceFolder.resolved("/srv", in: "/s") == "/srv")
  }

  @Test func `a folder of recordings is looked for below that of the service, and belongs to its user`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let configuration = try ServeConfiguration(
      unchecked: ServeCommand.parse(["--source", "bars", "--recordings", "clips"]))
    func finding() -> CheckFinding { RecordingFacts(configuration, of: folder.path).findings[0] }
    let clips = "\(folder.path)/clips"
    #expect(
      finding()
        == .fault(
          "recordings of live", "the folder \(clips) of the service does not exist",
          .command(
            "sudo mkdir -p \(clips.shellWord) && sudo chown --reference=\(folder.path.shellWord) \(clips.shellWord)")))
    try FileManager.default.createDirectory(atPath: clips, withIntermediateDirectories: false)
    #expect(finding().verdict != .fault || finding().meaning.contains("less than what is to stay free"))
    #expect(RecordingFacts(configuration, of: folder.path).targets[0].folder == clips)
    // Without the service, the same path is one of this process.
    #expect(RecordingFacts(configuration).targets[0].folder == "clips")
  }

  @Test func `a folder that the user of the service may not write to is given to it`() {
    let target = RecordingFacts.Target(
      stream: "door", folder: "/srv/a b", isWritable: false, serviceFolder: "/var/lib/vidicon", bitrate: 8_000_000)
    #expect(
      RecordingFacts(targets: [target]).findings
        == [
          .fault(
            "recordings of door", "the service may not write to /srv/a b",
            .command("sudo chown --reference=/var/lib/vidicon '/srv/a b'"))
        ])
  }

  @Test func `the folder is that of the unit`() throws {
    let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let unit = try String(contentsOf: repository.appending(path: "Packaging/vidicon.service"), encoding: .utf8)
    let lines = unit.split(separator: "\n")
    // %S is /var/lib in a unit of the system, systemd.unit(5).
    #expect(lines.contains("WorkingDirectory=%S/vidicon") && lines.contains("StateDirectory=vidicon"))
    #expect(unit.contains("XDG_STATE_HOME=%S") && ServiceFolder.path == "/var/lib/vidicon")
  }
}
