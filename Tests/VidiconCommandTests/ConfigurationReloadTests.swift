import Authentication
import ControlAPI
import Dispatch
import Media
import Recording
import Serving
import StreamControl
import Streaming
import Synchronization
import Testing
import Threading
import Vidicon

@testable import VidiconCommand

/// Streams of this process, which start and stop as those of the program do.
@Suite("A configuration that is read again", .timeLimit(.minutes(15)))
struct ConfigurationReloadTests {
  /// A display that keeps the names of the streams that have started later.
  private final class Display: StatusDisplay {
    let started = Mutex<[String]>([])
    /// The keys that were shown for publishers.
    let keys = Mutex<[String]>([])

    func showStart(server: CameraServer, streams: [LiveStream], choice: String?, access: AccessSummary) {}
    func showStream(_ stream: LiveStream, server: CameraServer, choice: String?, publisher: PublisherAccess?) {
      self.started.withLock { $0.append(stream.name) }
      if let publisher { self.keys.withLock { $0.append(publisher.key.text) } }
    }
    func showControl(_ address: String?) {}
    func showKeys(_ hint: String) {}
    func showSource(_ source: String, kind: MediaKind, of stream: String) {}
    func showEffect(_ report: EffectReport, of stream: String) {}
    func showKey(_ text: String) {}
    func showAnnouncement(of service: Service, name: String) {}
    func showStatus(server: CameraServer, streams: [LiveStream]) {}
    func showRecording(_ event: RecordingEvent, of stream: String) {}
    func showSnapshot(_ path: String, of stream: String) {}
    func showPush(_ event: PushEvent, of stream: String) {}
    func showEnd() {}
  }

  /// A program that serves the streams of a file, which a test changes.
  private final class Program: Sendable {
    let server: CameraServer
    let display: Display
    let running: RunningStreams
    private let reloading: ConfigurationReload

    /// The file, as it is read.
    private final class File: Sendable {
      let content: Mutex<Result<ServeConfiguration, VidiconError>>
      /// Lets reading end, from its signal on; nil for at once.
      let gate: DispatchSemaphore?

      init(_ configuration: ServeConfiguration, gate: DispatchSemaphore?) {
        self.content = Mutex(.success(configuration))
        self.gate = gate
      }

      func read() -> Result<ServeConfiguration, VidiconError> {
        if let gate {
          _ = gate.wait(timeout: .now() + 600)
          gate.signal()
        }
        return self.content.withLock { $0 }
      }
    }

    private let file: File

    /// - Parameter running: The streams that run, where they are others than those of the file, such as its cameras.
    init(
      _ streams: [String], copy: ServiceCopy? = nil, running others: [String]? = nil, gate: DispatchSemaphore? = nil
    ) async throws {
      let configuration = try Self.configuration(streams)
      let (server, display) = (StatusDisplayTests.server(), Display())
      let starter = StreamStarter(server: server, catalog: .all, loop: true, needsConnection: false)
      let running = RunningStreams(on: server, display: display, exitsAtEnd: false)
      let file = File(configuration, gate: gate)
      self.server = server
      self.display = display
      self.running = running
      self.file = file
      self.reloading = ConfigurationReload(
        of: configuration, publishers: [], starter: starter, running: running, display: display, copy: copy
      ) { text in
        guard let text else { return file.read() }
        return Result { () throws(VidiconError) -> ServeConfiguration in
          try ServeConfiguration(yaml: text, path: SetupCommand.path)
        }
      }
      try await server.start()
      for options in try others.map({ try Self.configuration($0).streams }) ?? configuration.streams {
        running.add(try await starter.start(options, isOnly: false).stream, options)
      }
    }

    /// The configuration of streams, small ones that cost little.
    private static func configuration(_ streams: [String], users: String = "[]") throws -> ServeConfiguration {
      try ServeConfiguration(yaml: self.text(streams, users: users), path: "vidicon.yaml")
    }

    /// The text of that configuration.
    static func text(_ streams: [String], users: String = "[]") -> String {
      let list = streams.map { "  - {\($0), size: 64x48, fps: 10, rendition: none}\n" }.joined()
      return "users: \(users)\nstreams:\n\(list)"
    }

    /// Gives a text in place of that of the file.
    func reload(text: String) async -> Result<ReloadEntry, VidiconError> { await self.reloading.perform(text) }

    /// Has the server reload as that of the program, and sends it the request of root's command, whose file has a text.
    func reloadByCommand(text: String) async throws -> ReloadEntry {
      self.server.setReload { [reloading = self.reloading] in await reloading.perform($0) }
      let port = try #require(self.server.ports?.http)
      let token = self.server.access.makeConfigurationToken().text
      // The command waits for the response.
      let result = await WorkerThread.run(named: "reload") { () -> Result<ReloadEntry, VidiconError> in
        Result { () throws(VidiconError) -> ReloadEntry in
          let server = RunningServer(address: ServerAddress(port: port), token: nil, configurationToken: token)
          let request = try ReloadCommand.request(to: server) { () throws(VidiconError) -> String in text }
          let response = try server.response(to: request)
          return try server.decode(ReloadEntry.self, from: try server.body(of: response, to: request))
        }
      }
      return try #require(result).get()
    }

    /// Changes the file, and has it read.
    func reload(_ streams: [String], users: String = "[]") async throws -> ReloadEntry {
      let configuration = try Self.configuration(streams, users: users)
      self.file.content.withLock { $0 = .success(configuration) }
      return try await self.reloading.perform().get()
    }

    /// Has a file read that cannot be used.
    func reload(failingWith error: VidiconError) async -> VidiconError? {
      self.file.content.withLock { $0 = .failure(error) }
      guard case .failure(let error) = await self.reloading.perform() else { return nil }
      return error
    }

    func stream(_ name: String) throws -> LiveStream {
      try #require(self.running.streams.first { $0.name == name })
    }

    /// Has the file read as it is.
    func reload() async -> Result<ReloadEntry, VidiconError> { await self.reloading.perform() }

    func endReloads() async { await self.reloading.end(within: .seconds(600)) }

    func end() async {
      await self.endReloads()
      self.running.stopWatching()
      await self.server.stop()
      await self.running.finishReports()
    }
  }

  private static let bars = "source: bars, audio: none"

  /// Runs a test with a program, which ends also where the test throws.
  private func withProgram(
    _ streams: [String], copy: ServiceCopy? = nil, running others: [String]? = nil, gate: DispatchSemaphore? = nil,
    _ body: (Program) async throws -> Void
  ) async throws {
    let program = try await Program(streams, copy: copy, running: others, gate: gate)
    do {
      try await body(program)
    } catch {
      await program.end()
      throw error
    }
    await program.end()
  }

  @Test func `streams that are the same go on, and others are switched, started and stopped`() async throws {
    let first = ["name: door, \(Self.bars)", "name: yard, source: plasma, audio: none", "name: hall, \(Self.bars)"]
    try await self.withProgram(first) { program in
      let (door, yard, hall) = (try program.stream("door"), try program.stream("yard"), try program.stream("hall"))
      let second = ["name: door, \(Self.bars)", "name: yard, source: noise, audio: none", "name: roof, \(Self.bars)"]
      let entry = try await program.reload(second)
      #expect(entry.changes == ["hall: stopped", "yard: the source is switched", "roof: started"])
      #expect(entry.problems == [])
      #expect(program.running.streams.map(\.name) == ["door", "yard", "roof"])
      #expect(try program.stream("door") === door)
      #expect(try program.stream("yard") === yard)
      #expect(door.isRunning && yard.isRunning && !hall.isRunning)
      #expect(try program.stream("roof").isRunning)
      #expect(program.display.started.withLock { $0 } == ["roof"])
      #expect(program.running.sources(of: "yard")?.video == .noise)
      // Clients may choose the new one again, and not that of before.
      #expect(program.running.sources(of: "yard")?.start.video == .noise)
      #expect(program.running.sources(of: "hall") == nil)
      #expect(try await program.reload(second) == ReloadEntry())
      #expect(try program.stream("roof").isRunning)
      #expect(program.display.started.withLock { $0 } == ["roof"])
    }
  }

  @Test func `a stream with other options starts again at its place, or goes on as it was where that fails`()
    async throws
  {
    let yard = "name: yard, \(Self.bars)"
    try await self.withProgram(["name: door, \(Self.bars)", yard]) { program in
      let (door, first) = (try program.stream("door"), try program.stream("yard"))
      let changed = ["name: door, \(Self.bars), bitrate: 300k", yard]
      #expect(try await program.reload(changed).changes == ["door: started again with its changes"])
      #expect(program.running.streams.map(\.name) == ["door", "yard"])
      let second = try program.stream("door")
      #expect(second !== door && !door.isRunning && second.isRunning && second.videoBitrate == 300_000)
      #expect(try program.stream("yard") === first)
      let unusable = ["name: door, \(Self.bars), bitrate: 300k, encoder: there_is_none", yard]
      for _ in 1...2 {
        let entry = try await program.reload(unusable)
        #expect(entry.changes == [] && entry.problems.count == 1)
        #expect(entry.problems.first?.hasPrefix("door: it goes on as it was: ") == true, "\(entry.problems)")
        let third = try program.stream("door")
        #expect(third.isRunning && third.videoBitrate == 300_000)
      }
      // The options in force are those of before.
      #expect(try await program.reload(changed) == ReloadEntry())
      let added = try await program.reload(changed + ["name: roof, \(Self.bars), encoder: there_is_none"])
      #expect(added.changes == [] && added.problems.first?.hasPrefix("roof: not started: ") == true)
      #expect(program.running.streams.map(\.name) == ["door", "yard"])
      // The name is free.
      let mended = try await program.reload(changed + ["name: roof, \(Self.bars)"])
      #expect(mended.changes == ["roof: started"] && mended.problems == [])
    }
  }

  @Test func `a file that cannot be used changes nothing`() async throws {
    try await self.withProgram(["name: door, \(Self.bars)"]) { program in
      let door = try program.stream("door")
      let error = VidiconError(
        .invalidSpecification, subject: "vidicon.yaml:1:1", cause: "unknown key", nextStep: "see the page")
      #expect(await program.reload(failingWith: error) == error)
      #expect(try program.stream("door") === door)
      #expect(door.isRunning)
      #expect(try await program.reload(["name: door, \(Self.bars)"]) == ReloadEntry())
    }
  }

  @Test func `users and keys of publishers are those of the file`() async throws {
    try await self.withProgram(["name: door, \(Self.bars)"]) { program in
      let access = program.server.access
      let users = "[{name: anna, password: sesame}]"
      let closed = try await program.reload(["name: door, \(Self.bars)"], users: users)
      #expect(closed.changes == ["users have changed"] && access.isWatchingProtected)
      func gate(_ key: String) -> [String] {
        ["name: door, \(Self.bars)", "name: gate, source: \"rtsp:?key=\(key)\", audio: none"]
      }
      let published = try await program.reload(gate("0123456789abcdef"), users: users)
      #expect(published.changes == ["gate: started"] && published.problems == [])
      #expect(access.publisherToken(of: "gate")?.text == "0123456789abcdef")
      let other = try await program.reload(gate("fedcba9876543210"), users: users)
      #expect(other.changes == ["gate: started again with its changes"])
      #expect(access.publisherToken(of: "gate")?.text == "fedcba9876543210")
      let open = try await program.reload(["name: door, \(Self.bars)"])
      #expect(open.changes == ["users have changed; watching needs no password", "gate: stopped"])
      #expect(access.publisherToken(of: "gate") == nil && !access.isWatchingProtected)
    }
  }

  /// The copy that the service of a unit has.
  private static func copy(of unit: String) throws -> ServiceCopy {
    let folder = "/run/credentials/\(unit)"
    return try #require(ServiceCopy("\(folder)/vidicon.yaml", environment: ["CREDENTIALS_DIRECTORY": folder]))
  }

  @Test func `the package's service gets the text of its file, and its copy is never read again`() async throws {
    let first = ["name: door, \(Self.bars)", "name: yard, source: plasma, audio: none"]
    let second = ["name: door, \(Self.bars)", "name: roof, source: noise, audio: none"]
    let copy = try Self.copy(of: SystemService.unit)
    try await self.withProgram(first, copy: copy) { program in
      let (door, yard) = (try program.stream("door"), try program.stream("yard"))
      // SIGHUP, or an operator over HTTP.
      func reloadCopy() async throws {
        let entry = try await program.reload(["name: door, source: noise, audio: none"])
        #expect(entry.changes == [] && entry.problems == [copy.note])
      }
      try await reloadCopy()
      #expect(yard.isRunning && program.running.streams.map(\.name) == ["door", "yard"])
      let changed = try await program.reload(text: Program.text(second)).get()
      #expect(changed.changes == ["yard: stopped", "roof: started"] && changed.problems == [])
      #expect(!yard.isRunning)
      let roof = try program.stream("roof")
      #expect(try await program.reload(text: Program.text(second)).get() == ReloadEntry())
      let wrong = await program.reload(text: "streams:\n  - {name: door, sorce: bars}\n")
      guard case .failure(let error) = wrong else {
        Issue.record("\(wrong)")
        return
      }
      #expect(error.subject.hasPrefix("/etc/vidicon/vidicon.yaml:2:") && !"\(error)".contains("\n"), "\(error)")
      // The configuration in force is newer than the copy.
      try await reloadCopy()
      #expect(try await program.reload(text: Program.text(second)).get() == ReloadEntry())
      #expect(try program.stream("door") === door && program.stream("roof") === roof)
      #expect(door.isRunning && roof.isRunning && program.display.started.withLock { $0 } == ["roof"])
    }
  }

  @Test func `the request of root's command changes what the service serves`() async throws {
    let door = "name: door, \(Self.bars)"
    try await self.withProgram([door], copy: Self.copy(of: SystemService.unit)) { program in
      let stream = try program.stream("door")
      let text = Program.text([door, "name: roof, source: noise, audio: none"])
      let entry = try await program.reloadByCommand(text: text)
      #expect(entry.changes == ["roof: started"] && entry.problems == [])
      #expect(try program.stream("door") === stream && program.stream("roof").isRunning)
      #expect(try await program.reloadByCommand(text: text) == ReloadEntry())
      let error = await #expect(throws: VidiconError.self) { try await program.reloadByCommand(text: "streams: 1\n") }
      #expect(error?.cause.contains("/etc/vidicon/vidicon.yaml:1:") == true, "\(String(describing: error))")
      #expect(error?.nextStep == "the configuration stays as it was")
      #expect(stream.isRunning && program.running.streams.map(\.name) == ["door", "roof"])
    }
  }

  @Test func `the service of another unit reads its copy, and is reminded of it where nothing has changed`()
    async throws
  {
    let copy = try Self.copy(of: "camera.service")
    try await self.withProgram(["name: door, \(Self.bars)"], copy: copy) { program in
      #expect(try await program.reload(["name: door, \(Self.bars)"]).problems == [copy.note])
      let changed = try await program.reload(["name: door, source: plasma, audio: none"])
      #expect(changed.changes == ["door: the source is switched"] && changed.problems == [])
    }
    #expect(!copy.isOfPackage && copy.note.contains("systemctl restart"))
    let package = try Self.copy(of: SystemService.unit)
    #expect(package.isOfPackage && package.note.contains("systemctl reload vidicon"))
    let path = "/run/credentials/vidicon.service/vidicon.yaml"
    let environment = ["CREDENTIALS_DIRECTORY": "/run/credentials/vidicon.service"]
    #expect(ServiceCopy(path, environment: environment) == package)
    #expect(ServiceCopy(path, environment: [:]) == nil)
    #expect(ServiceCopy(path, environment: ["CREDENTIALS_DIRECTORY": ""]) == nil)
    #expect(ServiceCopy("/etc/vidicon/vidicon.yaml", environment: environment) == nil)
  }

  @Test func `after the end of the program nothing more is changed`() async throws {
    try await self.withProgram(["name: door, \(Self.bars)"]) { program in
      await program.endReloads()
      let error = await #expect(throws: VidiconError.self) {
        try await program.reload(["name: door, \(Self.bars)", "name: roof, \(Self.bars)"])
      }
      #expect(error?.cause == "the program ends")
      #expect(program.display.started.withLock { $0 } == [])
    }
  }

  @Test func `a stream that has stopped for another one, and starts in no way, is named, and others go on`()
    async throws
  {
    func streams(_ front: String, _ back: String) -> [String] {
      [("front", front), ("back", back)].map { "name: \($0), source: \"v4l2:/dev/video-\($1)\", audio: none" }
    }
    let bars = ["name: front, \(Self.bars)", "name: back, \(Self.bars)"]
    try await self.withProgram(streams("absent-a", "absent-b"), running: bars) { program in
      let (front, back) = (try program.stream("front"), try program.stream("back"))
      let entry = try await program.reload(streams("absent-b", "absent-a"))
      #expect(entry.changes == [] && entry.problems.count == 2)
      #expect(entry.problems.first?.hasPrefix("front: the source stays: ") == true, "\(entry.problems)")
      #expect(entry.problems.last?.hasPrefix("back: it has ended: ") == true, "\(entry.problems)")
      #expect(try program.stream("front") === front)
      #expect(front.isRunning && !back.isRunning)
      #expect(program.running.streams.map(\.name) == ["front"])
      // The next file starts it again.
      let mended = try await program.reload([streams("absent-a", "")[0], bars[1]])
      #expect(mended.changes == ["back: started"] && mended.problems == [])
    }
  }

  @Test func `keys that were made for publishers stay those of their stream`() async throws {
    let (made, given) = ("name: gate, source: \"rtsp:\", audio: none", "source: \"rtsp:?key=0123456789abcdef\"")
    try await self.withProgram(["name: door, \(Self.bars)"]) { program in
      let access = program.server.access
      #expect(try await program.reload([made]).changes == ["door: stopped", "gate: started"])
      let key = try #require(access.publisherToken(of: "gate"))
      _ = try await program.reload(["name: gate, \(given), audio: none"])
      #expect(access.publisherToken(of: "gate")?.text == "0123456789abcdef")
      _ = try await program.reload([made])
      #expect(access.publisherToken(of: "gate")?.text == key.text)
      #expect(program.display.keys.withLock { $0 }.last == key.text)
    }
  }

  @Test func `of many reloads at once some are refused, and the others follow each other`() async throws {
    let gate = DispatchSemaphore(value: 0)
    try await self.withProgram(["name: door, \(Self.bars)"], gate: gate) { program in
      await withTaskGroup(of: Result<ReloadEntry, VidiconError>.self) { group in
        for _ in 1...6 { group.addTask { await program.reload() } }
        // The others read, or wait for that.
        guard case .failure(let error)? = await group.next() else {
          Issue.record("none was refused")
          gate.signal()
          return
        }
        #expect(error.code == .busy)
        gate.signal()
        for await result in group {
          guard case .success(let entry) = result else {
            Issue.record("\(result)")
            continue
          }
          #expect(entry == ReloadEntry())
        }
      }
    }
  }
}
