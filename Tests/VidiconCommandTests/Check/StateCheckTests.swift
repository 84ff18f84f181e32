import ArgumentParser
import Effects
import Foundation
import HTTPServer
import Media
import Recording
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Check of encoder, models, recordings, clock, certificate, limits and configuration", .timeLimit(.minutes(5)))
struct StateCheckTests {
  // MARK: Encoder

  private static func encoder(_ result: Result<Double, VidiconError>?, mayPassThrough: Bool = false) -> CheckFinding {
    EncoderFacts(encoders: [
      .init(stream: "live", format: "1280x720 at 30 fps with libx264", mayPassThrough: mayPassThrough, result: result)
    ]).findings[0]
  }

  @Test func `an encoder that is slower than real time is a fault, unless the source may be passed through`() {
    let finding = Self.encoder(.success(0.99))
    #expect(finding.verdict == .fault && finding.subject == "encoder of live")
    #expect(finding.meaning.hasPrefix("1280x720 at 30 fps with libx264: 0.9 times real time"))
    #expect("\(finding)".contains("--size 960x540 --fps 15"))
    #expect(Self.encoder(.success(0.99), mayPassThrough: true).verdict == .warning)
    #expect(Self.encoder(.success(1.2)).verdict == .warning)
    // Of a service that runs meanwhile.
    let encoder = EncoderFacts.Encoder(stream: "live", format: "1280x720", result: .success(0.7))
    #expect(EncoderFacts(encoders: [encoder], isMeasuredBeside: true).findings.map(\.verdict) == [.ok])
    #expect(
      Self.encoder(.success(6.28))
        == .ok("encoder of live", "1280x720 at 30 fps with libx264: 6.2 times real time"))
  }

  @Test func `an encoder that does not open is a fault with its next step`() {
    let error = VidiconError(.notFound, subject: "encoder a", cause: "b", nextStep: "choose one of: c")
    #expect(Self.encoder(.failure(error)) == .fault("encoder of live", "b", .advice("choose one of: c")))
    #expect(Self.encoder(nil).verdict == .fault)
  }

  @Test(
    arguments: [
      ("rtsp://a/b", true), ("RTSPS://a/b", true), ("https://a/b.m3u8", true), ("srt://a:9000", true), ("rtmp:", true),
      ("rtsp:", true), ("whip:", true), ("file:/film.mp4", true), ("v4l2:", false), ("screen:", false),
      ("plasma", false), ("rtsp://", false),
    ])
  func `sources that deliver compressed video may need no encoder`(source: String, mayPassThrough: Bool) throws {
    var stream = StreamOptions()
    try stream.set(.size, to: "64x48")
    stream.source = source
    let facts = EncoderFacts(streams: [stream], duration: .milliseconds(100))
    #expect(facts.encoders.map(\.mayPassThrough) == [mayPassThrough])
  }

  @Test func `all encoders of a configuration are measured`() throws {
    var (small, unknown) = (StreamOptions(), StreamOptions())
    try small.set(.size, to: "64x48")
    try small.set(.source, to: "rtsp://a/b")
    try unknown.set(.name, to: "yard")
    try unknown.set(.encoder, to: "none")
    let facts = EncoderFacts(streams: [small, unknown], duration: .milliseconds(100))
    #expect(facts.encoders.map(\.stream) == ["live", "yard"] && facts.encoders.map(\.mayPassThrough) == [true, false])
    let assumed = "64x48 at 30 fps with libx264, assumed, since the format of the source is not known yet"
    #expect(facts.encoders[0].format == assumed)
    let factor = try facts.encoders[0].result?.get()
    #expect(try #require(factor) > 0)
    guard case .failure(let error)? = facts.encoders[1].result else {
      Issue.record("\(facts)")
      return
    }
    #expect(error.code == .notFound)
  }

  // MARK: Models

  @Test func `models that are missing are a fault where a stream finds faces, and else all right`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let needed = ModelFacts(FaceModels(folder: folder.path), streams: ["door"]).findings
    #expect(needed.map(\.verdict) == [.fault] && needed[0].meaning.hasSuffix("and the stream door finds faces"))
    #expect("\(needed)".contains("run scripts/setup, or install the package of vidicon again"))
    let unused = ModelFacts(FaceModels(folder: folder.path), streams: []).findings
    #expect(unused == [.ok("face models", "not installed, and no stream needs them")])
  }

  @Test func `a damaged model is a warning, and a fault where a stream finds faces`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = "\(folder.path)/\(FaceModel.mesh.fileName)"
    try Data("damaged".utf8).write(to: URL(filePath: path))
    let error = #expect(throws: VidiconError.self) { try FaceModels(folder: folder.path).folder(of: .mesh) }
    let damaged = try #require(error)
    #expect(damaged.code == .invalidData)
    var facts = ModelFacts(folder: folder.path, failures: [damaged], count: 5)
    #expect(facts.findings[0].verdict == .warning && facts.findings[0].meaning.hasPrefix(path))
    facts.streams = ["door"]
    #expect(facts.findings[0].verdict == .fault)
    facts.failures = []
    #expect(facts.findings[0].verdict == .ok)
  }

  @Test(
    arguments: [(["--faces", "privacy"], true), (["--mask", "blur"], true), (["--clock"], false), ([], false)]
      as [([String], Bool)])
  func `a stream with a mask or faces needs the models`(arguments: [String], needsModels: Bool) throws {
    let configuration = try ServeConfiguration(unchecked: ServeCommand.parse(["--source", "bars"] + arguments))
    #expect(ModelFacts(configuration).streams == (needsModels ? ["live"] : []))
  }

  // MARK: Recordings

  private static func recording(_ change: (inout RecordingFacts.Target) -> Void) -> CheckFinding {
    // 8 Mb/s are 3.6 GB an hour.
    var target = RecordingFacts.Target(
      stream: "door", folder: "/srv/a b", space: DiskSpace(free: 201_000_000_000, total: 500_000_000_000),
      bitrate: 8_000_000)
    change(&target)
    return RecordingFacts(targets: [target]).findings[0]
  }

  @Test func `a folder of recordings that is missing or not writable is a fault, with the command for it`() {
    #expect(
      Self.recording { $0.exists = false }
        == .fault("recordings of door", "the folder /srv/a b does not exist", .command("mkdir -p '/srv/a b'")))
    let foreign = Self.recording { ($0.exists, $0.isCreatable) = (false, false) }
    #expect(foreign.remedy == .command("sudo mkdir -p '/srv/a b' && sudo chown $USER '/srv/a b'"))
    let finding = Self.recording { $0.isWritable = false }
    #expect(finding.verdict == .fault && finding.remedy == .command("sudo chown $USER '/srv/a b'"))
    let named = Self.recording { ($0.isWritable, $0.isClosedToOwner, $0.user) = (false, true, "door") }
    #expect(named.remedy == .command("sudo chown door '/srv/a b' && chmod u+rwx '/srv/a b'"))
    let own = Self.recording { ($0.isWritable, $0.isOwn, $0.isClosedToOwner) = (false, true, true) }
    #expect(own.remedy == .command("chmod u+rwx '/srv/a b'"))
    let list = Self.recording { ($0.isWritable, $0.isOwn) = (false, true) }
    #expect(list.remedy == .advice("choose another folder"))
  }

  @Test
  func `a disk that is read-only, a file in place of a folder, and a closed folder above are faults of their own`() {
    let disk = Self.recording { $0.obstacle = .readOnly("/srv/it's") }
    #expect(disk.verdict == .fault && disk.meaning.contains("read-only"))
    #expect(disk.remedy == .command(#"sudo mount -o remount,rw "$(findmnt -no TARGET -T '/srv/it'\''s')""#))
    let file = Self.recording { ($0.exists, $0.obstacle) = (false, .file("/srv")) }
    #expect(file.verdict == .fault && file.meaning == "/srv is a file, where the folder /srv/a b is to be")
    let closed = Self.recording { ($0.exists, $0.obstacle) = (false, .closed) }
    #expect(closed.verdict == .fault && closed.meaning.contains("may not enter a folder above /srv/a b"))
  }

  @Test(arguments: [
    ("/srv", "/srv/vidicon"), ("/", "/vidicon"), ("/var/lib", "/var/lib/vidicon"),
    ("/usr/local/a b", "'/usr/local/a b/vidicon'"),
  ])
  func `a folder of the system stays root's, and one in it is for recordings`(folder: String, word: String) {
    let finding = Self.recording {
      ($0.folder, $0.isWritable, $0.isOfRoot, $0.user) = (folder, false, true, "door")
    }
    #expect(finding.verdict == .fault)
    #expect(finding.remedy == .command("sudo mkdir -p \(word) && sudo chown door \(word)  # then record there"))
    let service = Self.recording {
      ($0.folder, $0.isWritable, $0.isOfRoot, $0.serviceFolder) = (folder, false, true, "/var/lib/vidicon")
    }
    let command = "sudo mkdir -p \(word) && sudo chown --reference=/var/lib/vidicon \(word)  # then record there"
    #expect(service.remedy == .command(command))
  }

  @Test func `a folder of root that is none of the system is given to the user`() {
    let finding = Self.recording { ($0.isWritable, $0.isOfRoot, $0.user) = (false, true, "door") }
    #expect(finding.remedy == .command("sudo chown door '/srv/a b'"))
    let foreign = Self.recording { ($0.folder, $0.isWritable, $0.user) = ("/clips", false, "door") }
    #expect(foreign.remedy == .command("sudo chown door /clips"))
  }

  @Test func `a folder that the unit of a service keeps from it is a fault with the way to open it`() {
    func finding(_ change: (inout RecordingFacts.Target) -> Void) -> CheckFinding {
      Self.recording {
        ($0.serviceFolder, $0.isInService, $0.user) = ("/var/lib/vidicon", true, "vidicon")
        change(&$0)
      }
    }
    let advice = CheckFinding.Remedy.advice(
      "record below /var/lib/vidicon, or outside of /home with User= and ReadWritePaths= (docs/operate.md)")
    let disk = finding { $0.obstacle = .readOnly("/srv/a b") }
    #expect(disk == .fault("recordings of door", "/srv/a b is read-only for the service, as its unit has it", advice))
    let home = finding { ($0.folder, $0.exists, $0.obstacle) = ("/home/door/a", false, .closed) }
    #expect(home.verdict == .fault && home.remedy == advice && home.meaning.contains("above /home/door/a"))
    #expect(finding { $0.isWritable = false }.remedy == advice)
    #expect(finding { ($0.exists, $0.isCreatable) = (false, false) }.remedy == advice)
    // Below its own folder, and where it may write, commands mend the fault, or there is none.
    let own = finding { ($0.folder, $0.exists, $0.isCreatable) = ("/var/lib/vidicon/a", false, false) }
    let command = "sudo mkdir -p /var/lib/vidicon/a && sudo chown --reference=/var/lib/vidicon /var/lib/vidicon/a"
    #expect(own.remedy == .command(command))
    #expect(finding { _ in }.verdict == .ok)
    #expect(finding { $0.obstacle = .file("/srv") }.meaning.hasPrefix("/srv is a file"))
  }

  @Test func `a program that serves knows its unit by the folder of its state`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let arguments = ["--source", "bars", "--recordings", folder.path]
    let configuration = try ServeConfiguration(unchecked: ServeCommand.parse(arguments))
    let facts = RecordingFacts(served: configuration, environment: ["STATE_DIRECTORY": "/nowhere/vidicon:/nowhere/b"])
    let target = try #require(facts.targets.first)
    #expect(target.isInService && target.serviceFolder == "/nowhere/vidicon" && target.isWritable)
    let none = try #require(RecordingFacts(served: configuration, environment: [:]).targets.first)
    #expect(!none.isInService && none.serviceFolder == nil && none.folder == folder.path)
  }

  @Test func `a file in the path of a folder of recordings is found`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try "a".write(toFile: "\(folder.path)/b", atomically: true, encoding: .utf8)
    func obstacle(_ path: String) throws -> RecordingFacts.Obstacle? {
      let arguments = ["--source", "bars", "--record", "\(folder.path)/\(path)/c.mp4"]
      return RecordingFacts(try ServeConfiguration(unchecked: ServeCommand.parse(arguments))).targets[0].obstacle
    }
    #expect(try obstacle("b") == .file("\(folder.path)/b") && obstacle("b/d") == .file("\(folder.path)/b"))
    #expect(try obstacle("d/e") == nil)
  }

  @Test func `a disk with less than what is to stay free is a fault`() {
    let finding = Self.recording { $0.space = DiskSpace(free: 900_000_000, total: 500_000_000_000) }
    #expect(finding.verdict == .fault && finding.meaning.contains("a recording ends at once"))
    let small = Self.recording {
      $0.space = DiskSpace(free: 900_000_000, total: 500_000_000_000)
      $0.minimumFreeByteCount = 0
    }
    #expect(small.verdict == .warning)
  }

  @Test func `a disk that is full within a day, with nothing that is removed, is a warning`() {
    #expect(
      Self.recording { _ in }
        == .ok("recordings of door", "/srv/a b has 201.00 GB, enough for 2 days"))
    let finding = Self.recording { $0.space = DiskSpace(free: 37_000_000_000, total: 500_000_000_000) }
    #expect(finding.verdict == .warning && finding.meaning.contains("enough for 10 hours, and nothing is removed"))
  }

  @Test func `more to keep than the disk has room for is a warning`() {
    // A week is 604.8 GB.
    let age = Self.recording { $0.keepAge = .seconds(7 * 86_400) }
    #expect(age.verdict == .warning)
    #expect(age.meaning.contains("needs 604.80 GB, and /srv/a b has room for 200.00 GB"))
    let kept = Self.recording {
      $0.keepAge = .seconds(7 * 86_400)
      $0.recordedByteCount = 405_000_000_000
    }
    #expect(kept.verdict == .ok)
    #expect(Self.recording { $0.keepSize = 201_000_000_000 }.verdict == .warning)
    #expect(Self.recording { $0.keepSize = 199_000_000_000 }.verdict == .ok)
  }

  @Test func `the folder of a configuration is looked at`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    func targets(_ arguments: String...) throws -> [RecordingFacts.Target] {
      let configuration = try ServeConfiguration(unchecked: ServeCommand.parse(["--source", "bars"] + arguments))
      return RecordingFacts(configuration).targets
    }
    let found = try targets("--recordings", folder.path, "--bitrate", "1M", "--audio", "none", "--keep-size", "1G")
    #expect(found.map(\.folder) == [folder.path] && found[0].exists && found[0].isWritable && found[0].space != nil)
    #expect(found[0].bitrate == 1_000_000 && found[0].keepSize == 1_000_000_000)
    #expect(try targets("--record", "\(folder.path)/none/a.mp4").map(\.exists) == [false])
    #expect(try targets().isEmpty && RecordingFacts(targets: []).findings.map(\.verdict) == [.ok])
  }

  // MARK: Clock and limits

  @Test func `a clock that no time service keeps is a warning, and one of the past a fault`() {
    var facts = ClockFacts(isSynchronized: false, unixTime: 1_800_000_000, hasTimeService: false)
    #expect(facts.findings[0].verdict == .warning)
    #expect(facts.findings[0].remedy == .command("sudo apt install systemd-timesyncd"))
    facts.hasTimeService = true
    #expect(facts.findings[0].remedy == .command("sudo timedatectl set-ntp true"))
    facts.isInContainer = true
    #expect("\(facts.findings)".contains("the clock of the host"))
    facts.isSynchronized = true
    #expect(facts.findings == [.ok("clock", "synchronized")])
    facts.unixTime = 1_000_000_000
    #expect(facts.findings[0].verdict == .fault)
  }

  @Test func `a limit of open files for few viewers is a warning`() {
    #expect(OpenFileFacts(limit: 1_048_576).findings[0].verdict == .ok)
    let finding = OpenFileFacts(limit: 256).findings[0]
    #expect(finding.verdict == .warning && finding.meaning.contains("for 128 connections"))
    #expect(OpenFileFacts.ofProcess().limit > 0)
  }

  // MARK: Certificate

  private static func certificate(
    days: Int64, from start: Int64 = -10, hosts: [String] = ["cam.example.org"],
    answered: [String] = ["cam.example.org"]
  ) -> [CheckFinding] {
    let now: Int64 = 1_800_000_000
    let summary = CertificateSummary(
      notBefore: now + start * 86_400, notAfter: now + days * 86_400, hosts: hosts, addresses: ["192.0.2.7"])
    return CertificateFacts(origin: .files("/etc/cert.pem", .success(summary)), now: now, hosts: answered).findings
  }

  @Test func `a certificate that has expired, or is not valid yet, is a fault`() {
    let expired = Self.certificate(days: 0)
    #expect(expired.map(\.verdict) == [.fault] && expired[0].meaning.contains("has expired"))
    #expect(expired[0].remedy == .command("openssl x509 -noout -dates -in /etc/cert.pem"))
    let early = Self.certificate(days: 90, from: 1)
    #expect(early.map(\.verdict) == [.fault] && early[0].remedy == .command("timedatectl"))
  }

  @Test func `a certificate that expires within two weeks is a warning`() {
    #expect(Self.certificate(days: 13, from: -77).map(\.verdict) == [.warning])
    // Of seven days.
    #expect(Self.certificate(days: 5, from: -2).map(\.verdict) == [.ok])
    #expect(Self.certificate(days: 1, from: -6).map(\.verdict) == [.warning])
    #expect(
      Self.certificate(days: 60)
        == [.ok("certificate", "/etc/cert.pem is for cam.example.org, 192.0.2.7, and valid for 60 days")])
  }

  @Test func `a certificate for a name under which requests are refused is a warning`() {
    let findings = Self.certificate(days: 60, answered: [])
    #expect(findings.map(\.verdict) == [.warning])
    #expect(findings[0].remedy == .advice("add --host cam.example.org, or the key hosts"))
    #expect(Self.certificate(days: 60, hosts: ["cam.local", "*.example.org"], answered: []).map(\.verdict) == [.ok])
  }

  @Test func `a host name that the certificate is not for is a warning, unless a wildcard is`() {
    let findings = Self.certificate(days: 60, hosts: ["other.example.org"], answered: ["other.example.org", "a.b.org"])
    #expect(findings.map(\.verdict) == [.warning] && findings[0].meaning.contains("is not for a.b.org"))
    #expect(Self.certificate(days: 60, hosts: ["*.b.org"], answered: ["a.b.org"]).map(\.verdict) == [.ok])
    #expect(Self.certificate(days: 60, hosts: ["*.b.org"], answered: ["c.a.b.org"]).map(\.verdict) == [.warning])
  }

  @Test func `a certificate that cannot be read is a fault, and no port with TLS needs none`() throws {
    let error = VidiconError(.notFound, subject: "/nowhere", cause: "a", nextStep: "b")
    for origin in [CertificateFacts.Origin.files("/nowhere", .failure(error)), .authority(.failure(error))] {
      #expect(CertificateFacts(origin: origin, now: 0).findings == [.fault("/nowhere", "a", .advice("b"))])
    }
    #expect(CertificateFacts(origin: .authority(.success(nil)), now: 0).findings.map(\.verdict) == [.ok])
    let plain = try ServeConfiguration(unchecked: ServeCommand.parse(["--source", "bars"]))
    #expect(CertificateFacts(plain).findings == [.ok("certificate", "no port has TLS")])
    let missing = try ServeConfiguration(
      unchecked: ServeCommand.parse([
        "--https-port", "0", "--tls-cert", "/nowhere/c.pem", "--tls-key", "/nowhere/k.pem",
      ]))
    #expect(CertificateFacts(missing).findings.map(\.subject) == ["/nowhere/c.pem"])
  }

  // MARK: Configuration

  @Test func `a configuration that serve refuses is a fault with its place and next step`() throws {
    let error = VidiconError(
      .invalidSpecification, subject: "vidicon.yaml:1:1", cause: "unknown key \"rtsp-port\"",
      nextStep: "did you mean \"rtspPort\"?")
    let findings = ConfigurationFacts(streams: ["live"], failure: error).findings
    #expect(
      findings[0]
        == .fault("vidicon.yaml:1:1", "unknown key \"rtsp-port\"", .advice("did you mean \"rtspPort\"?")))
    #expect(findings.count == 2 && findings[1].subject == "other lines")
    let refused = ConfigurationFacts(streams: ["live"], refusal: error, ineffective: ["files: no effect"]).findings
    #expect(refused.map(\.verdict) == [.fault, .warning] && refused[0] == findings[0])
    #expect(refused[1].remedy == .advice("leave it out, or change what makes it so"))
  }

  @Test func `a file that does not respond is a fault, and the defaults stand for it`() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = "\(folder.path)/pipe"
    #expect(mkfifo(path, 0o600) == 0)
    let command = try ServeCommand.parse(["--config", path])
    let reading = await ConfigurationReading.read(command, within: .milliseconds(20))
    // The abandoned reader ends.
    close(open(path, O_WRONLY))
    #expect(reading.failure?.code == .timedOut && reading.configuration.streams.count == 1)
    let findings = ConfigurationFacts(reading).findings
    #expect(findings[0].verdict == .fault && findings[0].subject == path)
  }

  @Test func `an unknown key of a file is named with its place and the key that was meant`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = "\(folder.path)/vidicon.yaml"
    try "rtsp-port: 1\n".write(toFile: path, atomically: true, encoding: .utf8)
    let reading = ConfigurationReading(try ServeCommand.parse(["--config", path]))
    let findings = ConfigurationFacts(reading).findings
    #expect(findings[0].verdict == .fault && findings[0].subject == "\(path):1:1")
    #expect(findings[0].remedy == .advice("did you mean \"rtspPort\"?"))
    #expect(reading.configuration.streams.count == 1)
  }

  @Test func `what serve finds out at its start is a fault too`() throws {
    for (arguments, subject) in [
      (["--source", "tape:"], "live: tape:"), (["--http-port", "1", "--rtsp-port", "1"], "--http-port"),
      (["--user-file", "/nowhere/users"], "/nowhere/users"),
    ] {
      let findings = ConfigurationFacts(ConfigurationReading(try ServeCommand.parse(arguments))).findings
      #expect(findings[0].verdict == .fault && findings[0].subject == subject, "\(findings)")
    }
  }

  @Test func `a setting without effect, and secrets that others read, are warnings`() {
    let findings = ConfigurationFacts(
      file: "/etc/a b.yaml", streams: ["live"],
      warnings: ["/etc/a b.yaml: all users of this machine can read it; change that with chmod 600"],
      ineffective: ["files: it has no effect, since no client may choose a source"]
    ).findings
    #expect(
      findings == [
        .warning(
          "/etc/a b.yaml", "all users of this machine can read it", .command("chmod 600 '/etc/a b.yaml'")),
        .warning(
          "files", "it has no effect, since no client may choose a source",
          .command("vidicon config print '/etc/a b.yaml'")),
      ])
  }

  @Test func `a file of another owner that others read stays readable to the user that serves`() {
    let warning = "all users of this machine can read it; change that with chmod 600"
    let path = "/home/door/a: b.yaml"
    var facts = ConfigurationFacts(file: path, streams: ["live"], warnings: ["\(path): \(warning)"])
    #expect(
      facts.findings
        == [.warning(path, "all users of this machine can read it", .command("chmod 600 '/home/door/a: b.yaml'"))])
    (facts.isOwnFile, facts.user) = (false, "door")
    let command = "sudo chown door '/home/door/a: b.yaml' && sudo chmod 600 '/home/door/a: b.yaml'"
    #expect(facts.findings.map(\.remedy) == [.command(command)])
  }

  @Test func `a configuration that serve accepts is all right, with its streams`() {
    #expect(
      ConfigurationFacts(file: "a.yaml", streams: ["door", "yard"]).findings
        == [.ok("a.yaml", "serve accepts it, with door, yard")])
  }
}
