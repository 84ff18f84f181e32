package import Media

extension RTSPServerSession {
  /// Responds to PLAY, since the first packets after ``RTSPServerAction/startPlaying(_:)`` are known.
  ///
  /// - Parameter positions: The position of each track whose next packet is known.
  package mutating func playingStarted(at positions: [RTSPTrackPosition], now: MediaTime) -> [RTSPServerAction] {
    guard let (tracks, cSeq) = self.state.finishStart() else { return [] }
    self.handleActivity(now: now)
    var headers: RTSPHeaders = ["Session": self.sessionHeader(tracks), "Range": "npt=now-"]
    if let information = tracks.rtpInfo(positions) { headers.append("RTP-Info", information) }
    return [self.respond(.ok, cSeq: cSeq, headers)]
  }

  /// Responds to PLAY with 503, since the stream cannot be joined or has no samples; PLAY may be repeated.
  package mutating func playingFailed(now: MediaTime) -> [RTSPServerAction] {
    guard let (tracks, cSeq) = self.state.failStart() else { return [] }
    self.handleActivity(now: now)
    return [.stopPlaying, self.respond(.serviceUnavailable, cSeq: cSeq, ["Session": self.sessionHeader(tracks)])]
  }

  /// PLAY, RFC 2326 §10.5.
  ///
  /// The stream is live, so every `Range` means now. Some clients play each track by its own URL: the first PLAY starts
  /// all tracks that are set up; a PLAY during play is keep-alive, whose response has no `RTP-Info`.
  mutating func play(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory, now: MediaTime
  ) -> [RTSPServerAction] {
    guard let tracks = self.sessionTracks, !self.isStarting, self.state.publication == nil else {
      return [.respond(self.notValidInThisState(cSeq: cSeq))]
    }
    if let status = self.refusal(of: request.uri, tracks: tracks, directory: directory) {
      return [self.respond(status, cSeq: cSeq)]
    }
    if let started = self.state.start(cSeq: cSeq, now: now) {
      var playback = started.playback
      playback.startsCached = self.startsCached
      self.startsCached = false
      return [.startPlaying(playback)]
    }
    return [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(tracks), "Range": "npt=now-"])]
  }

  /// PAUSE, RFC 2326 §10.6: of all tracks together, since they share one clock.
  mutating func pause(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    if let publication = self.state.publication {
      return self.pause(request, of: publication, cSeq: cSeq, directory: directory)
    }
    guard let tracks = self.sessionTracks else { return [.respond(self.notValidInThisState(cSeq: cSeq))] }
    if let status = self.refusal(of: request.uri, tracks: tracks, directory: directory) {
      return [self.respond(status, cSeq: cSeq)]
    }
    if self.track(of: request.uri, directory: directory) != nil, tracks.tracks.count > 1 {
      return [self.respond(.onlyAggregateOperationAllowed, cSeq: cSeq)]
    }
    let stop: [RTSPServerAction] = self.state.pause() ? [.stopPlaying] : []
    return stop + [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(tracks)])]
  }

  /// TEARDOWN, RFC 2326 §10.7: of the session, or of one track while no packets are sent.
  mutating func tearDown(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    if let publication = self.state.publication {
      return self.tearDown(request, of: publication, cSeq: cSeq, directory: directory)
    }
    guard var tracks = self.sessionTracks else { return [self.respond(.sessionNotFound, cSeq: cSeq)] }
    if let status = self.refusal(of: request.uri, tracks: tracks, directory: directory) {
      return [self.respond(status, cSeq: cSeq)]
    }
    if let index = self.track(of: request.uri, directory: directory), tracks.tracks.count > 1 {
      tracks.remove(index: index)
      guard self.state.setUp(tracks) else { return [self.respond(.onlyAggregateOperationAllowed, cSeq: cSeq)] }
      return [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(tracks)])]
    }
    let stop: [RTSPServerAction] = self.state.tearDown() ? [.stopPlaying] : []
    return stop + [self.respond(.ok, cSeq: cSeq)]
  }

  /// The status of the response to a URL outside the session; nil for a URL of its stream or tracks.
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

  /// The index of the track that a URL names; nil for other URLs.
  private func track(of uri: String, directory: some RTSPStreamDirectory) -> Int? {
    guard case .track(_, let index) = try? self.target(of: uri, in: directory) else { return nil }
    return index
  }
}
