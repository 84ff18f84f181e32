import HLS
import Media

@testable import VidiconCommand

/// Observations of healthy streams, for tests that change one thing.
enum StreamFixtures {
  /// Video of a camera at 25 frames per second with a keyframe each second.
  static let video = {
    var track = TrackObservation()
    track.duration = 8
    track.firstPacket = 0.05
    track.parameterSets = .description
    (track.profileLevelID, track.chromaFormat, track.bitDepth, track.size) = ("42C01F", 1, 8, "1280x720")
    track.frameCount = 200
    track.keyframes = [0.05, 1, 2, 3, 4, 5, 6, 7]
    track.clockRatio = 1.001
    (track.expectedCount, track.jitter) = (2000, 0.004)
    (track.senderReportCount, track.senderReportError, track.reportedDelay) = (2, 0.001, 1000.05)
    return track
  }()

  /// AAC beside the video.
  static let audio = {
    var track = TrackObservation(kind: .audio, codec: "AAC")
    track.duration = 8
    track.firstPacket = 0.1
    track.frameCount = 375
    track.clockRatio = 1
    (track.expectedCount, track.jitter) = (375, 0.002)
    (track.senderReportCount, track.senderReportError, track.reportedDelay) = (2, 0.001, 1000.02)
    return track
  }()

  /// A camera with both tracks, over TCP and UDP.
  static let rtsp = {
    var facts = RTSPObservation()
    facts.exchanges = [
      .init(method: "OPTIONS", status: 200, seconds: 0.01), .init(method: "DESCRIBE", status: 200, seconds: 0.02),
      .init(method: "SETUP", status: 200, seconds: 0.01), .init(method: "SETUP", status: 200, seconds: 0.01),
      .init(method: "PLAY", status: 200, seconds: 0.01), .init(method: "GET_PARAMETER", status: 200, seconds: 0.01),
    ]
    facts.announced = [.init(kind: "video", codec: "H264"), .init(kind: "audio", codec: "mpeg4-generic")]
    facts.isPlaying = true
    facts.tracks = [StreamFixtures.video, StreamFixtures.audio]
    (facts.isKeepAliveSent, facts.keepAliveStatus) = (true, 200)
    facts.datagrams = .received
    return facts
  }()

  /// A live stream with segments of 2 s, as of ffmpeg behind nginx.
  static let playlistText = """
    #EXTM3U
    #EXT-X-VERSION:3
    #EXT-X-TARGETDURATION:2
    #EXT-X-MEDIA-SEQUENCE:7
    #EXTINF:2.000,
    a7.ts
    #EXTINF:2.000,
    a8.ts
    #EXTINF:2.000,
    a9.ts

    """

  /// A media type and headers of a resource that pages of other servers may read.
  static func resource(_ name: String, type: String, byteCount: Int) -> HLSObservation.Resource {
    HLSObservation.Resource(
      name: name, status: 200, contentType: type, allowsOtherOrigins: true, seconds: 0.05, byteCount: byteCount)
  }

  /// The stream of ``playlistText``, which has gone on.
  static func hls() throws -> HLSObservation {
    var facts = HLSObservation()
    facts.playlists = [self.resource("live.m3u8", type: "application/vnd.apple.mpegurl", byteCount: 200)]
    facts.media = try HLSPlaylistDocument(parsing: self.playlistText)
    facts.segments = ["a8.ts", "a9.ts"].map { name in
      HLSObservation.Segment(
        resource: self.resource(name, type: "video/mp2t", byteCount: 400_000), duration: 2, startsWithKeyframe: true)
    }
    (facts.reloadSpan, facts.hasAdvanced) = (2.1, true)
    return facts
  }
}

extension StreamVerdict {
  /// The line of a client.
  func line(_ client: StreamClient) -> String {
    self.clientFindings.first { $0.subject == client.rawValue }.map { "\($0.verdict.name): \($0.meaning)" } ?? "none"
  }

  /// Findings that are not all right, as text.
  var problems: [String] {
    self.findings.map(\.finding).filter { $0.verdict != .ok }.map { "\($0.verdict.name) \($0.subject): \($0.meaning)" }
  }

  /// Remedies of findings that are not all right.
  var remedies: [String] {
    self.findings.map(\.finding).filter { $0.verdict != .ok }.map { finding in
      switch finding.remedy {
      case .command(let text), .advice(let text): text
      case nil: "none"
      }
    }
  }
}
