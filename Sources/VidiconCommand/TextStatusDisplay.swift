import Discovery
import Foundation
import Media
import Recording
import Serving
import Streaming
import Synchronization
import Vidicon

/// Status for users: addresses at the start, then a line that is updated each second on a terminal; elsewhere a line when
/// the number of viewers changes, and every ten seconds.
final class TextStatusDisplay: StatusDisplay {
  private struct State {
    var reporter = StreamReporter()
    var lastViewers: [Int] = []
    var secondsSinceLine = 0
  }

  private static let secondsBetweenLines = 10
  private let showsQRCode: Bool
  private let state = Mutex(State())

  /// Creates a display that writes to standard output.
  ///
  /// - Parameter showsQRCode: Whether a terminal gets QR codes of the pages that send a phone's camera, or that of the first stream's page.
  init(showsQRCode: Bool) {
    self.showsQRCode = showsQRCode
  }

  func showStart(server: CameraServer, streams: [LiveStream], choice: String?, access: AccessSummary) {
    for stream in streams {
      let publisher = access.publishers.first { $0.stream == stream.name }
      self.showStream(stream, server: server, choice: choice, publisher: publisher)
      let control = server.addresses(of: stream).page.first.flatMap {
        access.controlText(page: $0, isTerminal: Terminal.isInteractive)
      }
      if let control { Self.print([control], as: "Control") }
    }
    for note in access.notes { Self.print([note], as: "Access") }
    if let fingerprint = server.certificateFingerprint { Terminal.print("  Certificate  SHA-256 \(fingerprint)") }
    if let fingerprint = server.authorityFingerprint {
      Terminal.print("  Authority    SHA-256 \(fingerprint); phones can trust it: /ca")
    }
    if self.showsQRCode {
      let codes = Self.codes(of: streams, server: server, access: access)
      for (name, address) in codes {
        let lines = Self.qrCode(address)
        if codes.count > 1, !lines.isEmpty { Terminal.print("  \(name)") }
        for line in lines { Terminal.print("  " + line) }
      }
    }
    self.state.withLock { _ = $0.reporter.reports(server: server, streams: streams) }
  }

  func showStream(_ stream: LiveStream, server: CameraServer, choice: String?, publisher: PublisherAccess?) {
    Terminal.print(([stream.name] + stream.descriptions.map { $0.summary(of: stream) }).joined(separator: "  "))
    let addresses = server.addresses(of: stream)
    if let choice { Self.print([choice], as: "Source") }
    Self.print(addresses.rtsp, as: "OBS, VLC")
    Self.print(addresses.rtmp, as: "RTMP")
    Self.print(addresses.page, as: "Browser")
    if let publisher, let server = addresses.publishServer(publisher.scheme) {
      Self.print([publisher.text(server: server, isTerminal: Terminal.isInteractive)], as: "Publish")
      if Terminal.isInteractive, let page = publisher.page(of: addresses) { Self.print([page], as: "Phone") }
    }
    Self.print(addresses.whep, as: "WHEP")
  }

  /// Names and addresses of the QR codes: of each stream that waits for a camera the page that sends that of a phone; where there is
  /// none, the page of the first stream.
  private static func codes(
    of streams: [LiveStream], server: CameraServer, access: AccessSummary
  ) -> [(name: String, address: String)] {
    let pages = streams.compactMap { stream -> (String, String)? in
      let publisher = access.publishers.first { $0.stream == stream.name }
      return publisher?.page(of: server.addresses(of: stream)).map { (stream.name, $0) }
    }
    guard pages.isEmpty, let first = streams.first, let page = server.addresses(of: first).page.first else {
      return pages
    }
    return [(first.name, page)]
  }

  func showKeys(_ hint: String) {
    if Terminal.isInteractive { Self.print([hint], as: "Keys") }
  }

  func showControl(_ address: String?) {
    guard let address else { return Self.print(["there is no control token"], as: "Control") }
    guard Terminal.isInteractive else { return Self.print(["the token is shown on terminals only"], as: "Control") }
    for line in Self.qrCode(address) { Terminal.print("  " + line) }
    Self.print([address], as: "Control")
  }

  func showSource(_ source: String, kind: MediaKind, of stream: String) {
    Self.print(["\(stream): \(source)"], as: kind == .video ? "Source" : "Audio")
  }

  func showKey(_ text: String) {
    Self.print([text], as: "Keys")
  }

  func showAnnouncement(of service: Service, name: String) {
    if service.kind == .http { Self.print([name], as: "Bonjour") }
  }

  /// Prints addresses in a column, the first with their purpose.
  private static func print(_ addresses: [String], as purpose: String) {
    for (index, address) in addresses.enumerated() {
      let column = (index == 0 ? purpose : "").padding(toLength: 8, withPad: " ", startingAt: 0)
      Terminal.print("  \(column)   \(address)")
    }
  }

  /// The lines of a QR code; none without a terminal, or when it is too small.
  private static func qrCode(_ text: String) -> [String] {
    guard let size = Terminal.size else { return [] }
    do throws(VidiconError) {
      // Leaves rows for the addresses and the status.
      return try QRCode(text).terminalLines(columns: size.columns - 2, rows: size.rows - 6) ?? []
    } catch {
      return []  // An address that is too long for a code is printed anyway.
    }
  }

  func showStatus(server: CameraServer, streams: [LiveStream]) {
    self.state.withLock { state in
      let reports = state.reporter.reports(server: server, streams: streams)
      var lines = reports.map { $0.line(isNamed: reports.count > 1) }
      if let refusals = RefusalText.line(server.refusals) { lines.append(refusals) }
      if Terminal.isInteractive {
        return Terminal.showStatus(lines.map { "  " + $0 })
      }
      state.secondsSinceLine += 1
      let viewers = reports.map(\.viewers)
      guard viewers != state.lastViewers || state.secondsSinceLine >= Self.secondsBetweenLines else { return }
      state.lastViewers = viewers
      state.secondsSinceLine = 0
      for line in lines { Terminal.print("  " + line) }
    }
  }

  func showRecording(_ event: RecordingEvent, of stream: String) {
    event.show()
    Terminal.log(event.logEvent(of: stream))
  }

  func showSnapshot(_ path: String, of stream: String) {
    Terminal.print("  Snapshot   \(path)")
  }

  func showPush(_ event: PushEvent, of stream: String) {
    Terminal.log(event.logEvent(of: stream))
  }

  func showEnd() {
    if Terminal.isInteractive { Terminal.print("  stopped") }
  }
}

extension StreamReport {
  /// The status line of a stream, such as "30.0 fps   2.29 Mb/s   3 viewers   0 dropped".
  ///
  /// - Parameter isNamed: Whether the line begins with the stream's name, where there are several.
  func line(isNamed: Bool) -> String {
    var parts = isNamed ? [self.name] : []
    parts.append(String(format: "%.1f fps", self.frameRate))
    parts.append(String(format: "%.2f Mb/s", self.bitrate / 1e6))
    parts.append(self.viewers == 1 ? "1 viewer" : "\(self.viewers) viewers")
    let moved = self.webRTCViewers.count { $0.rendition != RenditionName.main }
    if moved > 0 { parts.append("\(moved) of \(self.webRTCViewers.count) over WebRTC with a smaller rendition") }
    parts.append("\(self.stream.totalFramesDropped) dropped")
    if self.framesSkipped > 0 { parts.append("\(self.framesSkipped) skipped for slow viewers") }
    if let text = StreamReport.text(effectTime: self.effectTime, of: self.stream) { parts.append(text) }
    if let coverText { parts.append(coverText) }
    if self.acceptsAnyCertificate { parts.append("source not verified (insecure=1)") }
    if self.stream.isSlateShown { parts.append(self.slateText) }
    if let refused = self.publisher?.attemptsRefused, refused > 0 {
      parts.append(refused == 1 ? "1 publisher refused" : "\(refused) publishers refused")
    }
    if let recording = self.recording { parts.append(recording.summary) }
    parts += self.pushes.map { $0.summary }
    return parts.joined(separator: "   ")
  }

  /// Reason why viewers see the slate.
  private var slateText: String {
    if self.stream.isSourceWaiting { return "connected, no frame yet" }
    return self.publisher == nil ? "no signal" : "waiting for a camera"
  }
}

extension CodecDescription {
  /// A summary of a track.
  fileprivate func summary(of stream: LiveStream) -> String {
    switch self {
    case .h264(let video):
      "\(video.width)×\(video.height)  \(video.frameRate) fps  H.264 "
        + (stream.videoBitrate < 1_000_000
          ? "\(stream.videoBitrate / 1000) kb/s" : String(format: "%.1f Mb/s", Double(stream.videoBitrate) / 1e6))
    case .aac(let audio):
      "AAC \(stream.audioSettings.bitrate / 1000) kb/s \(audio.format.channelCount == 1 ? "mono" : "stereo")"
    }
  }
}
