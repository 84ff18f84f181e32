import ArgumentParser
import Authentication
import Discovery
import Foundation
import Media
import NIOCore
import RTSPServer
import Recording
import Serving
import StreamControl
import Streaming
internal import Threading
import Vidicon

/// `vidicon serve`: opens the sources, serves the streams, shows their addresses and updates a status line.
///
/// Each option is in a group with a title; the settings among them are in ``ServeConfiguration/Key`` and ``StreamOptions/Key``.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Serve sources as live network cameras until Ctrl-C.")

  /// Maximum time that the end of the program waits for a reload in progress.
  private static let reloadLimit = Duration.seconds(10)

  @OptionGroup(title: "Sources") var sources: SourceArguments
  @OptionGroup(title: "Video and audio") var encoding: EncodingArguments
  @OptionGroup(title: "Faces and other effects") var effects: EffectArguments
  @OptionGroup(title: "Recording") var recording: RecordingArguments
  @OptionGroup(title: "Recording") var parts: PartArguments
  @OptionGroup(title: "Sending on") var push: PushArguments
  @OptionGroup(title: "Ports") var ports: PortArguments
  @OptionGroup(title: "Access") var access: AccessArguments
  @OptionGroup(title: "This run") var options: Options

  /// The configuration file, and options of one run, which the file does not have.
  struct Options: ParsableArguments {
    @Option(help: "A YAML file with these settings; command-line options override it.")
    var config: String?

    @Flag(name: .customLong("no-qr"), help: "Do not show a QR code of the page's address on the terminal.")
    var noQR = false

    @Flag(help: "Status as JSON, one object per line, on standard output.")
    var json = false

    @Option(help: LogFormat.help)
    var log: LogFormat?

    @Flag(
      help: "End at the start where a network source cannot be reached, instead of trying it again under the slate.")
    var exitOnFailure = false

    @Flag(help: "Play files once, and end with exit status 0 when a source ends.")
    var exitOnEOF = false
  }

  func run() async throws {
    Terminal.setLogFormat(self.options.log)
    let descriptors = ListenDescriptors.take()
    let (hangups, hangup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    if self.options.config != nil { TerminationSignals.onHangup { hangup.yield() } }
    let configuration = try ServeConfiguration(self)
    for warning in configuration.warnings { Terminal.log(LogEvent(.configuration, message: warning)) }
    ProcessLimits.raiseOpenFiles()
    ProcessLimits.avoidHugePages()
    let pauses = PauseSignal()
    let display = self.display
    // Shown after the addresses.
    let (announcements, announced) = AsyncStream.makeStream(of: DiscoveryEvent.self)
    var userFile = configuration.userFile.map { UserFileMonitor(path: $0) }
    let users = try userFile?.read()
    let catalog = Self.catalog(configuration)
    let settings = CameraServerSettings(configuration)
    let manager = ServiceManager()
    var store = await ServiceStore(
      descriptors.all, of: manager, settings: settings, address: configuration.bind)
    for line in store.lines { Terminal.warn(line, priority: .notice) }
    let server = CameraServer(
      settings: settings, catalog: catalog, privacy: .shared, discovery: { announced.yield($0) },
      log: { Terminal.log(LogEvent($0)) }, sockets: store.sockets)
    if let users { server.access.setUserFile(users) }
    if let segments = store.takeSegments() { Self.resume(server, from: segments) }
    let interruption = Task { await TerminationSignals.shared.wait() }
    let starter = StreamStarter(
      server: server, catalog: catalog, loop: !self.options.exitOnEOF, needsConnection: configuration.exitsOnFailure)
    let startup = Task { try await Self.start(configuration, with: starter) }
    // Before the streams are served, an interruption leaves nothing to end in order.
    guard let (streams, choice) = try await startup.result(unless: interruption)?.get() else { return }
    let access = Self.makeAccessSummary(
      server, configuration, isLocal: configuration.isLocal && store.areSocketsLocal)
    defer { access.token?.remove() }
    let addressFile = server.ports.flatMap { ports in
      ports.http.flatMap { ServerAddress(bind: configuration.bind, port: $0, securePort: ports.https).write() }
    }
    defer { addressFile?.remove() }
    display.showStart(server: server, streams: streams, choice: choice, access: access)
    let monitoring = Task { [userFile] in
      var userFile = userFile
      await userFile?.run { server.access.setUserFile($0) }
    }
    defer { monitoring.cancel() }
    let keys = Self.keys(for: configuration)
    if keys != nil { display.showKeys(TerminalKey.hint) }
    let announcing = Task {
      for await event in announcements {
        switch event {
        case .announced(let service, let name): display.showAnnouncement(of: service, name: name)
        case .unavailable(let error): Terminal.log(LogEvent(.announcementFailed, message: "\(error)"))
        }
      }
    }
    defer { announcing.cancel() }
    let running = RunningStreams(on: server, display: display, exitsAtEnd: self.options.exitOnEOF)
    for (stream, options) in zip(streams, configuration.streams) { running.add(stream, options) }
    let reload = self.makeReload(
      of: configuration, publishers: access.publishers, starter: starter, running: running, display: display)
    if let reload { server.setReload { await reload.perform($0) } }
    let configurationToken = self.makeConfigurationToken(server)
    defer { configurationToken?.remove() }
    let check = ServiceCheck(of: server, running, file: self.options.config) { reload?.configuration ?? configuration }
    server.setCheck { await check.perform() }
    let reloading = Task { for await _ in hangups { _ = await reload?.perform() } }
    store.forgetSegments()
    manager?.send(.ready(status: running.summary))
    // Not waited for: where an event loop hangs, it does not end.
    let watching = Task { await manager?.watch(server) { running.summary } }
    let pausing = Task { await pauses.togglePauses { running.recorders } }
    let ending = await Self.serve(
      running, on: server, display: display, interruption: interruption, keys: keys, access: access)
    reloading.cancel()
    await reload?.end(within: Self.reloadLimit)
    watching.cancel()
    manager?.send(.stopping)
    TerminalKeys.end()
    pausing.cancel()
    running.stopWatching()
    // However large a recording is, it is finished in place.
    if store.keepsSegments, case .signal = ending {
      await server.stop(suspending: { segments in
        if !store.keep(segments: segments) {
          Terminal.warn("the segments of HLS cannot be left with the service manager: players start again")
        }
      })
    } else {
      await server.stop()
    }
    await running.finishReports()
    display.showEnd()
    if case .failed(let failure) = ending { throw failure }
    if running.hasUnfinishedParts {
      throw VidiconError(
        .failed, subject: "a recording", cause: "it plays, but is not finished",
        nextStep: "start again, or finish it with \"vidicon repair\"")
    }
  }

  /// The output of the status, as the options want it.
  private var display: any StatusDisplay {
    let json = self.options.json ? JSONStatusDisplay() : nil
    if Terminal.logFormat == .keys { return LogStatusDisplay(beside: json) }
    if let json { return json }
    return TextStatusDisplay(showsQRCode: !self.options.noQR)
  }

  /// Lets players of HLS go on where the last run has stopped.
  private static func resume(_ server: CameraServer, from segments: ByteBuffer) {
    do throws(ParsingError) {
      try server.resume(from: segments)
    } catch {
      Terminal.warn(
        "segments of HLS that the last run has left are damaged (\(error)): their players start again",
        priority: .notice)
    }
  }

  /// The reload of the configuration file; nil without a file.
  private func makeReload(
    of configuration: ServeConfiguration, publishers: [PublisherAccess], starter: StreamStarter,
    running: RunningStreams, display: any StatusDisplay
  ) -> ConfigurationReload? {
    guard let path = self.options.config else { return nil }
    return ConfigurationReload(
      of: configuration, publishers: publishers, starter: starter, running: running, display: display,
      copy: ServiceCopy(path, environment: ProcessInfo.processInfo.environment)
    ) { [self] text in
      Result { () throws(VidiconError) -> ServeConfiguration in
        // Root sends the text of its file.
        let file = text.map { (text: $0, path: SetupCommand.path) }
        let configuration = try ServeConfiguration(self, file: file)
        try configuration.checkFiles()
        return configuration
      }
    }
  }

  /// Makes the token with which root gives the service of the package the text of its file; nil for other programs.
  private func makeConfigurationToken(_ server: CameraServer) -> ControlToken? {
    guard let path = self.options.config, let port = server.ports?.http,
      ServiceCopy(path, environment: ProcessInfo.processInfo.environment)?.isOfPackage == true
    else { return nil }
    return ControlToken(server.access.makeConfigurationToken(), for: .configuration, port: port)
  }

  /// Makes the operator token, unless control is off, or open to every viewer.
  private static func makeAccessSummary(
    _ server: CameraServer, _ configuration: ServeConfiguration, isLocal: Bool
  ) -> AccessSummary {
    let control = server.access.settings.control
    var summary = AccessSummary(
      control: control, isWatchingProtected: server.access.isWatchingProtected, isLocal: isLocal)
    if control != .none, control != .all, let port = server.ports?.http {
      summary.token = ControlToken(server.access.makeToken(role: .operator), port: port)
    }
    for stream in configuration.streams {
      let publisher = PublisherAccess(to: stream) {
        server.access.makeToken(role: .publisher(stream: stream.name))
      }
      if let publisher { summary.publishers.append(publisher) }
    }
    return summary
  }

  /// Serves until a signal arrives, a source ends with `--exit-on-eof`, or an encoder fails.
  private static func serve(
    _ running: RunningStreams, on server: CameraServer, display: any StatusDisplay, interruption: Task<Void, Never>,
    keys: TerminalKeys?, access: AccessSummary
  ) async -> RunningStreams.Ending {
    await withTaskGroup(of: RunningStreams.Ending?.self) { group in
      group.addTask {
        await interruption.value
        return .signal
      }
      group.addTask {
        var ticker = StatusTicker()
        var descriptors = DescriptorWarning()
        while await ticker.next() {
          display.showStatus(server: server, streams: running.streams)
          Terminal.showFolded()
          if let warning = descriptors.warning(acceptFailures: server.acceptFailures) {
            Terminal.log(LogEvent(.descriptors, message: warning))
          }
        }
        return nil
      }
      group.addTask { await running.ending() }
      if let keys {
        let actions = KeyActions(
          display: display,
          controlAddress: {
            let page = running.streams.first.flatMap { server.addresses(of: $0).page.first }
            return page.flatMap { access.controlAddress(page: $0) }
          },
          sources: { running.streams.first.flatMap { server.sources(of: $0) } })
        group.addTask { await actions.perform(keys) ? .signal : nil }
      }
      var ending = RunningStreams.Ending.signal
      while let next = await group.next() {
        guard let next else { continue }
        ending = next
        break
      }
      interruption.cancel()
      group.cancelAll()
      return ending
    }
  }

  /// The keys of the terminal, unless a source reads standard input.
  private static func keys(for configuration: ServeConfiguration) -> TerminalKeys? {
    configuration.streams.contains { $0.source == "pipe:" } ? nil : TerminalKeys()
  }

  /// The sources that streams can be switched to; not standard input when it is a terminal.
  private static func catalog(_ configuration: ServeConfiguration) -> SourceCatalog {
    var catalog = SourceCatalog.all
    catalog.fileFolders = configuration.fileFolders
    catalog.allowsLinkLocal = configuration.allowsLinkLocal
    return Terminal.isInputInteractive ? catalog.limited(to: { $0 != "pipe:" }) : catalog
  }

  /// Opens sources and ports, and serves the streams.
  ///
  /// - Returns: The streams, and the chosen source when none was requested.
  private static func start(
    _ requested: ServeConfiguration, with starter: StreamStarter
  ) async throws -> ([LiveStream], choice: String?) {
    let server = starter.server
    let hint = Task {
      try await Task.sleep(for: .seconds(1))
      if let stream = requested.streams.first(where: { $0.source == "pipe:" }) {
        Terminal.log(
          LogEvent(
            .sourceWaiting, fields: ["kind": MediaKind.video.rawValue],
            message: "waiting for YUV4MPEG2 on standard input"
          ).about(stream.name))
      }
    }
    defer { hint.cancel() }
    try requested.checkStreams()
    // Clients that connect meanwhile wait for the streams.
    try await server.start(holdingConnections: true)
    do {
      let (streams, configuration, choice) = try await Self.openStreams(requested, with: starter)
      var recorders: [Recorder?] = []
      for (stream, options) in zip(streams, configuration.streams) {
        recorders.append(try await starter.serve(stream, options))
      }
      server.serveConnections()
      for (stream, options) in zip(streams, configuration.streams) { try starter.push(stream, options) }
      for (index, options) in configuration.streams.enumerated() {
        try await starter.record(streams[index], options, with: recorders[index])
      }
      return (streams, choice)
    } catch {
      await server.stop()
      throw error
    }
  }

  /// Opens the sources of all streams at once: each may take seconds, as a camera that does not answer.
  ///
  /// - Returns: The streams, the configuration with the chosen source when none was requested, and that choice.
  private static func openStreams(
    _ configuration: ServeConfiguration, with starter: StreamStarter
  ) async throws -> ([LiveStream], ServeConfiguration, choice: String?) {
    var configuration = configuration
    if configuration.streams.count == 1, configuration.streams[0].source == nil {
      let chosen = try await starter.openDefaultSource(configuration.streams[0])
      configuration.streams[0] = chosen.options
      return ([chosen.stream], configuration, chosen.description)
    }
    let streams = try await withThrowingTaskGroup(of: (Int, LiveStream).self) { group in
      for (index, options) in configuration.streams.enumerated() {
        group.addTask { (index, try await starter.open(options)) }
      }
      return try await group.reduce(into: [Int: LiveStream]()) { $0[$1.0] = $1.1 }
    }
    return (configuration.streams.indices.compactMap { streams[$0] }, configuration, nil)
  }
}

extension CameraServerSettings {
  /// The server's settings from the command line and configuration file.
  init(_ configuration: ServeConfiguration) {
    typealias Default = ServeConfiguration.DefaultPort
    let rtspPorts = configuration.portChoice(configuration.rtspPort, default: Default.rtsp)
    var rtsp = RTSPServerSettings(port: rtspPorts.port)
    rtsp.alternativePorts = rtspPorts.alternatives
    rtsp.address = configuration.bind
    rtsp.offersUDP = configuration.rtspUDP
    let httpPorts = configuration.portChoice(configuration.httpPort, default: Default.http)
    var http = HTTPServerSettings(port: httpPorts.port)
    http.alternativePorts = httpPorts.alternatives
    http.address = configuration.bind
    if configuration.openHTTPSPort != nil {
      let ports = configuration.portChoice(configuration.httpsPort, default: Default.https)
      var tls = HTTPServerSettings.TLS(port: ports.port, certificate: .localAuthority(folder: nil))
      tls.alternativePorts = ports.alternatives
      http.tls = tls
    }
    let certificate = configuration.tlsCertificate.flatMap { chain in
      configuration.tlsKey.map { CertificateFiles(chain: chain, key: $0) }
    }
    rtsp.tls = configuration.rtspsPort.map { .init(port: $0, certificate: certificate) }
    if let certificate { http.tls?.certificate = .files(certificate) }
    self.init(rtsp: rtsp, http: http, isAnnounced: configuration.isAnnounced)
    if configuration.opensRTMP {
      let receives = configuration.receivesRTMP
      // An encoder without TLS is to reach a source rtmp: also beside the encrypted port.
      let ports = configuration.portChoice(configuration.rtmpPort, default: Default.rtmp)
      var rtmp = RTMPServerSettings(port: receives || configuration.rtmpPort != nil ? ports.port : nil)
      rtmp.alternativePorts = ports.alternatives
      rtmp.address = configuration.bind
      rtmp.tls = configuration.rtmpsPort.map { .init(port: $0, certificate: certificate) }
      self.rtmp = rtmp
    }
    if configuration.isWebRTCOn {
      let ports = configuration.portChoice(configuration.webRTCPort, default: Default.webRTC)
      var webRTC = WebRTCServerSettings(port: ports.port)
      webRTC.alternativePorts = ports.alternatives
      webRTC.isRequired = configuration.webRTCPort != nil
      webRTC.address = configuration.bind
      webRTC.iceServers = configuration.iceServers
      webRTC.candidateAddresses = configuration.iceAddresses
      self.webRTC = webRTC
    }
    self.access = configuration.access
    self.pushAuthorityFile = configuration.pushAuthorityFile
    self.access.tokens = configuration.givenTokens
  }
}
