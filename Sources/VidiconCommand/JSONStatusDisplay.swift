import ControlAPI
import Discovery
import Media
import Pushing
import Recording
import Serving
import Streaming
import Synchronization
import Vidicon

/// Status display for programs: one JSON object per line on standard output.
final class JSONStatusDisplay: StatusDisplay {
  private struct Started: Encodable {
    struct Stream: Encodable {
      var name: String
      var urls: [String]
      var pages: [String]
      /// Addresses of publishers to the source whip:, without the token; absent with another source.
      var publish: [String]?
      /// Names of the sources, without passwords.
      var source: String?
      var audio: String?

      init(_ stream: LiveStream, on server: CameraServer) {
        let addresses = server.addresses(of: stream)
        let sources = server.sources(of: stream)?.shown(isOperator: true)
        self.name = stream.name
        self.urls = addresses.rtsp + addresses.rtmp + addresses.whep
        self.pages = addresses.page
        self.publish = server.publisherStatistics(of: stream).map { _ in addresses.whip }
        (self.source, self.audio) = (sources?.video, sources?.audio)
      }
    }

    var event = "started"
    var rtspPort: Int?
    var rtspsPort: Int?
    var rtmpPort: Int?
    var rtmpsPort: Int?
    var webrtcPort: Int?
    var httpPort: Int?
    var httpsPort: Int?
    var certificateFingerprint: String?
    var authorityFingerprint: String?
    var streams: [Stream]
    /// The chosen source, when none was requested.
    var choice: String?
    /// Path of the file with the operator token.
    var controlTokenFile: String?
    /// Sentences for users about the rights of clients without credentials.
    var access: [String]
  }

  private struct StreamStarted: Encodable {
    var event = "streamStarted"
    /// The one stream, in the form of the start.
    var streams: [Started.Stream]
    /// The chosen source, when none was requested.
    var choice: String?
  }

  private struct SourceChanged: Encodable {
    var event = "source"
    var stream: String
    var kind: String
    var source: String
  }

  private struct EffectFailed: Encodable {
    var event = "effect"
    var stream: String
    var effect: String
    /// `failed` or `slow`.
    var problem: String
    var message: String
  }

  private struct Status: Encodable {
    struct Stream: Encodable {
      var name: String
      var framesIn: Int
      var framesDropped: Int
      var framesEncoded: Int
      var framesPassedThrough: Int
      var audioFramesPassedThrough: Int
      var frameRate: Double
      var bitrate: Int
      var viewers: Int
      var rtspViewers: Int
      var rtmpViewers: Int
      var webrtcViewers: Int
      var hlsViewers: Int
      var mjpegViewers: Int
      var keyframeRequests: Int
      var bytesSent: Int
      var framesSkipped: Int
      var datagramsDropped: Int
      var viewersClosedAsSlow: Int
      /// Maximum time that packets, or a task of each second, have waited for an event loop, in seconds.
      var loopLag: Double
      var malformedRequests: Int
      var isSlateShown: Bool
      /// Whether the video source is connected, and nothing has come at which decoding can start.
      var isSourceWaiting: Bool
      /// Whether a source accepts any TLS certificate.
      var isSourceInsecure: Bool
      // Present only with effects.
      var faces: Int?
      var effectMilliseconds: Double?
      var framesDroppedByEffects: Int?
      /// Frames that viewers saw covered as a whole, and times that the search for faces was started again.
      var framesCovered: Int?
      var faceDetectionRestarts: Int?
      var recording: RecordingEntry?
      var pushes: [PushReportEntry]
      var renditions: [RenditionEntry]
      /// Present only with viewers over WebRTC.
      var webrtc: [ViewerEntry]?
      /// Present only with the source whip:.
      var publisher: PublisherEntry?
    }

    var event = "status"
    var streams: [Stream]
    /// Number of refused requests by reason, over all streams and protocols.
    var refusals: [String: Int]
    /// Times that no connection could be accepted for a second.
    var acceptFailures: Int
    /// Lines of this output lost because the reader was too slow.
    var linesDropped = LineWriter.standardOutput.droppedCount
  }

  private struct Stopped: Encodable {
    var event = "stopped"
  }

  private struct Announced: Encodable {
    var event = "announced"
    var service: String
    var name: String
    var port: UInt16
  }

  private let reporter = Mutex(StreamReporter())

  func showStart(server: CameraServer, streams: [LiveStream], choice: String?, access: AccessSummary) {
    self.reporter.withLock { _ = $0.reports(server: server, streams: streams) }
    self.print(
      Started(
        rtspPort: server.ports?.rtsp, rtspsPort: server.ports?.rtsps, rtmpPort: server.ports?.rtmp,
        rtmpsPort: server.ports?.rtmps, webrtcPort: server.ports?.webRTC, httpPort: server.ports?.http,
        httpsPort: server.ports?.https,
        certificateFingerprint: server.certificateFingerprint, authorityFingerprint: server.authorityFingerprint,
        streams: streams.map { Started.Stream($0, on: server) }, choice: choice,
        controlTokenFile: access.token?.path, access: access.notes))
  }

  func showStream(_ stream: LiveStream, server: CameraServer, choice: String?, publisher: PublisherAccess?) {
    self.print(StreamStarted(streams: [Started.Stream(stream, on: server)], choice: choice))
  }

  func showKeys(_ hint: String) {}

  func showControl(_ address: String?) {}

  func showSource(_ source: String, kind: MediaKind, of stream: String) {
    self.print(SourceChanged(stream: stream, kind: kind.rawValue, source: source))
  }

  func showEffect(_ report: EffectReport, of stream: String) {
    self.print(EffectFailed(stream: stream, effect: report.name, problem: report.problem, message: "\(report)"))
    Terminal.log(LogEvent(report, of: stream))
  }

  func showKey(_ text: String) {}

  func showAnnouncement(of service: Service, name: String) {
    self.print(Announced(service: service.kind.rawValue, name: name, port: service.port))
  }

  func showStatus(server: CameraServer, streams: [LiveStream]) {
    let reports = self.reporter.withLock { $0.reports(server: server, streams: streams) }
    self.print(
      Status(
        streams: reports.map {
          Status.Stream(
            name: $0.name,
            framesIn: $0.stream.framesIn,
            framesDropped: $0.stream.totalFramesDropped,
            framesEncoded: $0.stream.framesEncoded,
            framesPassedThrough: $0.stream.framesPassedThrough,
            audioFramesPassedThrough: $0.stream.audioFramesPassedThrough,
            frameRate: ($0.frameRate * 100).rounded() / 100,
            bitrate: Int($0.bitrate),
            viewers: $0.viewers,
            rtspViewers: $0.protocols["rtsp"]?.viewers ?? 0,
            rtmpViewers: $0.protocols["rtmp"]?.viewers ?? 0,
            webrtcViewers: $0.protocols["webrtc"]?.viewers ?? 0,
            hlsViewers: $0.http.hlsViewers,
            mjpegViewers: $0.http.motionJPEGViewers,
            keyframeRequests: $0.stream.keyframeRequests,
            bytesSent: $0.bytesSent,
            framesSkipped: $0.framesSkipped,
            datagramsDropped: $0.sum(\.datagramsDropped),
            viewersClosedAsSlow: $0.sum(\.viewersClosedAsSlow),
            loopLag: (($0.protocols.values.map(\.loopLag).max() ?? .zero).seconds * 1000).rounded() / 1000,
            malformedRequests: server.malformedRequests,
            isSlateShown: $0.stream.isSlateShown,
            isSourceWaiting: $0.stream.isSourceWaiting,
            isSourceInsecure: $0.acceptsAnyCertificate,
            faces: $0.effectTime == nil ? nil : $0.stream.faces,
            effectMilliseconds: $0.effectTime.map { ($0 * 100).rounded() / 100 },
            framesDroppedByEffects: $0.effectTime == nil ? nil : $0.stream.framesDroppedByEffects,
            framesCovered: $0.effectTime == nil ? nil : $0.stream.framesCovered,
            faceDetectionRestarts: $0.effectTime == nil ? nil : $0.stream.faceDetectionRestarts,
            recording: $0.recording.map { RecordingEntry(withPathOf: $0) },
            pushes: $0.pushes.map { PushReportEntry($0) },
            renditions: $0.renditions.compactMap { RenditionEntry($0.rendition, viewers: $0.viewers) },
            webrtc: $0.webRTCViewers.isEmpty ? nil : $0.webRTCViewers.map { ViewerEntry($0) },
            publisher: $0.publisher.map { PublisherEntry($0) })
        },
        refusals: Dictionary(uniqueKeysWithValues: server.refusals.map { ($0.rawValue, $1) }),
        acceptFailures: server.acceptFailures))
  }

  func showRecording(_ event: RecordingEvent, of stream: String) {
    self.print(JSONRecordingEvent(event, of: stream))
    Terminal.log(event.logEvent(of: stream))
  }

  func showSnapshot(_ path: String, of stream: String) {
    self.print(JSONSnapshot(stream: stream, path: path))
  }

  func showPush(_ event: PushEvent, of stream: String) {
    self.print(JSONPushEvent(event, of: stream))
  }

  func showEnd() {
    self.print(Stopped())
  }

  private func print(_ value: some Encodable) {
    Terminal.print(json: value)
  }
}

/// JSON event of a saved snapshot.
struct JSONSnapshot: Encodable {
  var event = "snapshot"
  var stream: String
  var path: String
}
