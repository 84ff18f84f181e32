import ArgumentParser
import Authentication
import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("vidicon setup")
struct SetupCommandTests {
  private func mode(of path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func `the file is for its owner only, in a folder that is made, and replaced only when that is asked for`()
    throws
  {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let file = SetupFile(path: "\(folder.path)/new/vidicon.yaml")
    try file.check(isReplaced: false)
    try file.write("a")
    #expect(try self.mode(of: file.path) == 0o600 && self.mode(of: "\(folder.path)/new") == 0o700)
    let error = #expect(throws: VidiconError.self) { try file.check(isReplaced: false) }
    #expect(error?.code == .alreadyExists)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    try file.check(isReplaced: true)
    try file.write("b")
    #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "b" && self.mode(of: file.path) == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/new") == ["vidicon.yaml"])
    let below = SetupFile(path: "\(file.path)/below/vidicon.yaml")
    #expect(throws: VidiconError.self) { try below.write("c") }
    // Before a question.
    #expect(throws: VidiconError.self) { try below.check(isReplaced: false) }
    try SetupFile(path: "\(folder.path)/a/b/vidicon.yaml").check(isReplaced: false)
    try SetupFile(path: "vidicon-\(UUID().uuidString).yaml").check(isReplaced: true)
  }

  @Test(.enabled(if: geteuid() != 0, "root may write to every folder"))
  func `a folder that is not writable is reported before a question`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.path)
    for path in ["\(folder.path)/vidicon.yaml", "\(folder.path)/new/vidicon.yaml"] {
      let error = #expect(throws: VidiconError.self) { try SetupFile(path: path).check(isReplaced: false) }
      #expect(error?.code == .notPermitted)
    }
  }

  @Test func `made passwords are shown on a terminal only, given ones and those of sources never`() throws {
    var generator = CountingGenerator()
    let answers = SetupAnswers(
      viewerPassword: SetupPassword(using: &generator),
      operatorPassword: try SetupPassword(given: "sesame-1", subject: "password"), source: "rtsp://anna:sesame-2@h/x")
    for isTerminal in [true, false] {
      let text = SetupCommand.summary(of: answers, path: "/f", showsPasswords: isTerminal).joined(separator: "\n")
      #expect(text.contains(answers.viewerPassword.secret.text) == isTerminal)
      #expect(!text.contains("sesame") && text.contains("Wrote /f") && text.contains("a microphone"), "\(text)")
    }
  }

  @Test func `a password of a file is its first line, and must be readable by its owner only`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = "\(folder.path)/password"
    try Data("sesame-1\nmore\n".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(try SetupCommand.password(inFile: path, "--viewer-password-file")?.secret.text == "sesame-1")
    #expect(try SetupCommand.password(inFile: nil, "--viewer-password-file") == nil)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let error = #expect(throws: VidiconError.self) { try SetupCommand.password(inFile: path, "--viewer-password-file") }
    #expect(error?.code == .notPermitted)
  }

  @Test(
    arguments: [
      (1000, 1000, nil, true), (1000, 0, nil, false), (1000, 0, "1000", true), (1001, 0, "1000", false),
      (1000, 0, "x", false), (1001, 1000, "1001", false), (0, 1000, nil, true),
    ] as [(uid_t, uid_t, String?, Bool)])
  func `a file of secrets is the user's own, root's, or with sudo that of the user that has run it`(
    owner: uid_t, user: uid_t, sudo: String?, isTrusted: Bool
  ) {
    let environment = sudo.map { ["SUDO_UID": $0] } ?? [:]
    #expect(SecretFile.isTrusted(owner: owner, user: user, environment: environment) == isTrusted)
  }

  @Test func `the unit is enabled, and started where systemd runs`() throws {
    let calls = Mutex<[[String]]>([])
    func service(isRunning: Bool, statuses: [String: Int32?]) -> SystemService {
      SystemService(isRunning: isRunning) { arguments in
        calls.withLock { $0.append(arguments) }
        return statuses[arguments[0], default: 0]
      }
    }
    #expect(try service(isRunning: true, statuses: [:]).enable().hasPrefix("The service runs"))
    #expect(try service(isRunning: false, statuses: [:]).enable().hasPrefix("The service starts when"))
    let (enabling, starting) = (["enable", "--quiet", "vidicon.service"], ["restart", "vidicon.service"])
    let made = calls.withLock { $0 }
    #expect(made == [enabling, starting, enabling])
    for (statuses, cause) in [
      (["enable": 1], "it cannot be enabled"), (["restart": 1], "it cannot be started"),
      (["enable": nil], "there is no systemctl"),
    ] as [([String: Int32?], String)] {
      let error = #expect(throws: VidiconError.self) { try service(isRunning: true, statuses: statuses).enable() }
      #expect(error?.cause == cause && error?.nextStep.contains("the configuration is written") == true)
    }
  }

  /// The lines of the package's unit.
  private func unit() throws -> [String] {
    let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: top.appending(path: "Packaging/\(SystemService.unit)"), encoding: .utf8)
      .split(separator: "\n").map(String.init)
  }

  @Test func `the unit's reload is root's, outside of the sandbox, and finds the service where it leaves its token`()
    throws
  {
    let lines = try self.unit()
    let reload = try #require(lines.first { $0.hasPrefix("ExecReload=") })
    let words = reload.split(separator: " ").map(String.init)
    // With full privileges, systemd.service(5).
    #expect(words.first == "ExecReload=+/usr/bin/vidicon")
    let command = try #require(try RootCommand.parseAsRoot(Array(words.dropFirst())) as? ReloadCommand)
    #expect(command.service && command.server.port == nil)
    #expect(lines.filter { $0.hasPrefix("ExecReload=") }.count == 1)
    #expect(lines.contains("RuntimeDirectory=vidicon") && RuntimeFile.serviceFolder == "/run/vidicon/vidicon")
    #expect(lines.contains { $0.hasPrefix("Environment=") && $0.hasSuffix(" XDG_RUNTIME_DIR=%t/vidicon") })
  }

  @Test func `the unit of the package reads the file that setup writes, with a command that the program accepts`()
    throws
  {
    let lines = try self.unit()
    #expect(lines.contains("LoadCredential=vidicon.yaml:\(SetupCommand.path)"))
    #expect(lines.contains("AssertPathExists=\(SetupCommand.path)"))
    let start = try #require(lines.first { $0.hasPrefix("ExecStart=/usr/bin/vidicon ") })
    let arguments = start.split(separator: " ").dropFirst().map(String.init)
    #expect(arguments.contains("${CREDENTIALS_DIRECTORY}/vidicon.yaml"))
    #expect(try RootCommand.parseAsRoot(arguments) is ServeCommand)
  }

  @Test func `setup without questions writes a file that check accepts, and starts nothing for another path`()
    async throws
  {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = "\(folder.path)/vidicon.yaml"
    let arguments = ["setup", "--yes", "--source", "bars", "--output", path]
    let run = try await BuiltProgram("vidicon").run(arguments)
    #expect(run.status == 0)
    let configuration = try ServeConfiguration(contentsOf: path)
    #expect(configuration.access.users.map(\.user) == ["viewer", "operator"])
    let output = OutputLines(run.output)
    #expect(output.lines.first == "Wrote \(path)" && output.text.contains("(in the file)"), "\(output.text)")
    #expect(!output.text.contains("service"), "\(output.text)")
    let again = try await BuiltProgram("vidicon").run(arguments)
    #expect(again.status == 1 && OutputLines(again.errors).own.count == 1)
    // Standard input has no line.
    let asking = try await BuiltProgram("vidicon").run(["setup", "--source", "bars", "--output", "\(path).2"])
    #expect(asking.status == 64 && !FileManager.default.fileExists(atPath: "\(path).2"))
  }
}
