import Foundation
import Testing

/// Files of the Debian package. `scripts/package --check` and `scripts/package-test` judge a package that is made of them, which takes a
/// release build.
@Suite("Files of the Debian package")
struct PackagingTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: Repository.top.appending(path: path), encoding: .utf8)
  }

  /// The exposure of a unit that systemd-analyze(1) reports, from 0 to 10; nil where it reports none.
  private static func exposure(ofUnit text: String) throws -> Double? {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let unit = folder.appending(path: "vidicon.service")
    try text.write(to: unit, atomically: true, encoding: .utf8)
    let run = try Repository.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit.path])
    return run.output.firstMatch(of: #/exposure level for .*: ([0-9]+\.[0-9]+)/#).flatMap { Double($0.output.1) }
  }

  @Test func `the exposure of the unit is at most 2`() throws {
    let unit = try Self.text("Packaging/vidicon.service")
    let exposure = try #require(try Self.exposure(ofUnit: unit))
    #expect(exposure <= 2)
    // Without its sandbox the same unit is exposed.
    let lines = unit.split(separator: "\n")
    let exposed = lines.filter { !$0.hasPrefix("Protect") && !$0.hasPrefix("Restrict") && !$0.hasPrefix("SystemCall") }
    #expect(exposed.count < lines.count - 10)
    #expect(try #require(try Self.exposure(ofUnit: exposed.joined(separator: "\n"))) > 2)
  }

  @Test func `the unit is watched, has a user of its own, and the devices of cameras and microphones`() throws {
    let lines = Set(try Self.text("Packaging/vidicon.service").split(separator: "\n"))
    let promised: Set<Substring> = [
      "Type=notify", "WatchdogSec=30", "DynamicUser=yes", "SupplementaryGroups=video audio", "StateDirectory=vidicon",
      "DeviceAllow=char-video4linux rw", "DeviceAllow=char-alsa rw", "FileDescriptorStoreMax=16", "Restart=on-failure",
    ]
    #expect(promised.subtracting(lines).sorted() == [])
  }

  @Test func `the copyright file names each package of the manifest`() throws {
    let manifest = try Self.text("Package.swift")
    let packages = manifest.matches(of: #/url: "https://[^"]*/([^"/]+)\.git"/#).map { $0.output.1 }
    #expect(packages.count >= 9)
    let text = try Self.text("Packaging/copyright")
    #expect(packages.filter { !text.contains("\($0)/") } == [])
  }

  @Test func `the change log of the package is that of the repository, in the form of Debian`() throws {
    let version = try Self.text("VERSION").trimmingCharacters(in: .newlines)
    let line = #"python3 -B Packaging/changelog.py -1~deb12 bookworm "$1" 'A <a@b.example>' 2026-11-29 <CHANGELOG.md"#
    let run = try Repository.run(["bash", "-c", "set -euo pipefail\n\(line)", "bash", version])
    #expect(run.status == 0, "\(run.errors)")
    let lines = run.output.split(separator: "\n")
    #expect(lines.first == "vidicon (\(version)-1~deb12) bookworm; urgency=medium")
    #expect(lines.contains { $0.hasPrefix(" -- A <a@b.example>  ") })
    // An entry of a release, which is a line that begins with an asterisk, and what follows it.
    let entries = lines.filter { $0.hasPrefix("  * ") }
    #expect(entries.count > 10 && lines.allSatisfy { $0.hasPrefix(" ") || $0.hasPrefix("vidicon (") })
  }
}
