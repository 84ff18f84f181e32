import Media

extension RTSPObservation {
  /// Clients of RTSP: those that the address is for come first.
  var clients: [StreamClient] {
    self.datagrams == .notRequested ? [.players, .webRTC] : [.players, .datagramPlayers, .webRTC]
  }

  /// The verdict on the stream.
  var verdict: StreamVerdict {
    var findings = self.loginFindings
    if self.isUnjudged {
      let seconds = self.exchanges.reduce(0) { $0 + $1.seconds }
      findings.append(
        StreamFinding(.connection, .ok("RTSP", "describes the stream after \(TrackObservation.text(seconds)) s")))
      findings += self.unplayedTracks.map(\.unplayedFinding)
    } else if self.playsOverDatagramsAlone {
      findings += self.datagramPlayFindings
    } else if let obstacle = self.obstacle {
      findings.append(obstacle)
    } else {
      findings += self.sessionFindings
      findings += self.unplayedTracks.map(\.unplayedFinding)
      findings += self.tracks.flatMap { $0.findings(clients: Set(self.clients)) }
      findings += [TrackObservation.synchronization(of: self.tracks), self.reportFinding].compactMap(\.self)
      findings += [self.datagramFinding].compactMap(\.self)
    }
    return StreamVerdict(
      clients: self.clients, findings: findings, observations: self.lines,
      success: self.playsOverDatagramsAlone
        ? "plays over UDP" : AnnouncedTrack.success(played: self.tracks.map(\.kind), others: self.unplayedTracks))
  }

  /// Whether the server sends over UDP, and not over TCP, as VLC does: players have both.
  private var playsOverDatagramsAlone: Bool { self.refusesTCP && self.datagrams == .received }

  private var datagramPlayFindings: [StreamFinding] {
    let finding = CheckFinding(
      subject: "RTSP", verdict: .ok,
      meaning:
        "plays over UDP; it refuses TCP (\(self.exchanges.last?.status ?? 461)), which players behind routers need",
      remedy: .advice("allow RTP over TCP (interleaved) at the server, if it can"))
    let judged = StreamFinding(
      .tracks, .ok("tracks", "of those over UDP, no more is judged than that datagrams of the first one arrive"))
    let others = self.announced.filter { !$0.isOfPlayedCodec }
    return [StreamFinding(.connection, finding), judged] + others.map(\.unplayedFinding)
  }

  /// Whether the server has described a stream none of whose tracks a check plays.
  private var isUnjudged: Bool {
    guard self.failure == .unsupported, let last = self.exchanges.last, self.announced.contains(where: \.isMedia) else {
      return false
    }
    return last.method == "DESCRIBE" && (200..<300).contains(last.status)
  }

  /// The reason for there being no stream; nil where it plays.
  private var obstacle: StreamFinding? {
    guard !self.isPlaying else { return nil }
    func fault(_ meaning: String, _ advice: String) -> StreamFinding {
      StreamFinding(.connection, .fault("RTSP", meaning, .advice(advice)), blocks: Set(self.clients))
    }
    switch self.failure {
    case .notRTSP: return fault("the server speaks another protocol there", "use the port of RTSP, often 554 or 8554")
    case .closed:
      return fault(
        "the server closes the connection\(self.pendingMethod.map { " after \($0)" } ?? "")",
        "look into the log of the server")
    case .invalid:
      return fault(
        "its response to \(self.exchanges.last?.method ?? "a request") breaks the protocol",
        "update the firmware of the camera, or the server")
    case .refused: return self.refusal(fault)
    case .unsupported: return self.unsupported(fault)
    case nil:
      return fault(
        "the server does not respond to \(self.pendingMethod ?? "OPTIONS")",
        "check that the source of the stream delivers: some servers wait for it")
    }
  }

  private func refusal(_ fault: (String, String) -> StreamFinding) -> StreamFinding {
    let last = self.exchanges.last ?? Exchange(method: "a request", status: 500, seconds: 0)
    switch last.status {
    case 401 where self.hasCredentials:
      return fault(
        "the user name or password is wrong", "check them; special characters are percent-encoded, as @ in %40")
    case 401:
      return fault(
        "the server asks for a user name and password", "write them before the host: rtsp://USER:PASSWORD@HOST/PATH")
    case 403: return fault("the server denies access (403)", "check the permissions of this user, and of this address")
    case 404:
      return fault(
        "no stream has this path (404)", "check the path; where it is right, its source or publisher is not live")
    case 453: return fault("the server has no bandwidth or session left (453)", "close other viewers of the camera")
    case 454: return fault("the server has forgotten the session at \(last.method) (454)", "update the server")
    case 503:
      return fault("the stream is not available at present (503)", "check the source of the stream, and try again")
    default:
      return fault("the server refuses \(last.method) (\(last.status))", "look into the log of the server")
    }
  }

  private func unsupported(_ fault: (String, String) -> StreamFinding) -> StreamFinding {
    let last = self.exchanges.last
    if let status = self.redirectStatus {
      let (meaning, advice) = self.redirectCause(status)
      return fault(meaning, advice)
    }
    if last?.status == 401 {
      let schemes = self.loginSchemes.joined(separator: ", ")
      return fault("its login schemes are not known: \(schemes)", "switch on Digest (RFC 7616) at the server")
    }
    if self.refusesTCP {
      return fault(
        "it does not send over TCP (\(last?.status ?? 461)), which players use behind routers",
        "allow RTP over TCP (interleaved) at the server")
    }
    return fault("its session description has no video and no audio", "check the source of the stream")
  }

  /// The reason for which a redirect is not followed, in words, and a next step.
  private func redirectCause(_ status: Int) -> (meaning: String, advice: String) {
    switch self.redirectProblem {
    case .invalid:
      (
        "the server redirects (\(status)), and not to an address of RTSP",
        "correct the header Location at the server, or use the address that it means"
      )
    case .insecure: ("the server redirects (\(status)) from RTSPS to RTSP", "let it redirect to rtsps")
    case .tooMany:
      ("the server redirects again and again (\(status))", "use the address that the redirects lead to")
    }
  }

  private var loginFindings: [StreamFinding] {
    guard !self.loginSchemes.isEmpty, self.hasCredentials else { return [] }
    return [.login(self.loginSchemes, isEncrypted: self.isEncrypted)]
  }

  private var sessionFindings: [StreamFinding] {
    var findings: [StreamFinding] = []
    let start = self.exchanges.prefix { $0.method != "PLAY" }.reduce(0) { $0 + $1.seconds }
    let play = self.exchanges.first { $0.method == "PLAY" }?.seconds ?? 0
    let text = TrackObservation.text(start + play)
    if start + play > TrackObservation.promptStart {
      findings.append(
        StreamFinding(
          .connection,
          .warning(
            "RTSP", "the server takes \(text) s up to PLAY",
            .advice("check the load of the server; some start their source for the first viewer")),
          delays: Set(self.clients)))
    } else {
      findings.append(StreamFinding(.connection, .ok("RTSP", "plays over TCP after \(text) s")))
    }
    if let closed {
      findings.append(
        StreamFinding(
          .connection,
          .fault(
            "session", "the server ends it \(TrackObservation.text(closed)) s after PLAY",
            .advice("check the source of the stream, and the log of the server")), blocks: Set(self.clients)))
    }
    if self.isKeepAliveSent, self.closed == nil { findings.append(self.keepAliveFinding) }
    return findings
  }

  private var keepAliveFinding: StreamFinding {
    let advice = CheckFinding.Remedy.advice(
      "update the server; until then, players reconnect when its timeout has passed")
    switch self.keepAliveStatus {
    case nil:
      return StreamFinding(
        .connection, .warning("keep-alive", "the server does not respond to it while it sends", advice))
    case 454?:
      return StreamFinding(
        .connection, .warning("keep-alive", "the server does not know its own session (454)", advice))
    // Other statuses keep the session alive, too: 451 and 501 are of servers that do not know the method.
    case let status?: return StreamFinding(.connection, .ok("keep-alive", "accepted (\(status))"))
    }
  }

  /// Tracks that are announced and were not played, as of other codecs.
  private var unplayedTracks: [AnnouncedTrack] {
    self.announced.filter { !$0.isOfPlayedCodec || self.failure == .unsupported }
  }

  /// Whether tracks have sender reports, by which players keep audio and video together. Some servers send one every 10 s only.
  private var reportFinding: StreamFinding? {
    let played = self.tracks.filter { $0.firstPacket != nil }
    guard let first = played.first else { return nil }
    let silent = played.filter { $0.senderReportCount == 0 }
    let meaning =
      silent.isEmpty
      ? "of each track"
      : "none of \(silent.map(\.kind.rawValue).joined(separator: " and ")) yet, in \(TrackObservation.text(first.duration)) s"
    return StreamFinding(.timing, .ok("sender reports", meaning))
  }

  private var datagramFinding: StreamFinding? {
    let subject = "RTP over UDP"
    switch self.datagrams {
    case .notRequested: return nil
    case .unknown:
      return StreamFinding(
        .transport, .ok(subject, "not known: the server allows no second session, or the track has paused"))
    case .received: return StreamFinding(.transport, .ok(subject, "datagrams arrive"))
    case .refused(let status):
      return StreamFinding(
        .transport,
        .ok(subject, "the server refuses it (\(status)), so that players change to TCP at once"))
    case .silent:
      return StreamFinding(
        .transport,
        .warning(
          subject, "the server accepts it, and nothing arrives but over TCP: a firewall or router drops the datagrams",
          .advice("set players to TCP; ffmpeg: -rtsp_transport tcp, VLC: --rtsp-tcp")), blocks: [.datagramPlayers])
    }
  }
}
