import RTP
import WebRTC

/// Facts about a WHEP endpoint at which a session was opened. Times are in seconds.
struct WHEPObservation: Equatable, Sendable {
  /// Status of HTTP of the response to the offer.
  var status = 0
  /// Address over TLS that the server redirects to, in place of a response; nil without one.
  var redirect: HTTPAddress?
  /// Time until the response.
  var seconds = 0.0
  /// Whether the response names the session, by `Location`.
  var hasLocation = false
  /// Whether the answer could be parsed, and has ICE credentials.
  var isAnswer = false
  /// Whether the server sends video in the answer.
  var hasVideo = false
  /// Codecs of the answer, such as `H264` and `opus`.
  var codecs: [String] = []
  /// Addresses of the server over UDP, as `192.0.2.1:8189`.
  var addresses: [String] = []
  /// Number of candidates of other kinds: over TCP, and with names.
  var otherCandidateCount = 0
  /// The address that a check of ICE has reached; nil without one.
  var reached: String?

  private static let clients: [StreamClient] = [.webRTC]

  /// Adopts an answer.
  mutating func handle(_ answer: WebRTCOffer) {
    let media = answer.media.filter { !$0.isRejected && $0.direction != .inactive && $0.direction != .receiveOnly }
    self.isAnswer = media.contains { $0.transport.credentials != nil }
    self.hasVideo = media.contains { $0.kind == "video" && !$0.formats.isEmpty }
    self.codecs = media.compactMap { $0.formats.first.map { String($0.map.encoding.prefix(20)) } }
    for candidate in answer.media.flatMap(\.candidates) where candidate.component == 1 {
      if candidate.transport == "udp", let address = candidate.address {
        let text = "\(address)"
        if !self.addresses.contains(text) { self.addresses.append(text) }
      } else {
        self.otherCandidateCount += 1
      }
    }
  }

  /// The verdict on the stream.
  var verdict: StreamVerdict {
    StreamVerdict(
      clients: Self.clients, findings: self.findings, observations: self.lines, success: "connects")
  }

  private static func fault(_ meaning: String, _ advice: String) -> StreamFinding {
    StreamFinding(.connection, .fault("WHEP", meaning, .advice(advice)), blocks: Set(self.clients))
  }

  private var findings: [StreamFinding] {
    guard self.status == 201 else { return [self.refusal] }
    guard self.isAnswer else {
      return [Self.fault("the answer is no session description of WebRTC", "update the server")]
    }
    var findings = [
      StreamFinding(
        .connection,
        .ok(
          "WHEP", "answers after \(TrackObservation.text(self.seconds)) s with \(self.codecs.joined(separator: ", "))"))
    ]
    if !self.hasLocation {
      findings.append(
        StreamFinding(
          .connection,
          .warning(
            "session", "the response has no Location, so that players cannot end it", .advice("update the server"))))
    }
    if self.seconds > TrackObservation.promptStart {
      findings.append(
        StreamFinding(
          .connection,
          .warning(
            "WHEP", "the server takes \(TrackObservation.text(self.seconds)) s for an answer",
            .advice("check the load of the server; some start their source for the first viewer")),
          delays: Set(Self.clients)))
    }
    if !self.hasVideo {
      findings.append(
        StreamFinding(
          .video,
          .fault(
            "video", "the answer has none of H.264 or VP8: the stream has another codec",
            .advice("set the camera or encoder to H.264 without B-frames")), blocks: Set(Self.clients)))
    }
    return findings + [self.candidateFinding]
  }

  private var candidateFinding: StreamFinding {
    let subject = "candidates"
    if let reached { return StreamFinding(.transport, .ok(subject, "\(reached) is reached over UDP")) }
    guard !self.addresses.isEmpty else {
      let others = self.otherCandidateCount > 0 ? ": \(self.otherCandidateCount) over TCP or with a name" : ""
      return StreamFinding(
        .transport,
        .fault(
          subject, "the answer has no address over UDP\(others)",
          .advice("set the address of the host at the server; vidicon: --ice-address")), blocks: Set(Self.clients))
    }
    let text = self.addresses.prefix(4).joined(separator: ", ")
    return StreamFinding(
      .transport,
      .fault(
        subject, "none is reached over UDP: \(text)",
        .advice(
          "let UDP through to that port; of a container or router, set the address outside; vidicon: --ice-address")),
      blocks: Set(Self.clients))
  }

  private var refusal: StreamFinding {
    switch self.status {
    case 401:
      Self.fault("the server asks for a password or token (401)", "write USER:PASSWORD@ before the host, or the token")
    case 403:
      Self.fault("the server denies access (403)", "check the rights of this user, and of pages of other servers")
    case 404: Self.fault("no stream has this path (404)", "check the path; where it is right, its source is not live")
    case 405: Self.fault("no WHEP endpoint is there (405)", "use the address of WHEP, which often ends with /whep")
    case 400, 406, 415, 422:
      Self.fault(
        "the server does not accept the offer of a browser (\(self.status))",
        "check the codecs of the stream: H.264 without B-frames, Opus")
    case 503:
      Self.fault("the stream is not available at present (503)", "check the source of the stream, and try again")
    default: Self.fault("the server responds with \(self.status) to the offer", "look into the log of the server")
    }
  }

  /// Lines for a report.
  private var lines: [String] {
    [
      "offer \(self.status) after \(TrackObservation.text(self.seconds)) s, "
        + "\(self.hasLocation ? "Location" : "no Location"), \(self.isAnswer ? "answer" : "no answer")",
      "codecs \(self.codecs.joined(separator: ", "))",
      "candidates \(self.addresses.joined(separator: ", ")), others \(self.otherCandidateCount)",
      "reached \(self.reached ?? "none")",
    ]
  }
}
