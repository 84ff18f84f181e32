import Authentication
import ControlAPI
import Foundation
import Media
import MediaInput
import StreamControl
import Streaming
import Synchronization
internal import Threading
import Vidicon

/// Reads the configuration of `vidicon serve` again, at SIGHUP or when an operator asks for it, or gets its text from root, and applies what
/// has changed.
final class ConfigurationReload: Sendable {
  private struct State {
    /// The configuration in force: that of the start, with the changes that were made.
    var current: ServeConfiguration
    /// Keys that were made for publishers, which a stream keeps when it starts again.
    var publishers: [PublisherAccess]
    /// Number of reloads that are in progress or wait.
    var count = 0
    var hasEnded = false
  }

  /// Maximum number of reloads that are in progress or wait.
  private static let maximumCount = 5

  private let read: @Sendable (_ text: String?) -> Result<ServeConfiguration, VidiconError>
  private let starter: StreamStarter
  private let running: RunningStreams
  private let display: any StatusDisplay
  /// Protocols over which publishers reach the program.
  private let publishing: Set<PublishedSource.Scheme>
  /// The file, where it is a copy that does not change.
  private let copy: ServiceCopy?
  private let mutex = AsyncMutex()
  private let state: Mutex<State>

  /// Reloads for a program that serves.
  ///
  /// - Parameters:
  ///   - configuration: The configuration of the start.
  ///   - publishers: How publishers send its streams.
  ///   - copy: The file, where it is a copy that does not change.
  ///   - read: Reads the given text, or without one the file, with the options, and checks them; may block.
  init(
    of configuration: ServeConfiguration, publishers: [PublisherAccess], starter: StreamStarter,
    running: RunningStreams, display: any StatusDisplay, copy: ServiceCopy?,
    read: @escaping @Sendable (_ text: String?) -> Result<ServeConfiguration, VidiconError>
  ) {
    self.read = read
    self.starter = starter
    self.running = running
    self.display = display
    self.publishing = configuration.publishing
    self.copy = copy
    self.state = Mutex(State(current: configuration, publishers: publishers.filter(\.isGenerated)))
  }

  /// The configuration in force.
  var configuration: ServeConfiguration { self.state.withLock { $0.current } }

  /// Reads the configuration and applies it, after earlier calls; each line of the result is also one of the log.
  ///
  /// - Parameter text: The text of a configuration; nil for that of the file. The copy of the package's service is not read: it may be older
  ///   than what is in force.
  /// - Returns: What has changed; the failure of a file that cannot be used, upon which nothing has.
  func perform(_ text: String? = nil) async -> Result<ReloadEntry, VidiconError> {
    // A client that leaves does not end it halfway.
    await Task {
      let result = await self.performNext(text)
      switch result {
      case .success(let entry):
        for line in entry.changes { Self.log("changed", .notice, line) }
        for line in entry.problems { Self.log("problem", .warning, line) }
        if entry == ReloadEntry() { Self.log("unchanged", .notice, "nothing has changed") }
      case .failure(let error): Self.log("failed", .warning, "\(error); the configuration stays as it was")
      }
      return result
    }.value
  }

  /// Logs a line of a reload's result.
  private static func log(_ result: String, _ priority: LogPriority, _ line: String) {
    Terminal.log(LogEvent(.reload, priority, fields: ["result": result], message: "reload: \(line)"))
  }

  /// Waits for the reload in progress, which makes no further change; later ones make none.
  ///
  /// - Parameter limit: Maximum time to wait: a device that hangs keeps no recording of other streams from being finished.
  func end(within limit: Duration) async {
    self.state.withLock { $0.hasEnded = true }
    _ = await withTimeout(limit) { if await self.mutex.lock() { self.mutex.unlock() } }
  }

  /// Counts a reload; returns false where too many wait.
  private func begin() -> Bool {
    self.state.withLock { state in
      guard state.count < Self.maximumCount else { return false }
      state.count += 1
      return true
    }
  }

  private func performNext(_ text: String?) async -> Result<ReloadEntry, VidiconError> {
    if text == nil, let copy, copy.isOfPackage {
      var entry = ReloadEntry()
      entry.problems = [copy.note]
      return .success(entry)
    }
    guard self.begin() else {
      return .failure(
        VidiconError(
          .busy, subject: "the configuration", cause: "it is being read already", nextStep: "try again in some seconds")
      )
    }
    defer { self.state.withLock { $0.count -= 1 } }
    // Without a limit of waiters, and in a task that is not cancelled, the lock is always given.
    guard await self.mutex.lock() else { return .failure(.configurationEnds) }
    defer { self.mutex.unlock() }
    if self.state.withLock({ $0.hasEnded }) { return .failure(.configurationEnds) }
    let read = self.read
    switch await WorkerThread.run(named: "configuration", { read(text) }) {
    case .success(let next)?:
      var entry = await self.apply(next)
      if text == nil, entry == ReloadEntry(), let copy { entry.problems.append(copy.note) }
      return .success(entry)
    case .failure(let error)?: return .failure(error)
    case nil: return .failure(.noThread("configuration"))
    }
  }

  private func apply(_ next: ServeConfiguration) async -> ReloadEntry {
    for warning in next.warnings { Terminal.log(LogEvent(.configuration, message: warning)) }
    let current = self.state.withLock { $0.current }
    var entry = ReloadEntry()
    var tokens = current.givenTokens
    // Places of streams that have stopped, and start again later.
    var places: [String: Int] = [:]
    for change in ConfigurationChanges(from: current, to: next, publishing: self.publishing).list {
      let (configuration, hasEnded) = self.state.withLock { ($0.current, $0.hasEnded) }
      if hasEnded { break }
      switch change {
      case .users:
        self.update { ($0.access.users, $0.access.tokens) = (next.access.users, next.access.tokens) }
        tokens = self.setUsers()
        let isOpen = !self.starter.server.access.isWatchingProtected
        entry.changes.append("users have changed" + (isOpen ? "; watching needs no password" : ""))
      case .removed(let name):
        _ = await self.running.remove(name)
        self.update { $0.streams.removeAll { $0.name == name } }
        entry.changes.append("\(name): stopped")
      case .switched(let options, let video, let audio):
        await self.switchSources(of: options, video: video, audio: audio, into: &entry)
      case .stopped(let name): places[name] = await self.running.remove(name)
      case .restarted(let options):
        var index = places[options.name]
        if index == nil { index = await self.running.remove(options.name) }
        let previous = configuration.streams.first { $0.name == options.name }
        await self.restart(
          (options: options, isOnly: next.streams.count == 1),
          previous.map { (options: $0, isOnly: current.streams.count == 1) }, at: index, into: &entry)
      case .added(let options):
        await self.add(options, isOnly: next.streams.count == 1, into: &entry)
      case .postponedStream(let name, let cause):
        entry.problems.append("\(name): it stays as it is until the program is started again, since \(cause)")
      case .postponedSettings(let keys):
        let names = keys.map(\.rawValue).joined(separator: ", ")
        entry.problems.append("\(names): used when the program is started again")
      }
    }
    if self.state.withLock({ $0.current.givenTokens }) != tokens { _ = self.setUsers() }
    return entry
  }
}

// MARK: Changes

extension ConfigurationReload {
  private func update(_ change: (inout ServeConfiguration) -> Void) {
    self.state.withLock { change(&$0.current) }
  }

  /// Records the options with which a stream runs.
  private func setOptions(_ options: StreamOptions) {
    self.update { configuration in
      if let index = configuration.streams.firstIndex(where: { $0.name == options.name }) {
        configuration.streams[index] = options
      } else {
        configuration.streams.append(options)
      }
    }
  }

  /// Gives the users and tokens in force to the server, and returns the tokens.
  private func setUsers() -> [AccessToken] {
    let current = self.state.withLock { $0.current }
    let tokens = current.givenTokens
    self.starter.server.access.setUsers(current.access.users, tokens: tokens)
    return tokens
  }

  private func switchSources(
    of options: StreamOptions, video: Bool, audio: Bool, into entry: inout ReloadEntry
  ) async {
    do throws(VidiconError) {
      let named = try options.specification()
      try await self.running.sources(of: options.name)?.replaceByConfiguration(
        video: video ? named.video : nil, audio: audio ? named.audio : nil)
      self.setOptions(options)
      entry.changes.append("\(options.name): \(video ? "the source is" : "the audio source is") switched")
    } catch {
      entry.problems.append("\(options.name): the source stays: \(error)")
    }
  }

  private func add(_ options: StreamOptions, isOnly: Bool, into entry: inout ReloadEntry) async {
    do {
      try await self.start(options, isOnly: isOnly, at: nil)
      entry.changes.append("\(options.name): started")
    } catch {
      entry.problems.append("\(options.name): not started: \(error)")
    }
  }

  /// Starts a stream that was stopped with other options, or as it was where these fail.
  private func restart(
    _ next: (options: StreamOptions, isOnly: Bool), _ previous: (options: StreamOptions, isOnly: Bool)?,
    at index: Int?, into entry: inout ReloadEntry
  ) async {
    let name = next.options.name
    do {
      try await self.start(next.options, isOnly: next.isOnly, at: index)
      entry.changes.append("\(name): started again with its changes")
    } catch {
      do {
        if let previous { try await self.start(previous.options, isOnly: previous.isOnly, at: index) }
        entry.problems.append("\(name): it goes on as it was: \(error)")
      } catch let second {
        self.update { $0.streams.removeAll { $0.name == name } }
        entry.problems.append("\(name): it has ended: \(error); and as it was: \(second)")
      }
    }
  }

  private func start(_ options: StreamOptions, isOnly: Bool, at index: Int?) async throws {
    let (stream, choice) = try await self.starter.start(options, isOnly: isOnly)
    self.running.add(stream, options, at: index)
    self.setOptions(options)
    let access = self.starter.server.access
    let publisher = PublisherAccess(to: options) {
      let made = self.state.withLock { $0.publishers }.first { $0.stream == stream.name }
      return made?.key ?? access.makeToken(role: .publisher(stream: stream.name))
    }
    if let publisher, publisher.isGenerated {
      self.state.withLock { state in
        state.publishers.removeAll { $0.stream == stream.name }
        state.publishers.append(publisher)
      }
    }
    self.display.showStream(stream, server: self.starter.server, choice: choice, publisher: publisher)
  }
}

extension VidiconError {
  /// The program ends, and reads no configuration any more.
  fileprivate static var configurationEnds: VidiconError {
    VidiconError(
      .wrongState, subject: "the configuration", cause: "the program ends", nextStep: "start it again to have it read")
  }
}

/// A configuration file that is a copy, which systemd has made for a service at its start (`LoadCredential=`): systemd 252 makes none at a
/// reload.
struct ServiceCopy: Equatable {
  /// Folder of the copies of the package's service, systemd.exec(5).
  private static let packageFolder = "/run/credentials/\(SystemService.unit)"

  /// Whether the service is that of the package: its reload has root send the text of the file itself, so that the copy is never read again.
  let isOfPackage: Bool

  /// The copy at a path; nil for other files.
  init?(_ path: String, environment: [String: String]) {
    guard let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty, path.hasPrefix(folder + "/") else {
      return nil
    }
    self.isOfPackage = folder == Self.packageFolder
  }

  /// The line for an owner that expects the file to be read again.
  var note: String {
    self.isOfPackage
      ? "the service has a copy of the file, made at its start; \"systemctl reload vidicon\" has the file itself read, and certificates are "
        + "read again whenever they change"
      : "the service reads a copy of the file, made at its start; have another one made with \"systemctl restart\""
  }
}
