import Discovery
import Foundation
import Media
import Streaming
import Synchronization
import Vidicon

/// Status for people: addresses at the start, then a line that stays up to date on a terminal; elsewhere a new line
/// when viewers come or go, and every ten seconds.
final class TextStatusDisplay: StatusDisplay {
  private struct State {
    var reporter = StreamReporter()
    var lastViewers: [Int] = []
    var secondsSinceLine = 0
  }

  private static let secondsBetweenLines = 10
  private let bind: String?
  private let state = Mutex(State())

  /// A display that shows the addresses at which a server bound to this one is reached.
  init(bind: String?) {
    self.bind = bind
  }

  func showStart(server: CameraServer, streams: [LiveStream]) {
    for stream in streams {
      Terminal.print(([stream.name] + stream.descriptions.map { $0.summary(of: stream) }).joined(separator: "  "))
      for (index, url) in server.urls(of: stream, bind: self.bind).enumerated() {
        Terminal.print("  \(index == 0 ? "OBS, VLC" : "        ")   \(url)")
      }
    }
    self.state.withLock { _ = $0.reporter.reports(server: server, streams: streams) }
  }

  func showStatus(server: CameraServer, streams: [LiveStream]) {
    self.state.withLock { state in
      let reports = state.reporter.reports(server: server, streams: streams)
      let lines = reports.map { $0.line(isNamed: reports.count > 1) }
      if Terminal.isInteractive {
        return Terminal.showStatus(lines.map { "  " + $0 })
      }
      state.secondsSinceLine += 1
      let viewers = reports.map(\.viewers.viewers)
      guard viewers != state.lastViewers || state.secondsSinceLine >= Self.secondsBetweenLines else { return }
      state.lastViewers = viewers
      state.secondsSinceLine = 0
      for line in lines { Terminal.print("  " + line) }
    }
  }

  func showEnd() {
    if Terminal.isInteractive { Terminal.print("  stopped") }
  }
}

extension StreamReport {
  /// Such as "30.0 fps   2.29 Mb/s   3 viewers   0 dropped".
  fileprivate func line(isNamed: Bool) -> String {
    var parts = isNamed ? [self.name] : []
    parts.append(String(format: "%.1f fps", self.frameRate))
    parts.append(String(format: "%.2f Mb/s", self.bitrate / 1e6))
    parts.append(self.viewers.viewers == 1 ? "1 viewer" : "\(self.viewers.viewers) viewers")
    parts.append("\(self.stream.framesDroppedInAll) dropped")
    if self.viewers.picturesSkipped > 0 { parts.append("\(self.viewers.picturesSkipped) skipped for slow viewers") }
    if self.stream.isSlateShown { parts.append("no signal") }
    return parts.joined(separator: "   ")
  }
}

extension CodecDescription {
  /// What a track is, in a few words.
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

extension CameraServer {
  /// Every address of a stream.
  func urls(of stream: LiveStream, bind: String?) -> [String] {
    guard let ports else { return [] }
    let hosts = NetworkAddresses.hosts(listeningOn: bind ?? "::")
    return hosts.map { "rtsp://\($0):\(ports.rtsp)/\(stream.name)" }
      + (ports.rtsps.map { port in hosts.map { "rtsps://\($0):\(port)/\(stream.name)" } } ?? [])
  }
}
