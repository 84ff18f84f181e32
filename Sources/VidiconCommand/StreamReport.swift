import Foundation
import Media
import Pushing
import Recording
import Serving
import Streaming
import Vidicon

/// The counters of a stream, and its rates since the previous report.
struct StreamReport {
  var name: String
  var stream: StreamStatistics
  /// Current number of viewers over all protocols.
  var viewers: Int
  /// Counters of the viewers by protocol, such as `rtsp`; without those over HTTP.
  var protocols: [String: ViewerStatistics]
  /// Publishers over WebRTC; nil where the source is another one.
  var publisher: WebRTCPublisherStatistics?
  var http: HTTPStreamStatistics
  /// Whether a source accepts any TLS certificate.
  var acceptsAnyCertificate: Bool
  /// Status of its recording; nil without a recorder.
  var recording: RecordingStatus?
  var pushes: [PushReport] = []
  /// Further renditions of the stream, with their current numbers of viewers by protocol.
  var renditions: [(rendition: Rendition, viewers: [String: Int])] = []
  /// Encoded frames per second.
  var frameRate = 0.0
  /// Time of effects per frame, in milliseconds; nil without effects.
  var effectTime: Double?
  /// Number of frames that were covered as a whole since the previous report.
  var framesCovered = 0
  /// Encoded bits per second, video and audio.
  var bitrate = 0.0

  /// The current counters, and rates since `last`, which was made `interval` seconds ago.
  init(_ stream: LiveStream, server: CameraServer, since last: StreamReport?, interval: Double) {
    self.name = stream.name
    self.stream = stream.statistics
    self.viewers = server.viewers(of: stream)
    self.protocols = server.viewerStatistics(of: stream)
    self.publisher = server.publisherStatistics(of: stream)
    self.http = server.httpStatistics(of: stream)
    self.acceptsAnyCertificate = server.sources(of: stream)?.acceptsAnyCertificate ?? false
    self.recording = server.recorder(of: stream)?.status
    self.renditions = stream.renditions.map { ($0, server.viewersByProtocol(of: $0)) }
    self.pushes = server.pushes(of: stream)?.reports ?? []
    guard let last, interval > 0 else { return }
    self.framesCovered = max(0, self.stream.framesCovered - last.stream.framesCovered)
    self.frameRate = Double(self.stream.framesOut - last.stream.framesOut) / interval
    let frames = self.stream.framesWithEffects - last.stream.framesWithEffects
    if frames > 0 {
      self.effectTime = (self.stream.effectTime - last.stream.effectTime).seconds * 1000 / Double(frames)
    }
    self.bitrate = Double((self.encodedBytes - last.encodedBytes) * 8) / interval
  }

  /// Viewers over WebRTC, with what is measured of their networks.
  var webRTCViewers: [WebRTCViewerStatistics] { self.protocols.values.flatMap { $0.viewerList ?? [] } }

  /// Sum of a counter over all protocols of ``protocols``.
  func sum(_ counter: KeyPath<ViewerStatistics, Int>) -> Int {
    self.protocols.values.reduce(0) { $0 + $1[keyPath: counter] }
  }

  /// Bytes sent to viewers since the start.
  var bytesSent: Int { self.sum(\.bytesSent) + self.http.bytesSent }

  /// Frames not sent to viewers that read too slowly.
  var framesSkipped: Int { self.sum(\.framesSkipped) }

  /// Number of faces and time of effects, such as "2 faces   effects 4.1 ms"; nil without effects.
  static func text(effectTime: Double?, of stream: StreamStatistics) -> String? {
    guard let effectTime else { return nil }
    let time = String(format: "effects %.1f ms", effectTime)
    return stream.faces == 0 ? time : "\(stream.faces) \(stream.faces == 1 ? "face" : "faces")   \(time)"
  }

  /// Says that whole frames were covered, which privacy does where faces cannot be found; nil where none was.
  var coverText: String? {
    self.framesCovered > 0 ? "frame covered, since faces cannot be found" : nil
  }

  private var encodedBytes: Int {
    self.stream.videoBytes + self.stream.audioBytes
  }
}

/// Creates the reports of all streams each second.
struct StreamReporter {
  private var last: [(stream: LiveStream, report: StreamReport)] = []
  private var lastTime: ContinuousClock.Instant?

  /// The reports of this second.
  mutating func reports(server: CameraServer, streams: [LiveStream]) -> [StreamReport] {
    let now = ContinuousClock().now
    let interval = self.lastTime.map { (now - $0) / Duration.seconds(1) } ?? 0
    let reports = streams.map { stream in
      // A stream that was started again has other counters.
      let last = self.last.first { $0.stream === stream }?.report
      return StreamReport(stream, server: server, since: last, interval: interval)
    }
    self.last = zip(streams, reports).map { ($0, $1) }
    self.lastTime = now
    return reports
  }
}
