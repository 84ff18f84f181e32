internal import Authentication
internal import Media

extension RTSPServerSession {
  /// SETUP, RFC 2326 §10.4.
  ///
  /// A second SETUP of a track changes its transport before PLAY, as clients do after status 461; during PLAY the response
  /// is 455, as the RFC allows. The URL of a stream with one track also names that track.
  mutating func setUp(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    if self.isStarting || self.state.isPlaying || self.state.isClosed {
      return [.respond(self.notValidInThisState(cSeq: cSeq))]
    }
    if let publication = self.state.publication {
      return self.setUp(request, of: publication, cSeq: cSeq, directory: directory)
    }
    do throws(ParsingError) {
      let stream: RTSPStreamDescription
      let index: Int
      switch try self.target(of: request.uri, in: directory) {
      case nil: return [self.respond(.notFound, cSeq: cSeq)]
      case .track(let found, let foundIndex): (stream, index) = (found, foundIndex)
      case .stream(let found):
        guard found.tracks.count == 1 else { return [self.respond(.aggregateOperationNotAllowed, cSeq: cSeq)] }
        (stream, index) = (found, 0)
      }
      var tracks = self.sessionTracks ?? RTSPSessionTracks(id: self.makeSessionID(), stream: stream)
      // A session has one stream as it was described at its first SETUP: tracks are identified by their index in it.
      guard tracks.stream.name == stream.name, tracks.stream.tracks == stream.tracks else {
        return [.respond(self.notValidInThisState(cSeq: cSeq))]
      }
      return self.setUp(request, track: index, of: &tracks, forRecording: false, cSeq: cSeq)
    } catch {
      return [self.respond(RTSPStatus(rejecting: error), cSeq: cSeq)]
    }
  }

  /// Chooses the transport of a track, and sets it up.
  ///
  /// - Parameter forRecording: Whether the client sends the track.
  mutating func setUp(
    _ request: RTSPRequest, track index: Int, of tracks: inout RTSPSessionTracks, forRecording: Bool, cSeq: String
  ) -> [RTSPServerAction] {
    do throws(ParsingError) {
      guard let value = request.headers.list(of: "Transport") else { return [self.respond(.badRequest, cSeq: cSeq)] }
      // Without a mode it is that of the session: play, RFC 2326 §12.39, or what was announced.
      let alternatives = try RTSPTransport.alternatives(parsing: value).filter {
        !$0.isMulticast && ($0.mode ?? (forRecording ? .record : .play)) == (forRecording ? .record : .play)
      }
      guard case (let transport, var answer)? = self.choose(from: alternatives, forTrack: index, of: tracks) else {
        return [self.respond(.unsupportedTransport, cSeq: cSeq)]
      }
      if forRecording { (answer.mode, answer.ssrc) = (.record, nil) }
      tracks.set(RTSPSessionTracks.Track(index: index, url: Self.withoutUser(request.uri), transport: transport))
      guard self.state.setUp(tracks) else { return [.respond(self.notValidInThisState(cSeq: cSeq))] }
      return [
        self.respond(
          .ok, cSeq: cSeq,
          ["Session": self.sessionHeader(tracks), "Transport": answer.serialize(), "Cache-Control": "no-cache"])
      ]
    } catch {
      return [self.respond(RTSPStatus(rejecting: error), cSeq: cSeq)]
    }
  }

  /// The first transport that can be served, and its form in the response.
  private func choose(
    from alternatives: [RTSPTransport], forTrack index: Int, of tracks: RTSPSessionTracks
  ) -> (RTSPTrackTransport, RTSPTransport)? {
    for alternative in alternatives {
      var answer = RTSPTransport(alternative.lowerTransport)
      answer.namesUDP = alternative.namesUDP
      answer.ssrc = tracks.stream.tracks[index].ssrc
      switch alternative.lowerTransport {
      case .tcp:
        guard let channels = tracks.channels(forTrack: index, requested: alternative.interleaved) else { continue }
        answer.interleaved = channels
        return (.interleaved(channels), answer)
      case .udp:
        guard let serverPorts = self.configuration.udpPorts, let clientPorts = alternative.clientPorts else { continue }
        answer.clientPorts = clientPorts
        answer.serverPorts = serverPorts
        return (.udp(clientPorts: clientPorts), answer)
      }
    }
    return nil
  }

  /// 16 hexadecimal digits: RFC 2326 §3.4 requires at least eight octets that cannot be guessed.
  func makeSessionID() -> String {
    let number = self.makeRandom()
    return Hexadecimal.encode((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
  }

  /// The URL as the client wrote it, without user and password.
  private static func withoutUser(_ uri: String) -> String {
    guard let base = try? RTSPURL(parsing: uri).base, uri.utf8.contains(UInt8(ascii: "@")) else { return uri }
    return base
  }
}
