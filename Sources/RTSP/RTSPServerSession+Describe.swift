internal import Authentication
import Media
import NIOCore

extension RTSPServerSession {
  /// The supported methods.
  static let methods: [RTSPMethod] = [
    .options, .describe, .announce, .setup, .play, .record, .pause, .teardown, .getParameter, .setParameter,
  ]

  /// The value of `Public`, RFC 2326 §12.28.
  static let publicMethods = Self.methods.map(\.rawValue).joined(separator: ", ")

  /// A response with the headers of every response: `CSeq` and `Server`.
  func response(_ status: RTSPStatus, cSeq: String?, _ headers: RTSPHeaders = [:]) -> RTSPResponse {
    var all: RTSPHeaders = [:]
    if let cSeq { all.append("CSeq", cSeq) }
    all.append("Server", self.configuration.serverName)
    for field in headers.fields { all.append(field.name, field.value) }
    return RTSPResponse(status: status, headers: all)
  }

  /// Status 455 with the methods that are valid, RFC 2326 §11.3.6.
  func notValidInThisState(cSeq: String) -> RTSPResponse {
    let session =
      switch self.state {
      case .initial: "ANNOUNCE, SETUP"
      case .announced: "SETUP, RECORD, PAUSE, TEARDOWN"
      case .recording: "RECORD, PAUSE, TEARDOWN"
      case .ready: "SETUP, PLAY, PAUSE, TEARDOWN"
      default: "PLAY, PAUSE, TEARDOWN"
      }
    return self.response(
      .methodNotValidInThisState, cSeq: cSeq,
      ["Allow": "OPTIONS, DESCRIBE, \(session), GET_PARAMETER, SET_PARAMETER"])
  }

  /// The value of `Session`, RFC 2326 §12.37.
  func sessionHeader(_ tracks: RTSPSessionTracks) -> String {
    "\(tracks.id);timeout=\(self.configuration.timeout.nanoseconds / 1_000_000_000)"
  }

  /// The stream or track that a URL names.
  enum Target {
    /// A stream with all of its tracks.
    case stream(RTSPStreamDescription)
    /// One track of a stream, by its index in the description.
    case track(RTSPStreamDescription, index: Int)
  }

  /// The stream or track that a request URI names; nil when there is none.
  ///
  /// The URL of a track is the stream's URL, a slash and the control value. Clients that keep the query append the control
  /// value to it: `rtsp://host/live?key=1/trackID=0`.
  ///
  /// - Throws: `ParsingError` of ``RTSPURL``.
  func target(of uri: String, in directory: some RTSPStreamDirectory) throws(ParsingError) -> Target? {
    let url = try RTSPURL(parsing: uri)
    guard var path = url.pathComponents else { return nil }
    if let query = url.query, let control = query.utf8.split(separator: UInt8(ascii: "/")).last,
      query.utf8.contains(UInt8(ascii: "/")), let control = String(control),
      let stream = directory.stream(forPath: path.joined(separator: "/")),
      let index = stream.tracks.firstIndex(where: { $0.control == control })
    {
      return .track(stream, index: index)
    }
    let whole = path.joined(separator: "/")
    if let control = path.popLast(), let stream = directory.stream(forPath: path.joined(separator: "/")),
      let index = stream.tracks.firstIndex(where: { $0.control == control })
    {
      return .track(stream, index: index)
    }
    return directory.stream(forPath: whole).map(Target.stream)
  }

  /// Continues with a DESCRIBE request whose stream has been prepared, or could not be.
  package func streamPrepared(_ request: RTSPRequest, directory: some RTSPStreamDirectory) -> [RTSPServerAction] {
    if self.state.isClosed { return [] }
    let actions = self.describe(request, cSeq: request.headers["CSeq"] ?? "", directory: directory)
    guard case .prepareStream? = actions.first else { return actions }
    return [self.respond(.serviceUnavailable, cSeq: request.headers["CSeq"])]
  }

  /// DESCRIBE, RFC 2326 §10.2.
  func describe(_ request: RTSPRequest, cSeq: String, directory: some RTSPStreamDirectory) -> [RTSPServerAction] {
    if let accepted = request.headers.list(of: "Accept"), !Self.acceptsSDP(accepted) {
      return [self.respond(.notAcceptable, cSeq: cSeq)]
    }
    guard let url = try? RTSPURL(parsing: request.uri) else { return [self.respond(.badRequest, cSeq: cSeq)] }
    guard let path = url.streamPath, let stream = directory.stream(forPath: path) else {
      if let path = url.streamPath, directory.needsPreparation(ofPath: path) {
        return [.prepareStream(path: path, request)]
      }
      return [self.respond(.notFound, cSeq: cSeq)]
    }
    var response = self.response(.ok, cSeq: cSeq)
    if let base = url.base { response.headers.append("Content-Base", base + "/") }
    response.headers.append("Content-Type", "application/sdp")
    response.headers.append("Cache-Control", "no-cache")
    response.body = ByteBuffer(string: stream.sessionDescription)
    return [.respond(response)]
  }

  private static func acceptsSDP(_ accepted: String) -> Bool {
    accepted.splitOutsideQuotes(UInt8(ascii: ",")).contains { range in
      let type = range.splitOutsideQuotes(UInt8(ascii: ";"))[0]
      return ["application/sdp", "application/*", "*/*", "*"].contains { type.equalsIgnoringCase($0) }
    }
  }

  /// GET_PARAMETER and SET_PARAMETER, RFC 2326 §10.8 and §10.9: keep-alive; no parameter is supported.
  func handleParameters(_ request: RTSPRequest, cSeq: String) -> [RTSPServerAction] {
    let names = request.body.readableBytesView.contains { $0 != UInt8(ascii: " ") && !$0.isControl }
    var headers: RTSPHeaders = [:]
    if let tracks = self.sessionTracks { headers.append("Session", self.sessionHeader(tracks)) }
    return [self.respond(names ? .parameterNotUnderstood : .ok, cSeq: cSeq, headers)]
  }
}
