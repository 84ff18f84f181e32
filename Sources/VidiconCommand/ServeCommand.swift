import ArgumentParser
import Capture
import Codecs
import Media
import RTSPServer
import Streaming
import Vidicon

/// `vidicon serve`: opens the sources, publishes the streams, tells their addresses and keeps a status line up to date.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Serve sources as live network cameras until Ctrl-C.")

  @OptionGroup var options: ServeOptions

  func run() async throws {
    let configuration = try ServeConfiguration(self.options)
    ProcessLimits.raiseOpenFiles()
    LibavLog.silence()
    let signals = TerminationSignals()
    let server = CameraServer(rtsp: RTSPServerSettings(configuration))
    let streams = try Self.makeStreams(configuration)
    do throws(RTSPServerError) {
      try await server.start()
    } catch {
      throw Failure("\(error)")
    }
    for stream in streams {
      do throws(StreamError) {
        try await server.publish(stream)
      } catch {
        await server.stop()
        throw Failure("\(stream.name): \(error)")
      }
    }
    let display: any StatusDisplay =
      self.options.json ? JSONStatusDisplay(bind: configuration.bind) : TextStatusDisplay(bind: configuration.bind)
    display.showStart(server: server, streams: streams)
    let ending = await self.serve(streams, on: server, display: display, signals: signals)
    await server.stop()
    display.showEnd()
    if case .failed(let failure) = ending { throw failure }
  }

  /// Why serving ended.
  private enum Ending: Sendable {
    case signal
    case endOfSource
    case failed(Failure)
  }

  /// Serves until a signal comes, a source ends with `--exit-on-eof`, or an encoder fails.
  private func serve(
    _ streams: [LiveStream], on server: CameraServer, display: any StatusDisplay, signals: TerminationSignals
  ) async -> Ending {
    let exitsAtEnd = self.options.exitOnEOF
    return await withTaskGroup(of: Ending?.self) { group in
      group.addTask {
        await signals.wait()
        return .signal
      }
      group.addTask {
        var ticker = StatusTicker()
        while await ticker.next() { display.showStatus(server: server, streams: streams) }
        return nil
      }
      for stream in streams {
        group.addTask { await Self.watch(stream, exitsAtEnd: exitsAtEnd) }
      }
      var ending = Ending.signal
      while let next = await group.next() {
        guard let next else { continue }
        ending = next
        break
      }
      group.cancelAll()
      return ending
    }
  }

  /// Tells what happens to a stream; returns when that is to end the program.
  private static func watch(_ stream: LiveStream, exitsAtEnd: Bool) async -> Ending? {
    for await event in stream.events {
      switch event {
      case .sourceEnded(let kind, let error?):
        Terminal.warn("\(stream.name): \(kind.rawValue): \(error)")
        if exitsAtEnd { return .failed(Failure("\(stream.name): the \(kind.rawValue) source failed")) }
      case .sourceEnded(let kind, nil):
        if exitsAtEnd, kind == .video { return .endOfSource }
        Terminal.warn("\(stream.name): the \(kind.rawValue) source has ended; viewers stay connected")
      case .sourceSilent:
        Terminal.warn("\(stream.name): the video source gives no picture; viewers see the slate until it does")
      case .sourceBack:
        Terminal.warn("\(stream.name): the video source is back")
      case .failed(let error):
        return .failed(Failure("\(stream.name): \(error)"))
      }
    }
    return nil
  }

  /// Makes the streams with their sources attached.
  private static func makeStreams(_ configuration: ServeConfiguration) throws(Failure) -> [LiveStream] {
    var streams: [LiveStream] = []
    for options in configuration.streams {
      let stream = LiveStream(options.name, video: options.video, audio: options.sound)
      do throws(CaptureError) {
        let sources = try options.openSources()
        stream.attachVideo(sources.video)
        if let audio = sources.audio { stream.attachAudio(audio) }
      } catch {
        let message = "\(options.name): \(error)"
        throw error.code == .invalidSpecification ? .usage(message) : Failure(message)
      }
      streams.append(stream)
    }
    return streams
  }
}

extension RTSPServerSettings {
  /// The server's settings as the user gave them.
  init(_ configuration: ServeConfiguration) {
    self.init(port: configuration.rtspPort)
    self.address = configuration.bind
    self.offersUDP = configuration.rtspUDP
    self.credentials = configuration.users.map { .init(name: $0.name, password: $0.password) }
    if let port = configuration.rtspsPort, let certificate = configuration.tlsCertificate,
      let key = configuration.tlsKey
    {
      self.tls = .init(port: port, certificateFile: certificate, keyFile: key)
    }
  }
}
