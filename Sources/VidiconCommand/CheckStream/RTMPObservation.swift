import Media
import RTMP

/// Facts about a stream of an RTMP server that was played for some seconds. Times are in seconds.
struct RTMPObservation: Equatable, Sendable {
  /// The end of the session, as the server has said it; nil where there was none.
  var failure: RTMPClientFailure?
  /// Time until the server has accepted; nil where it has not.
  var started: Double?
  /// Time after that at which the session has ended; nil where it has not.
  var ended: Double?
  var tracks: [TrackObservation] = []
  /// Tracks that are not played by this check, as of HEVC.
  var otherTracks: [AnnouncedTrack] = []
  /// Time for which the stream was played.
  var duration = 0.0

  private static let clients: [StreamClient] = [.players, .webRTC]

  /// The verdict on the stream.
  var verdict: StreamVerdict {
    StreamVerdict(
      clients: Self.clients, findings: self.findings, observations: self.lines,
      success: AnnouncedTrack.success(played: self.tracks.map(\.kind), others: self.otherTracks))
  }

  private var findings: [StreamFinding] {
    let all = Set(Self.clients)
    guard let started else { return [self.refusal] }
    var findings: [StreamFinding] = []
    let text = TrackObservation.text(started)
    if started > TrackObservation.promptStart {
      findings.append(
        StreamFinding(
          .connection,
          .warning("RTMP", "the server takes \(text) s up to its acceptance", .advice("check the load of the server")),
          delays: all))
    } else {
      findings.append(StreamFinding(.connection, .ok("RTMP", "accepted after \(text) s")))
    }
    if let ended {
      let reason = self.failure.map { ": \(Self.text($0))" } ?? ""
      findings.append(
        StreamFinding(
          .connection,
          .fault(
            "session", "the server ends it \(TrackObservation.text(ended)) s after its acceptance\(reason)",
            .advice("check the publisher of the stream, and the log of the server")), blocks: all))
    }
    if self.tracks.isEmpty, self.otherTracks.isEmpty, self.ended == nil {
      findings.append(
        StreamFinding(
          .tracks,
          .fault(
            "tracks", "the server accepts, and no media arrives within \(TrackObservation.text(self.duration)) s",
            .advice("check that a publisher is live under this name")), blocks: all))
    }
    return findings + self.otherTracks.map(\.unplayedFinding) + self.tracks.flatMap { $0.findings(clients: all) }
  }

  private static func text(_ failure: RTMPClientFailure) -> String {
    failure.code.isEmpty ? failure.description : "\(failure.description) (\(failure.code))"
  }

  /// The finding of a session without a stream.
  private var refusal: StreamFinding {
    let all = Set(Self.clients)
    func fault(_ meaning: String, _ advice: String) -> StreamFinding {
      StreamFinding(.connection, .fault("RTMP", meaning, .advice(advice)), blocks: all)
    }
    guard let failure else {
      return fault("the server does not respond in time", "check that the source of the stream delivers")
    }
    if failure.authentication != nil {
      return fault(
        "the server asks for a user name and password", "write them before the host: rtmp://USER:PASSWORD@HOST/APP/NAME"
      )
    }
    if failure.redirect != nil {
      return fault("the server redirects to another one", "use the address that it redirects to")
    }
    switch failure.step {
    case .handshake:
      return fault("no RTMP server responds there: \(failure.description)", "check the port, 1935 by default")
    case .connect:
      return fault("the server refuses the application: \(Self.text(failure))", "check the first part of the path")
    case .createStream, .request, .streaming:
      return fault(
        "the server refuses the stream: \(Self.text(failure))",
        "check its name; where it is right, no publisher is live under it")
    }
  }
}
