internal import Authentication
package import Media
internal import NIOCore

extension RTSPServerSession {
  /// ANNOUNCE, RFC 2326 §10.3: of a stream that the client sends.
  mutating func announce(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    guard self.state.isInitial else { return [.respond(self.notValidInThisState(cSeq: cSeq))] }
    guard let path = try? RTSPURL(parsing: request.uri).streamPath else {
      return [self.respond(.badRequest, cSeq: cSeq)]
    }
    guard let stream = directory.stream(forPath: path) else { return [self.respond(.notFound, cSeq: cSeq)] }
    let type = request.headers["Content-Type"]?.splitOutsideQuotes(UInt8(ascii: ";"))[0]
    guard type.map({ $0.equalsIgnoringCase("application/sdp") }) ?? true else {
      return [self.respond(.unsupportedMediaType, cSeq: cSeq)]
    }
    do throws(ParsingError) {
      let announcement = try RTSPAnnouncement(streamName: stream.name, parsing: request.body)
      self.announcedName = stream.name
      self.state.announce(RTSPPublication(announcement, sessionID: self.makeSessionID()), cSeq: cSeq)
      return [.beginPublication(announcement)]
    } catch {
      return [self.respond(error.code == .unsupported ? .unsupportedMediaType : .badRequest, cSeq: cSeq)]
    }
  }

  /// Responds to ANNOUNCE, since ``RTSPServerAction/beginPublication(_:)`` was accepted.
  package mutating func publicationBegan(now: MediaTime) -> [RTSPServerAction] {
    guard let cSeq = self.state.finishAnnouncement(isAccepted: true) else { return [] }
    self.handleActivity(now: now)
    return [self.respond(.ok, cSeq: cSeq)]
  }

  /// Responds to ANNOUNCE, which may be repeated, since ``RTSPServerAction/beginPublication(_:)`` was refused.
  package mutating func publicationRefused(_ refusal: RTSPPublicationRefusal) -> [RTSPServerAction] {
    guard let cSeq = self.state.finishAnnouncement(isAccepted: false) else { return [] }
    return [self.respond(refusal.status, cSeq: cSeq, refusal == .alreadyPublished ? ["Retry-After": "2"] : [:])]
  }

  /// SETUP of a track that the client sends.
  mutating func setUp(
    _ request: RTSPRequest, of publication: RTSPPublication, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    guard !self.state.isRecording else { return [.respond(self.notValidInThisState(cSeq: cSeq))] }
    var tracks = publication.tracks
    let index: Int
    switch self.target(of: request.uri, in: publication, directory) {
    case nil: return [self.respond(.notFound, cSeq: cSeq)]
    case .track(let found): index = found
    case .stream where tracks.stream.tracks.count == 1: index = 0
    case .stream: return [self.respond(.aggregateOperationNotAllowed, cSeq: cSeq)]
    }
    return self.setUp(request, track: index, of: &tracks, forRecording: true, cSeq: cSeq)
  }

  /// RECORD, RFC 2326 §10.11, of all tracks that are set up; during RECORD it is keep-alive.
  mutating func record(
    _ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    guard let publication = self.state.publication, !publication.tracks.tracks.isEmpty else {
      return [.respond(self.notValidInThisState(cSeq: cSeq))]
    }
    guard self.target(of: request.uri, in: publication, directory) != nil else {
      return [self.respond(.notFound, cSeq: cSeq)]
    }
    let start: [RTSPServerAction] = self.state.record() ? [.startRecording(publication.recording)] : []
    return start + [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(publication.tracks)])]
  }

  /// PAUSE of a stream that the client sends.
  mutating func pause(
    _ request: RTSPRequest, of publication: RTSPPublication, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    guard let target = self.target(of: request.uri, in: publication, directory) else {
      return [self.respond(.notFound, cSeq: cSeq)]
    }
    if case .track = target, publication.tracks.tracks.count > 1 {
      return [self.respond(.onlyAggregateOperationAllowed, cSeq: cSeq)]
    }
    self.state.pauseRecording()
    return [self.respond(.ok, cSeq: cSeq, ["Session": self.sessionHeader(publication.tracks)])]
  }

  /// TEARDOWN of a stream that the client sends: of all its tracks.
  ///
  /// Some clients tear down each track, which ends the publication with the first.
  mutating func tearDown(
    _ request: RTSPRequest, of publication: RTSPPublication, cSeq: String, directory: some RTSPStreamDirectory
  ) -> [RTSPServerAction] {
    guard self.target(of: request.uri, in: publication, directory) != nil else {
      return [self.respond(.notFound, cSeq: cSeq)]
    }
    _ = self.state.tearDown()
    return [.endPublication, self.respond(.ok, cSeq: cSeq)]
  }

  /// Whether the client sends packets, which are passed on by ``track(forChannel:)``.
  package var isRecording: Bool { self.state.isRecording }

  /// Closes the connection after the loss of the stream to another client.
  package mutating func handlePublicationLost() -> [RTSPServerAction] {
    self.state.publication == nil ? [] : self.handleShutdown()
  }

  /// The stream or a track of a publication.
  private enum PublicationTarget {
    case stream
    case track(Int)
  }

  /// Part of a publication that a request URI names; nil for anything else.
  ///
  /// The URL of a track is the control value if that is absolute, else the stream's URL, a slash and the control value. Clients
  /// append it behind the query (ffmpeg) or before it (GStreamer).
  private func target(
    of uri: String, in publication: RTSPPublication, _ directory: some RTSPStreamDirectory
  ) -> PublicationTarget? {
    let name = publication.announcement.streamName
    func isStream(_ uri: Substring) -> Bool {
      (try? RTSPURL(parsing: String(uri)))?.streamPath.flatMap { directory.stream(forPath: $0) }?.name == name
    }
    if uri == "*" { return .stream }
    let withoutQuery = uri.prefix { $0 != "?" }
    for (index, track) in publication.announcement.tracks.enumerated() where !track.control.isEmpty {
      if track.control == uri || track.control[...] == withoutQuery { return .track(index) }
      for candidate in [uri[...], withoutQuery] where candidate.hasSuffix("/\(track.control)") {
        if isStream(candidate.dropLast(track.control.count + 1)) { return .track(index) }
      }
    }
    return isStream(uri[...]) ? .stream : nil
  }
}
