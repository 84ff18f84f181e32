import Media
import Recording
import StreamControl
import Streaming
import Vidicon

/// Starts streams of `vidicon serve`: those of its start together, and each that comes later with a configuration that was read again.
struct StreamStarter: Sendable {
  let server: CameraServer
  /// The sources that streams can be switched to.
  let catalog: SourceCatalog
  /// Whether files are looped.
  let loop: Bool
  /// Whether a network source must be there when its stream starts.
  let needsConnection: Bool

  /// Opens the sources of a stream.
  func open(_ options: StreamOptions) async throws(VidiconError) -> LiveStream {
    try await options.openStream(for: .serving(needsConnection: self.needsConnection), loop: self.loop)
  }

  /// Opens the first camera that delivers frames, for options without a source.
  func openDefaultSource(_ options: StreamOptions) async throws -> DefaultSource.Choice {
    let devices = await SourceCatalog.all.listDevices() ?? []
    return try await DefaultSource(options: options, loop: self.loop, devices: devices).choose()
  }

  /// Attaches sources and effects to a stream, and serves it.
  ///
  /// - Returns: A recorder that has its first frame; nil where none is needed.
  func serve(_ stream: LiveStream, _ options: StreamOptions) async throws -> Recorder? {
    let named = try options.specification()
    self.server.attach(
      StreamSources(stream, video: named.video, audio: named.audio, catalog: self.catalog), to: stream)
    self.server.attach(try await options.effects.apply(to: stream), to: stream)
    // The first frame has no mask yet; frames that are encoded for effects have a keyframe when the recording starts.
    let settings = stream.effects.isEmpty ? try options.recordingSettings(existing: .number) : nil
    let recorder = settings.flatMap { options.recording.recorder(beforeStartOf: stream, settings: $0) }
    do throws(VidiconError) {
      try await self.server.serve(stream)
    } catch {
      throw error.of(stream.name)
    }
    return recorder
  }

  /// Starts the pushes of a served stream.
  func push(_ stream: LiveStream, _ options: StreamOptions) throws(VidiconError) {
    guard !options.pushes.isEmpty else { return }
    do throws(VidiconError) {
      try self.server.pushes(of: stream)?.add(options.pushes)
    } catch {
      throw error.of(stream.name)
    }
  }

  /// Attaches a recorder to a served stream, and starts it if requested; a failure is reported and the stream continues.
  ///
  /// - Parameter preceding: The recorder that was made before the stream has started; nil to make one.
  func record(_ stream: LiveStream, _ options: StreamOptions, with preceding: Recorder?) async throws(VidiconError) {
    guard let settings = try options.recordingSettings(existing: .number) else { return }
    do throws(VidiconError) {
      let recorder =
        if let preceding { preceding } else { try options.recording.recorder(of: stream, settings: settings) }
      self.server.attach(recorder, to: stream)
      if options.recording.startsAtOnce { try await recorder.start() }
    } catch {
      Terminal.log(
        LogEvent(
          .recordingFailed, stream: stream.name, fields: ["path": error.subject],
          message: "it is not recorded: \(error)"))
    }
  }

  /// Starts one stream of a server that runs.
  ///
  /// - Parameter isOnly: Whether the server has no other one: a camera is then chosen where no source is requested.
  /// - Returns: The stream, and the chosen source in words; nil for a requested one.
  func start(_ requested: StreamOptions, isOnly: Bool) async throws -> (stream: LiveStream, choice: String?) {
    var (options, choice) = (requested, String?.none)
    let stream: LiveStream
    if isOnly, options.source == nil {
      let chosen = try await self.openDefaultSource(options)
      stream = chosen.stream
      (options, choice) = (chosen.options, chosen.description)
    } else {
      stream = try await self.open(options)
    }
    do {
      let recorder = try await self.serve(stream, options)
      try self.push(stream, options)
      try await self.record(stream, options, with: recorder)
      return (stream, choice)
    } catch {
      await self.server.stopServing(stream)
      throw error
    }
  }
}
