import ArgumentParser
import Codecs
import Media
import Recording
import Streaming
internal import Threading

/// `vidicon record`: records a stream into files without a server.
struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Record a source into an MP4 file until Ctrl-C.",
    discussion: """
      Without --duration the recording ends with its source, too: a file is played once. SIGUSR1 pauses and resumes. \
      The file plays up to its last second while it is being recorded, and after a crash.
      """)

  @Argument(
    help: "The file, such as clip.mp4; with time fields, such as %F_%H-%M-%S.mp4, each file gets its own name.")
  var output: String

  @OptionGroup(title: "Sources") var sources: SourceArguments

  @OptionGroup(title: "Video and audio") var encoding: EncodingArguments

  @OptionGroup(title: "Faces and other effects") var effects: EffectArguments

  @OptionGroup(title: "Recording") var parts: PartArguments

  @OptionGroup(title: "This run") var options: Options

  /// The configuration file, and options of one run.
  struct Options: ParsableArguments {
    @Option(help: "A YAML file with these settings; command-line options override it.")
    var config: String?

    @Option(help: "Stop after this recorded time, without pauses, such as 60s; source files are looped.")
    var duration: String?

    @Flag(help: "End with the source, also with --duration.")
    var exitOnEOF = false

    @Flag(help: "Progress as JSON, one object per line, on standard output.")
    var json = false

    @Option(help: LogFormat.help)
    var log: LogFormat?
  }

  func run() async throws {
    Terminal.setLogFormat(self.options.log)
    let options = try ServeConfiguration.stream(of: self)
    guard var settings = try options.recordingSettings(existing: .refuse) else { return }
    settings.duration = try self.options.duration.map(Quantity.duration)
    let loops = self.options.duration != nil && !self.options.exitOnEOF
    let pauses = PauseSignal()
    let interruption = Task { await TerminationSignals.shared.wait() }
    let startup = Task { [settings] in try await Self.start(options, settings, loop: loops) }
    // Before the recording starts, an interruption leaves nothing to finish.
    guard let (stream, recorder) = try await startup.result(unless: interruption)?.get() else { return }

    if options.acceptsAnyCertificate {
      Terminal.log(
        LogEvent(
          .message, stream: options.name, message: "its source is not verified (insecure=1); its media may be another's"
        ))
    }
    let display = RecordDisplay(recorder, of: stream, isJSON: self.options.json)
    let reporter = Task { for await event in recorder.events { display.show(event) } }
    let pausing = Task { await pauses.togglePauses { [recorder] } }
    let snapshots = options.effects.snapshotFolder.map { folder in
      Task { await SnapshotFolder(folder).saveSmiles(of: stream) { display.showSnapshot($0, in: folder) } }
    }
    defer { snapshots?.cancel() }
    let failure = await Self.record(
      stream, with: recorder, display: display, interruption: interruption, endsWithSource: !loops)
    pausing.cancel()
    await stream.stop()
    // Reports the remaining events first.
    reporter.cancel()
    await reporter.value
    if let error = recorder.status.error { throw error.of("the recording has stopped") }
    if let failure { throw failure }
    if recorder.status.unfinishedPartCount > 0 {
      throw VidiconError(
        .failed, subject: "a file", cause: "it plays, but is not finished",
        nextStep: "finish it with \"vidicon repair\"")
    }
  }

  /// Records until a signal arrives, the recording ends, the source ends, or an encoder fails; then finishes the files,
  /// without a time limit.
  private static func record(
    _ stream: LiveStream, with recorder: Recorder, display: RecordDisplay, interruption: Task<Void, Never>,
    endsWithSource: Bool
  ) async -> VidiconError? {
    await withTaskGroup(of: Result<Void, VidiconError>?.self) { group in
      group.addTask {
        await interruption.value
        return .success(())
      }
      group.addTask {
        await recorder.waitUntilEnd()
        return .success(())
      }
      group.addTask {
        var ticker = StatusTicker()
        while await ticker.next() {
          display.showProgress()
          Terminal.showFolded()
        }
        return nil
      }
      group.addTask { await Self.watch(stream, endsWithSource: endsWithSource) }
      var failure: VidiconError?
      while let next = await group.next() {
        guard let next else { continue }
        if case .failure(let error) = next { failure = error }
        break
      }
      await recorder.stop()
      interruption.cancel()
      group.cancelAll()
      return failure
    }
  }

  /// Reports the stream's events; returns at an event that ends the recording.
  private static func watch(_ stream: LiveStream, endsWithSource: Bool) async -> Result<Void, VidiconError>? {
    func log(_ event: LogEvent) { Terminal.log(event.about(stream.name)) }
    for await event in stream.events {
      switch event {
      case .sourceEnded(let kind, let error?):
        if endsWithSource, kind == .video { return .failure(error.of("the \(kind.rawValue) source failed")) }
        log(
          LogEvent(
            .sourceFailed, fields: ["kind": kind.rawValue],
            message: "\(kind.rawValue): \(error); the recording continues without it"))
      case .sourceEnded(.video, nil):
        if endsWithSource { return .success(()) }
        log(
          LogEvent(
            .sourceEnded, fields: ["kind": MediaKind.video.rawValue],
            message: "the video source has ended; the recording continues"))
      case .sourceEnded(.audio, nil):
        if endsWithSource { continue }
        log(
          LogEvent(
            .sourceEnded, fields: ["kind": MediaKind.audio.rawValue],
            message: "the audio source has ended; the recording continues"))
      case .sourceSilent:
        log(
          LogEvent(
            .sourceSilent, fields: ["kind": MediaKind.video.rawValue],
            message: "the video source delivers no frames; the slate is recorded until it does"))
      case .sourceWaits(let reason):
        log(
          LogEvent(.sourceWaiting, fields: ["kind": MediaKind.video.rawValue], message: "video: \(reason)"))
      case .sourceBack(let kind):
        log(
          LogEvent(
            .sourceBack, .notice, fields: ["kind": kind.rawValue], message: "the \(kind.rawValue) source is back"))
      // Only vidicon serve switches sources.
      case .sourceSwitched, .switchFailed: continue
      case .effect(let report): log(LogEvent(report, of: nil))
      case .renditionFailed(let name, let error):
        log(
          LogEvent(
            .renditionFailed, fields: ["rendition": name], message: "rendition \(name) is left out: \(error)"))
      case .failed(let error): return .failure(error)
      }
    }
    return nil
  }

  /// Starts the stream and its recording.
  private static func start(
    _ options: StreamOptions, _ settings: RecordingSettings, loop: Bool
  ) async throws -> (LiveStream, Recorder) {
    let stream = try await options.openStream(for: .recording, loop: loop)
    _ = try await options.effects.apply(to: stream)
    let preceding = options.recording.recorder(beforeStartOf: stream, settings: settings)
    try await stream.start()
    let recorder: Recorder
    do throws(VidiconError) {
      if let preceding {
        recorder = preceding
      } else {
        recorder = try options.recording.recorder(of: stream, settings: settings)
      }
      try await recorder.start()
    } catch {
      await stream.stop()
      // The existing file may be an unfinished recording that a crash has left.
      if error.code == .alreadyExists {
        for repair in await Recordings.repairAll(matching: settings.pattern) { Terminal.warn(repair.summary) }
      }
      var error = error
      if error.code == .alreadyExists { error.nextStep = "give another name, or --overwrite" }
      throw error
    }
    return (stream, recorder)
  }
}
