public import Media

extension RTSPServerSession {
  /// The stream is joined and the first packets are known: the answer to PLAY.
  ///
  /// - Parameter positions: Of each track whose next packet is known already.
  public mutating func playingStarted(at positions: [RTSPTrackPosition], now: MediaTime) -> [RTSPServerAction] {
    guard case .starting(let tracks, let cSeq, _) = self.state else { return [] }
    self.state = .playing(tracks)
    self.handleActivity(now: now)
    var headers: RTSPHeaders = ["Session": self.sessionHeader(tracks), "Range": "npt=now-"]
    if let information = tracks.rtpInfo(positions) { headers.append("RTP-Info", information) }
    return [self.respond(.ok, cSeq: cSeq, headers)]
  }

  /// The stream cannot be joined, or gives nothing: PLAY gets 503 and may be tried again.
  public mutating func playingFailed(now: MediaTime) -> [RTSPServerAction] {
    guard case .starting(let tracks, let cSeq, _) = self.state else { return [] }
    self.state = .ready(tracks)
    self.handleActivity(now: now)
    return [.stopPlaying, self.respond(.serviceUnavailable, cSeq: cSeq, ["Session": self.sessionHeader(tracks)])]
  }

  /// PLAY, RFC 2326 §10.5.
  ///
  /// The stream is live, so every `Range` means now. Some clients play each track by its own URL: the first PLAY starts
  /// all that is set up, one that comes during play is a sign of life. Its answer has no `RTP-Info`, since no packet is
  /// the first one of it.
  mutating func play(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory, now: MediaTime
  ) -> [RTSPServerAction] {
    switch self.state {
    case .initial, .starting, .closed:
      return [.respond(self.notValidInThisState(cSeq: cSeq))]
    case .ready(let tracks):
      if let status = self.refusal(of: request.uri, tracks: tracks, directory: directory) {
        return [self.respond(status, cSeq: cSeq)]
      }
      self.state = .starting(tracks, cSeq: cSeq, since: now)
      return [.startPlaying(tracks.playback)]
    case .playing(let tracks):
      if let status = self.refusal(of: request.uri, tracks: tracks, directory: directory) {
        return [self.respond(status, cSeq: cSeq)]
      }
      return [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(tracks), "Range": "npt=now-"])]
    }
  }

  /// PAUSE, RFC 2326 §10.6: of all tracks only, since they share one clock.
  mutating func pause(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    guard let tracks = self.sessionTracks else { return [.respond(self.notValidInThisState(cSeq: cSeq))] }
    if let status = self.refusal(of: request.uri, tracks: tracks, directory: directory) {
      return [self.respond(status, cSeq: cSeq)]
    }
    if self.track(of: request.uri, directory: directory) != nil, tracks.tracks.count > 1 {
      return [self.respond(.onlyAggregateOperationAllowed, cSeq: cSeq)]
    }
    return self.leaveStream() + [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(tracks)])]
  }

  /// TEARDOWN, RFC 2326 §10.7: of the session, or of one track while nothing is sent.
  mutating func tearDown(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    guard var tracks = self.sessionTracks else { return [self.respond(.sessionNotFound, cSeq: cSeq)] }
    if let status = self.refusal(of: request.uri, tracks: tracks, directory: directory) {
      return [self.respond(status, cSeq: cSeq)]
    }
    if let index = self.track(of: request.uri, directory: directory), tracks.tracks.count > 1 {
      guard case .ready = self.state else { return [self.respond(.onlyAggregateOperationAllowed, cSeq: cSeq)] }
      tracks.remove(index: index)
      self.state = .ready(tracks)
      return [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(tracks)])]
    }
    let actions = self.leaveStream() + [self.respond(.ok, cSeq: cSeq)]
    self.state = .initial
    return actions
  }

  /// To ready, with what that takes.
  private mutating func leaveStream() -> [RTSPServerAction] {
    guard case .playing(let tracks) = self.state else { return [] }
    self.state = .ready(tracks)
    return [.stopPlaying]
  }

  /// Why a URL cannot be that of the session; nil when it can.
  private func refusal(
    of uri: String, tracks: RTSPSessionTracks, directory: some RTSPStreamDirectory
  ) -> RTSPStatus? {
    if uri == "*" { return nil }
    do throws(ParsingError) {
      switch try self.target(of: uri, in: directory) {
      case .stream(let stream) where stream.name == tracks.stream.name: return nil
      case .track(let stream, let index) where stream.name == tracks.stream.name:
        return tracks.tracks.contains { $0.index == index } ? nil : .methodNotValidInThisState
      case .stream, .track: return .methodNotValidInThisState
      case nil: return .notFound
      }
    } catch {
      return RTSPStatus(rejecting: error)
    }
  }

  /// The track that a URL names, if it names one.
  private func track(of uri: String, directory: some RTSPStreamDirectory) -> Int? {
    guard case .track(_, let index) = try? self.target(of: uri, in: directory) else { return nil }
    return index
  }
}
