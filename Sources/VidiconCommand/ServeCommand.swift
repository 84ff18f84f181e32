import ArgumentParser
import Authentication
import Codecs
import Discovery
import Effects
import Media
import RTSPServer
import Recording
import Serving
import Streaming
internal import Threading
import Vidicon

/// `vidicon serve`: opens the sources, serves the streams, shows their addresses and updates a status line.
///
/// Each option is in a group with a title; the settings among them are in ``ServeConfiguration/Key`` and ``StreamOptions/Key``.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Serve sources as live network cameras until Ctrl-C.")

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

    @Flag(
      help: "End at the start where a network source cannot be reached, instead of trying it again under the slate.")
    var exitOnFailure = false

    @Flag(help: "Play files once, and end with exit status 0 when a source ends.")
    var exitOnEOF = false
  }

  func run() async throws {
    let configuration = try ServeConfiguration(self)
    for warning in configuration.warnings { Terminal.warn(warning) }
    ProcessLimits.raiseOpenFiles()
    ProcessLimits.avoidHugePages()
    let pauses = PauseSignal()
    let display: any StatusDisplay =
      self.options.json ? JSONStatusDisplay() : TextStatusDisplay(showsQRCode: !self.options.noQR)
    // Shown after the addresses.
    let (announcements, announced) = AsyncStream.makeStream(of: DiscoveryEvent.self)
    var userFile = configuration.userFile.map { UserFileMonitor(path: $0) }
    let users = try userFile?.read()
    let server = CameraServer(
      settings: CameraServerSettings(configuration), catalog: Self.catalog(configuration),
      discovery: { announced.yield($0) },
      report: { Terminal.warn($0) })
    if let users { server.access.setUserFile(users) }
    let interruption = Task { await TerminationSignals.shared.wait() }
    let loops = !self.options.exitOnEOF
    let startup = Task { try await Self.start(server, configuration, loop: loops) }
    // Before the streams are served, an interruption leaves nothing to end in order.
    guard let (streams, choice) = try await startup.result(unless: interruption)?.get() else { return }
    let access = Self.makeAccessSummary(server, configuration)
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
        case .unavailable(let error): Terminal.warn("\(error)")
        }
      }
    }
    defer { announcing.cancel() }
    let recorders = streams.compactMap { stream in server.recorder(of: stream).map { (stream.name, $0) } }
    let reporters = recorders.map { name, recorder in
      Task { for await event in recorder.events { display.showRecording(event, of: name) } }
    }
    for (name, recorder) in recorders where recorder.status.state == .idle {
      // A running recorder repairs leftovers itself.
      Task {
        for repair in await Recordings.repairAll(matching: recorder.settings.pattern) {
          display.showRecording(.leftover(repair), of: name)
        }
      }
    }
    let pushReporters = streams.compactMap { stream in
      server.pushes(of: stream).map { pushes in
        Task { for await event in pushes.events { display.showPush(event, of: stream.name) } }
      }
    }
    let manager = ServiceManager()
    manager?.send(.ready(status: Self.summary(of: streams, on: server)))
    // Not waited for: where an event loop hangs, it does not end.
    let watching = Task { await manager?.watch(server) { Self.summary(of: streams, on: server) } }
    let pausing = Task { await pauses.togglePauses(of: recorders.map(\.1)) }
    let snapshots = zip(streams, configuration.streams).compactMap { stream, options in
      options.effects.snapshotFolder.map { folder in
        Task { await SnapshotFolder(folder).saveSmiles(of: stream) { display.showSnapshot($0, of: stream.name) } }
      }
    }
    defer { for task in snapshots { task.cancel() } }
    let ending = await self.serve(
      streams, on: server, display: display, interruption: interruption, keys: keys, access: access)
    watching.cancel()
    manager?.send(.stopping)
    TerminalKeys.end()
    pausing.cancel()
    // However large a recording is, it is finished in place.
    await server.stop()
    for reporter in reporters {
      // Reports the remaining events first.
      reporter.cancel()
      await reporter.value
    }
    for reporter in pushReporters { await reporter.value }
    display.showEnd()
    if case .failed(let failure) = ending { throw failure }
    if recorders.contains(where: { $0.1.status.unfinishedPartCount > 0 }) {
      throw VidiconError(
        .failed, subject: "a recording", cause: "it plays, but is not finished",
        nextStep: "start again, or finish it with \"vidicon repair\"")
    }
  }

  /// Makes the operator token, unless control is off, or open to every viewer.
  private static func makeAccessSummary(_ server: CameraServer, _ configuration: ServeConfiguration) -> AccessSummary {
    let control = server.access.settings.control
    var summary = AccessSummary(control: control, isWatchingProtected: server.access.isWatchingProtected)
    if control != .none, control != .all, let port = server.ports?.http {
      summary.token = ControlToken(server.access.makeToken(role: .operator), port: port)
    }
    for stream in configuration.streams {
      guard let scheme = stream.publishScheme else { continue }
      summary.publishers.append(
        PublisherAccess(
          stream: stream.name, scheme: scheme,
          key: stream.publishToken?.secret ?? server.access.makeToken(role: .publisher(stream: stream.name)),
          isGenerated: stream.publishToken == nil))
    }
    return summary
  }

  /// Reasons why serving ended.
  private enum Ending: Sendable {
    case signal
    case endOfSource
    case failed(VidiconError)
  }

  /// Serves until a signal arrives, a source ends with `--exit-on-eof`, or an encoder fails.
  private func serve(
    _ streams: [LiveStream], on server: CameraServer, display: any StatusDisplay, interruption: Task<Void, Never>,
    keys: TerminalKeys?, access: AccessSummary
  ) async -> Ending {
    let exitsAtEnd = self.options.exitOnEOF
    return await withTaskGroup(of: Ending?.self) { group in
      group.addTask {
        await interruption.value
        return .signal
      }
      group.addTask {
        var ticker = StatusTicker()
        var descriptors = DescriptorWarning()
        while await ticker.next() {
          display.showStatus(server: server, streams: streams)
          if let warning = descriptors.warning(acceptFailures: server.acceptFailures) { Terminal.warn(warning) }
        }
        return nil
      }
      for stream in streams {
        let sources = server.sources(of: stream)
        group.addTask { await Self.watch(stream, sources, display: display, exitsAtEnd: exitsAtEnd) }
      }
      if let keys, let sources = streams.first.flatMap({ server.sources(of: $0) }) {
        let page = server.addresses(of: sources.stream).page.first
        let address = page.flatMap { access.controlAddress(page: $0) }
        group.addTask {
          await KeyActions(sources, display: display, controlAddress: address).perform(keys) ? .signal : nil
        }
      }
      var ending = Ending.signal
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

  /// The streams with their viewers in one line, for the service manager.
  private static func summary(of streams: [LiveStream], on server: CameraServer) -> String {
    streams.map { stream in
      let viewers = server.viewers(of: stream)
      return "\(stream.name): \(viewers) \(viewers == 1 ? "viewer" : "viewers")"
    }.joined(separator: ", ")
  }

  /// Reports a stream's events; returns at an event that ends the program.
  private static func watch(
    _ stream: LiveStream, _ sources: StreamSources?, display: any StatusDisplay, exitsAtEnd: Bool
  ) async -> Ending? {
    for await event in stream.events {
      switch event {
      case .sourceEnded(let kind, let error?):
        if exitsAtEnd { return .failed(error.of("the \(kind.rawValue) source failed").of(stream.name)) }
        Terminal.warn("\(stream.name): \(kind.rawValue): \(error)")
      case .sourceEnded(let kind, nil):
        if exitsAtEnd, kind == .video { return .endOfSource }
        Terminal.warn("\(stream.name): the \(kind.rawValue) source has ended; viewers stay connected")
      case .sourceSilent:
        Terminal.warn("\(stream.name): the video source delivers no frames; viewers see the slate until it does")
      case .sourceWaits(let reason): Terminal.warn("\(stream.name): video: \(reason)")
      case .sourceBack(let kind):
        Terminal.warn("\(stream.name): the \(kind.rawValue) source is back")
      case .sourceSwitched(let kind):
        let shown = await sources?.shownAfterChange
        if let source = kind == .video ? shown?.video : shown?.audio {
          display.showSource(source, kind: kind, of: stream.name)
        }
      case .switchFailed(let kind, let error):
        Terminal.warn("\(stream.name): the \(kind.rawValue) source stays: \(error)")
      case .effect(let report):
        display.showEffect(report, of: stream.name)
      case .renditionFailed(let name, let error):
        Terminal.warn("\(stream.name): rendition \(name) is left out: \(error)")
      case .failed(let error):
        return .failed(error.of(stream.name))
      }
    }
    return nil
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
    _ server: CameraServer, _ requested: ServeConfiguration, loop: Bool
  ) async throws -> ([LiveStream], choice: String?) {
    let hint = Task {
      try await Task.sleep(for: .seconds(1))
      if requested.streams.contains(where: { $0.source == "pipe:" }) {
        Terminal.warn("waiting for YUV4MPEG2 on standard input")
      }
    }
    defer { hint.cancel() }
    try requested.checkStreams()
    // Clients that connect meanwhile wait for the streams.
    try await server.start(holdingConnections: true)
    let (streams, configuration, choice): ([LiveStream], ServeConfiguration, String?)
    do {
      (streams, configuration, choice) = try await Self.openStreams(requested, loop: loop)
    } catch {
      await server.stop()
      throw error
    }
    var recorders: [Recorder?] = []
    for (stream, options) in zip(streams, configuration.streams) {
      let named = try options.specification()
      server.attach(
        StreamSources(stream, video: named.video, audio: named.audio, catalog: Self.catalog(configuration)), to: stream)
      server.attach(try await options.effects.apply(to: stream), to: stream)
      // The first frame has no mask yet; frames that are encoded for effects have a keyframe when the recording starts.
      let settings = stream.effects.isEmpty ? try options.recordingSettings(existing: .number) : nil
      recorders.append(settings.flatMap { options.recording.recorder(beforeStartOf: stream, settings: $0) })
      do throws(VidiconError) {
        try await server.serve(stream)
      } catch {
        await server.stop()
        throw error.of(stream.name)
      }
    }
    server.serveConnections()
    for (stream, options) in zip(streams, configuration.streams) where !options.pushes.isEmpty {
      do throws(VidiconError) {
        try server.pushes(of: stream)?.add(options.pushes)
      } catch {
        await server.stop()
        throw error.of(stream.name)
      }
    }
    for (index, options) in configuration.streams.enumerated() {
      if let settings = try options.recordingSettings(existing: .number) {
        await Self.record(streams[index], options.recording, on: server, settings, with: recorders[index])
      }
    }
    return (streams, choice)
  }

  /// Opens the sources of all streams at once: each may take seconds, as a camera that does not answer.
  ///
  /// - Returns: The streams, the configuration with the chosen source when none was requested, and that choice.
  private static func openStreams(
    _ configuration: ServeConfiguration, loop: Bool
  ) async throws -> ([LiveStream], ServeConfiguration, choice: String?) {
    var configuration = configuration
    if configuration.streams.count == 1, configuration.streams[0].source == nil {
      let chosen = try await DefaultSource(
        options: configuration.streams[0], loop: loop, devices: await SourceCatalog.all.listDevices() ?? []
      ).choose()
      configuration.streams[0] = chosen.options
      return ([chosen.stream], configuration, chosen.description)
    }
    let use = StreamUse.serving(needsConnection: configuration.exitsOnFailure)
    let streams = try await withThrowingTaskGroup(of: (Int, LiveStream).self) { group in
      for (index, options) in configuration.streams.enumerated() {
        group.addTask { (index, try await options.openStream(for: use, loop: loop)) }
      }
      return try await group.reduce(into: [Int: LiveStream]()) { $0[$1.0] = $1.1 }
    }
    return (configuration.streams.indices.compactMap { streams[$0] }, configuration, nil)
  }

  /// Attaches a recorder, and starts it if requested; a failure is reported and the stream continues.
  ///
  /// - Parameter preceding: The recorder that was made before the stream has started; nil to make one.
  private static func record(
    _ stream: LiveStream, _ options: RecordingOptions, on server: CameraServer, _ settings: RecordingSettings,
    with preceding: Recorder?
  ) async {
    do throws(VidiconError) {
      let recorder = if let preceding { preceding } else { try options.recorder(of: stream, settings: settings) }
      server.attach(recorder, to: stream)
      if options.startsAtOnce { try await recorder.start() }
    } catch {
      Terminal.warn("\(stream.name): it is not recorded: \(error)")
    }
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
