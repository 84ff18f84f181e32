import Discovery
import Media
import Recording
import Serving
import Streaming
import Synchronization
import Vidicon

/// The events of `vidicon serve` as keys and values on standard error, in place of the texts for people on standard output.
///
/// Rates and times of each second are those of metrics and of `--json`, and no events.
final class LogStatusDisplay: StatusDisplay {
  /// Receives all of it too; nil for none.
  private let other: JSONStatusDisplay?
  /// Number of viewers by protocol of each stream that had one, as logged.
  private let viewers = Mutex<[String: [String: Int]]>([:])

  /// Creates a display that writes to standard error.
  ///
  /// - Parameter other: The display of `--json`, which writes to standard output.
  init(beside other: JSONStatusDisplay?) {
    self.other = other
  }

  func showStart(server: CameraServer, streams: [LiveStream], choice: String?, access: AccessSummary) {
    let ports = server.ports
    func text(_ port: Int?) -> String? { port.map { "\($0)" } }
    Terminal.log(
      LogEvent(
        .listening, .notice,
        fields: [
          "version": ProgramVersion.text, "rtsp": text(ports?.rtsp), "rtsps": text(ports?.rtsps),
          "rtmp": text(ports?.rtmp), "rtmps": text(ports?.rtmps), "webrtc": text(ports?.webRTC),
          "http": text(ports?.http), "https": text(ports?.https), "certificate": server.certificateFingerprint,
          "authority": server.authorityFingerprint, "control_token_file": access.token?.path,
        ]))
    for note in access.notes { Terminal.log(LogEvent(.access, .notice, message: note)) }
    for stream in streams {
      let publisher = access.publishers.first { $0.stream == stream.name }
      self.logStream(stream, server: server, choice: choice, publisher: publisher)
    }
    self.other?.showStart(server: server, streams: streams, choice: choice, access: access)
  }

  func showStream(_ stream: LiveStream, server: CameraServer, choice: String?, publisher: PublisherAccess?) {
    self.logStream(stream, server: server, choice: choice, publisher: publisher)
    self.other?.showStream(stream, server: server, choice: choice, publisher: publisher)
  }

  private func logStream(_ stream: LiveStream, server: CameraServer, choice: String?, publisher: PublisherAccess?) {
    let sources = server.sources(of: stream)?.shown(isOperator: true)
    Terminal.log(
      LogEvent(
        startOf: stream.name, source: sources?.video, audio: sources?.audio, addresses: server.addresses(of: stream),
        choice: choice, publisher: publisher))
  }

  /// Does nothing: the address has a token, and logs are kept.
  func showControl(_ address: String?) {}

  func showKeys(_ hint: String) {}

  func showKey(_ text: String) {}

  func showSource(_ source: String, kind: MediaKind, of stream: String) {
    Terminal.log(
      LogEvent(.sourceSwitched, .notice, stream: stream, fields: ["kind": kind.rawValue, "source": source]))
    self.other?.showSource(source, kind: kind, of: stream)
  }

  func showEffect(_ report: EffectReport, of stream: String) {
    // The other one logs it.
    if let other { return other.showEffect(report, of: stream) }
    Terminal.log(LogEvent(report, of: stream))
  }

  func showAnnouncement(of service: Service, name: String) {
    Terminal.log(
      LogEvent(
        .announced, .notice, fields: ["service": service.kind.rawValue, "name": name, "port": "\(service.port)"]))
    self.other?.showAnnouncement(of: service, name: name)
  }

  func showStatus(server: CameraServer, streams: [LiveStream]) {
    let counts = streams.map { stream in
      let http = server.httpStatistics(of: stream)
      var viewers = server.viewerStatistics(of: stream).mapValues(\.viewers)
      viewers["hls"] = http.hlsViewers
      viewers["mjpeg"] = http.motionJPEGViewers
      return (stream: stream.name, viewers: viewers)
    }
    for event in self.changes(to: counts) { Terminal.log(event) }
    self.other?.showStatus(server: server, streams: streams)
  }

  /// Records the numbers of viewers of all streams, and returns an event for each stream whose numbers have changed, also one that is gone.
  func changes(to counts: [(stream: String, viewers: [String: Int])]) -> [LogEvent] {
    self.viewers.withLock { last in
      let changed = counts.filter { stream, viewers in
        let before = last[stream] ?? [:]
        return viewers.contains { $0.value != before[$0.key] ?? 0 }
      }
      let known = Set(counts.map(\.stream))
      let removed = last.filter { stream, viewers in
        !known.contains(stream) && viewers.values.contains { $0 > 0 }
      }.map { (stream: $0.key, viewers: $0.value.mapValues { _ in 0 }) }.sorted { $0.stream < $1.stream }
      last = Dictionary(counts.map { ($0.stream, $0.viewers) }) { first, _ in first }
      return (changed + removed).map { stream, viewers in
        func text(_ name: String) -> String? { viewers[name].map { "\($0)" } }
        return LogEvent(
          .viewers, .notice, stream: stream,
          fields: [
            "viewers": "\(viewers.values.reduce(0, +))", "rtsp": text("rtsp"), "rtmp": text("rtmp"),
            "webrtc": text("webrtc"), "hls": text("hls"), "mjpeg": text("mjpeg"),
          ])
      }
    }
  }

  func showRecording(_ event: RecordingEvent, of stream: String) {
    // The other one logs it.
    if let other { return other.showRecording(event, of: stream) }
    Terminal.log(event.logEvent(of: stream))
  }

  func showSnapshot(_ path: String, of stream: String) {
    Terminal.log(LogEvent(.snapshotSaved, .notice, stream: stream, fields: ["path": path]))
    self.other?.showSnapshot(path, of: stream)
  }

  func showPush(_ event: PushEvent, of stream: String) {
    Terminal.log(event.logEvent(of: stream))
    self.other?.showPush(event, of: stream)
  }

  /// Logs that no stream has viewers any more. Whether the program ends in order is known later.
  func showEnd() {
    for event in self.changes(to: []) { Terminal.log(event) }
    self.other?.showEnd()
  }
}
