import Media
import Recording
import StreamControl
import Streaming
import Synchronization
import Vidicon

/// The streams of `vidicon serve`, and what reports their events. Streams come and go while the program runs, when its configuration is
/// read again.
final class RunningStreams: Sendable {
  /// Reasons why serving ends.
  enum Ending: Sendable {
    case signal
    case endOfSource
    case failed(VidiconError)
  }

  /// A stream with the tasks that report its events.
  private struct Member: Sendable {
    let stream: LiveStream
    let recorder: Recorder?
    let watching: Task<Void, Never>
    let recordings: Task<Void, Never>?
    let pushes: Task<Void, Never>?
    let snapshots: Task<Void, Never>?

    /// Ends the reports of all but recordings and pushes, which end with those.
    func stopWatching() {
      self.watching.cancel()
      self.snapshots?.cancel()
    }

    /// Waits until the remaining events of recordings and pushes are reported; the stream has ended.
    func finishReports() async {
      self.recordings?.cancel()
      await self.recordings?.value
      await self.pushes?.value
    }

    var hasUnfinishedParts: Bool { (self.recorder?.status.unfinishedPartCount ?? 0) > 0 }
  }

  private struct State {
    var members: [Member] = []
    /// Streams that are being stopped, whose recordings are finished in place.
    var removals: [ObjectIdentifier: Task<Void, Never>] = [:]
    /// Whether a recording of a stream that has gone is not finished.
    var hasUnfinishedParts = false
  }

  private let server: CameraServer
  private let display: any StatusDisplay
  private let exitsAtEnd: Bool
  private let state = Mutex(State())
  private let (endings, endingContinuation) = AsyncStream.makeStream(of: Ending.self)

  /// No streams yet.
  ///
  /// - Parameter exitsAtEnd: Whether the end of a source is one of the program.
  init(on server: CameraServer, display: any StatusDisplay, exitsAtEnd: Bool) {
    self.server = server
    self.display = display
    self.exitsAtEnd = exitsAtEnd
  }

  /// The streams in the order of the configuration, those of later ones last.
  var streams: [LiveStream] { self.state.withLock { $0.members.map(\.stream) } }

  /// The recorders of the streams.
  var recorders: [Recorder] { self.state.withLock { $0.members.compactMap(\.recorder) } }

  /// Whether the recording of a stream, of one that has gone too, is not finished.
  var hasUnfinishedParts: Bool {
    let (isKnown, members) = self.state.withLock { ($0.hasUnfinishedParts, $0.members) }
    return isKnown || members.contains { $0.hasUnfinishedParts }
  }

  /// The streams with their viewers in one line, for the service manager.
  var summary: String {
    self.streams.map { stream in
      let viewers = self.server.viewers(of: stream)
      return "\(stream.name): \(viewers) \(viewers == 1 ? "viewer" : "viewers")"
    }.joined(separator: ", ")
  }

  /// The sources of a stream; nil where there is none of this name.
  func sources(of name: String) -> StreamSources? {
    self.streams.first { $0.name == name }.flatMap { self.server.sources(of: $0) }
  }

  /// Waits for an event of a stream that ends the program; nil once the task is cancelled. For one caller.
  func ending() async -> Ending? {
    for await ending in self.endings { return ending }
    return nil
  }
}

// MARK: Changes

extension RunningStreams {
  /// Adds a stream that is served, and reports its events from now on.
  ///
  /// - Parameter index: Its place among the streams; nil for the last one.
  func add(_ stream: LiveStream, _ options: StreamOptions, at index: Int? = nil) {
    let (display, name) = (self.display, stream.name)
    let (exitsAtEnd, endings) = (self.exitsAtEnd, self.endingContinuation)
    let (sources, recorder) = (self.server.sources(of: stream), self.server.recorder(of: stream))
    let watching = Task {
      let ending = await Self.watch(stream, sources, display: display, exitsAtEnd: exitsAtEnd)
      if let ending { endings.yield(ending) }
    }
    let recordings = recorder.map { recorder in
      Task { for await event in recorder.events { display.showRecording(event, of: name) } }
    }
    if let recorder, recorder.status.state == .idle {
      // A running recorder repairs leftovers itself.
      Task {
        for repair in await Recordings.repairAll(matching: recorder.settings.pattern) {
          display.showRecording(.leftover(repair), of: name)
        }
      }
    }
    let pushes = self.server.pushes(of: stream).map { pushes in
      Task { for await event in pushes.events { display.showPush(event, of: name) } }
    }
    let snapshots = options.effects.snapshotFolder.map { folder in
      Task { await SnapshotFolder(folder).saveSmiles(of: stream) { display.showSnapshot($0, in: folder, of: name) } }
    }
    let member = Member(
      stream: stream, recorder: recorder, watching: watching, recordings: recordings, pushes: pushes,
      snapshots: snapshots)
    self.state.withLock { state in
      state.members.insert(member, at: min(index ?? state.members.count, state.members.count))
    }
  }

  /// Stops a stream: disconnects its viewers and finishes its recording.
  ///
  /// - Returns: Its place among the streams; nil where there was none of this name.
  func remove(_ name: String) async -> Int? {
    let removed = self.state.withLock { state -> (index: Int, removal: Task<Void, Never>)? in
      guard let index = state.members.firstIndex(where: { $0.stream.name == name }) else { return nil }
      let member = state.members.remove(at: index)
      let removal = Task { await self.stop(member) }
      state.removals[ObjectIdentifier(member.stream)] = removal
      return (index, removal)
    }
    guard let (index, removal) = removed else { return nil }
    await removal.value
    return index
  }

  private func stop(_ member: Member) async {
    member.stopWatching()
    await self.server.stopServing(member.stream)
    await member.finishReports()
    self.state.withLock { state in
      if member.hasUnfinishedParts { state.hasUnfinishedParts = true }
      state.removals[ObjectIdentifier(member.stream)] = nil
    }
  }

  /// Ends the reports of all streams, but of recordings and pushes.
  func stopWatching() {
    for member in self.state.withLock({ $0.members }) { member.stopWatching() }
  }

  /// Reports the remaining events of recordings and pushes, once the server has stopped, also those of streams that are being stopped.
  func finishReports() async {
    let (members, removals) = self.state.withLock { ($0.members, Array($0.removals.values)) }
    for member in members { await member.finishReports() }
    for removal in removals { await removal.value }
  }

  /// Reports a stream's events; returns at an event that ends the program.
  private static func watch(
    _ stream: LiveStream, _ sources: StreamSources?, display: any StatusDisplay, exitsAtEnd: Bool
  ) async -> Ending? {
    for await event in stream.events {
      switch event {
      case .sourceEnded(let kind, let error?):
        if exitsAtEnd { return .failed(error.of("the \(kind.rawValue) source failed").of(stream.name)) }
        Terminal.log(
          LogEvent(
            .sourceFailed, stream: stream.name, fields: ["kind": kind.rawValue],
            message: "\(kind.rawValue): \(error)"))
      case .sourceEnded(let kind, nil):
        if exitsAtEnd, kind == .video { return .endOfSource }
        Terminal.log(
          LogEvent(
            .sourceEnded, stream: stream.name, fields: ["kind": kind.rawValue],
            message: "the \(kind.rawValue) source has ended; viewers stay connected"))
      case .sourceSilent:
        Terminal.log(
          LogEvent(
            .sourceSilent, stream: stream.name, fields: ["kind": MediaKind.video.rawValue],
            message: "the video source delivers no frames; viewers see the slate until it does"))
      case .sourceWaits(let reason):
        Terminal.log(
          LogEvent(
            .sourceWaiting, stream: stream.name, fields: ["kind": MediaKind.video.rawValue],
            message: "video: \(reason)"))
      case .sourceBack(let kind):
        Terminal.log(
          LogEvent(
            .sourceBack, .notice, stream: stream.name, fields: ["kind": kind.rawValue],
            message: "the \(kind.rawValue) source is back"))
      case .sourceSwitched(let kind):
        let shown = await sources?.shownAfterChange
        if let source = kind == .video ? shown?.video : shown?.audio {
          display.showSource(source, kind: kind, of: stream.name)
        }
      case .switchFailed(let kind, let error):
        Terminal.log(
          LogEvent(
            .switchFailed, stream: stream.name, fields: ["kind": kind.rawValue],
            message: "the \(kind.rawValue) source stays: \(error)"))
      case .effect(let report):
        display.showEffect(report, of: stream.name)
      case .renditionFailed(let name, let error):
        Terminal.log(
          LogEvent(
            .renditionFailed, stream: stream.name, fields: ["rendition": name],
            message: "rendition \(name) is left out: \(error)"))
      case .failed(let error):
        return .failed(error.of(stream.name))
      }
    }
    return nil
  }
}
