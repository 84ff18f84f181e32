internal import Authentication
internal import HLS
package import HTTPServer
package import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming
internal import Threading

extension HLSServer {
  /// Responds with an HLS playlist, segment or part; waits for it if the request is blocking.
  package func file(
    _ file: String, of name: String, _ target: HTTPTarget, _ request: HTTPRequest, user: HTTPUser
  ) async -> ServerResponse {
    let now = self.clock.now()
    let rendition = self.streams[hls: name] == nil ? self.streams.stream(withRendition: name) : nil
    guard let stream = self.streams[hls: name] ?? rendition?.stream,
      let hlsRequest = HLSRequest(file: file, query: target.query, arrival: now)
    else { return .notFound() }
    let userAgent = request.headerFields[.userAgent] ?? ""
    let other = rendition.flatMap { $0.rendition.isMain ? nil : $0.rendition.name }
    func noteRequest(at time: MediaTime) {
      stream.noteHLSRequest(of: other, address: user.address, userAgent: userAgent, at: time)
    }
    noteRequest(at: now)
    let transfer = stream.hls.transfers.transfer()
    let response = await stream.hls.respond(to: hlsRequest, of: rendition?.rendition.name)
    // A viewer that has waited is still one: the first playlist may take longer than viewers are counted.
    if self.clock.now() - now > .seconds(1) { noteRequest(at: self.clock.now()) }
    let isMeasured = rendition != nil
    return self.response(
      response, to: hlsRequest, of: stream, transfer: transfer, isMeasured: isMeasured, target, request, user: user)
  }

  /// Responds to a GET for a file of HLS that needs neither a wait nor credentials; nil for other requests, which leave no trace.
  ///
  /// It runs on the connection's event loop, without a task: most requests of a busy server are of this kind.
  package func respondAtOnce(to request: HTTPRequest, client: HTTPClient) -> ServerResponse? {
    guard !self.policy.access.isWatchingProtected else { return nil }
    if let response = self.preparedResponse(to: request, client: client) { return response }
    let now = self.clock.now()
    guard !request.hasCredentials, let (stream, target, hlsRequest) = self.file(of: request.path ?? "", at: now) else {
      return nil
    }
    var request = request
    if let refusal = self.policy.refusalOfHost(request) { return self.policy.finish(refusal, for: request) }
    request.authority = request.givenHosts.first
    var response: ServerResponse
    if let refusal = self.policy.refusalOfOrigin(request, client: client, use: .media) {
      response = refusal
    } else {
      let transfer = stream.hls.transfers.transfer()
      guard let content = stream.hls.respondAtOnce(to: hlsRequest) else { return nil }
      let user = HTTPUser.anonymous(
        at: client.effectiveAddress(of: request, proxies: self.policy.access.settings.proxies))
      stream.noteHLSRequest(
        of: nil, address: user.address, userAgent: request.headerFields[.userAgent] ?? "", at: now)
      response = self.response(
        content, to: hlsRequest, of: stream, transfer: transfer, isMeasured: false, target, request, user: user)
    }
    response.sharing = self.policy.sharing(of: .media)
    return self.policy.finish(response, for: request)
  }

  /// The file of the main rendition of a stream that a target names, but the multivariant playlist; nil for any other target.
  func file(
    of path: String, at now: MediaTime
  ) -> (stream: ServedStream, target: HTTPTarget, request: HLSRequest)? {
    guard let target = try? HTTPTarget(parsing: path), !target.hasTrailingSlash,
      let path = MediaPath(target.components, names: self.streams.names, renditions: self.streams.renditions),
      let stream = self.streams[hls: path.stream],
      let request = HLSRequest(file: path.file, query: target.query, arrival: now), !request.isMultivariantPlaylist
    else { return nil }
    return (stream, target, request)
  }

  /// The response with a file of HLS.
  ///
  /// - Parameter isMeasured: Whether the throughput of the connection is of interest.
  private func response(
    _ response: HLSResponse, to hlsRequest: HLSRequest, of stream: ServedStream,
    transfer: DiscardableTransfers.Transfer,
    isMeasured: Bool, _ target: HTTPTarget, _ request: HTTPRequest, user: HTTPUser
  ) -> ServerResponse {
    let now = self.clock.now()
    let userAgent = request.headerFields[.userAgent] ?? ""
    switch response {
    case .content(let content):
      if hlsRequest.isMediaPlaylist {
        stream.noteHLSPlaylist(address: user.address, userAgent: userAgent, at: now)
      }
      if request.method == .get { stream.countBytes(content.body.readableBytes, of: .hls) }
      var response = ServerResponse(content)
      if !content.isPlaylist { response.transfer = transfer }
      let viewer = ViewerThroughputs.Viewer(address: user.address, userAgent: userAgent)
      if isMeasured, !content.isPlaylist, content.body.readableBytes >= Self.minimumMeasuredLength {
        response.measured = { [clock] in stream.noteThroughput($0, of: viewer, at: clock.now()) }
      }
      var content = content
      let first = hlsRequest.isMultivariantPlaylist ? stream.firstRendition(for: viewer, at: now) : nil
      if let first, !first.isMain {
        content.body = HLSVariants.starting(with: first.name, content.body)
        response.body = .bytes(content.body)
        // The playlist names this viewer.
        (response.etag, response.caching) = (nil, .never)
      }
      if content.isPlaylist, let token = Self.queryToken(target, request, user) {
        response.body = .bytes(PlaylistToken.add(token, to: content.body))
        // Compressed bodies are cached by entity tag.
        response.etag = nil
        response.caching = .never
      }
      return response
    case .notFound: return .notFound("no such file, or it is no longer available")
    case .gone: return .text(.gone, "no longer available")
    case .badRequest(let reason): return .text(.badRequest, reason)
    case .wait, .unavailable:
      return .text(.serviceUnavailable, "not available in time; retry", [.retryAfter: "1"])
    }
  }

  /// Minimum length of media after which the throughput of its connection is measured, in bytes.
  private static let minimumMeasuredLength = 16 * 1024

  /// The valid token in the query of a request; nil where a header has the credentials.
  private static func queryToken(_ target: HTTPTarget, _ request: HTTPRequest, _ user: HTTPUser) -> String? {
    switch user.identification {
    case .identified: request.headerFields[.authorization] == nil ? target.parameter("token") : nil
    case .anonymous, .rejected, .throttled: nil
    }
  }
}

extension ServerResponse {
  /// A response with an HLS file.
  init(_ content: HLSContent) {
    self.init(
      .ok, [.contentType: content.mediaType], body: .bytes(content.body), caching: HTTPCaching(content.caching))
    self.etag = content.etag
    self.isCompressible = content.isPlaylist
    self.hasRanges = !content.isPlaylist
  }
}

extension HTTPCaching {
  /// The policy of an HLS file, rounded down to whole seconds and at least one: with zero a cache would forward the playlist
  /// request of every viewer to the origin. RFC 8216bis advises half the target duration, which is one second here.
  init(_ caching: HLSContent.Caching) {
    switch caching {
    case .immutable: self = .immutable
    case .media(let time): self = .shared(max(1, Int(time.nanoseconds / 1_000_000_000)))
    case .short(let time), .blocking(let time): self = .seconds(max(1, Int(time.nanoseconds / 1_000_000_000)))
    }
  }
}

/// A token in the addresses of a playlist: players send no header with the requests that a playlist leads to.
enum PlaylistToken {
  /// Adds `?token=TOKEN` to each address of a playlist, RFC 8216 §4.1 and §4.2: lines that are not tags, and the attribute
  /// `URI` of tags. The addresses have no query of their own.
  static func add(_ token: String, to playlist: ByteBuffer) -> ByteBuffer {
    let query = "?token=" + PercentEncoding.encode(token)
    let lines = String(buffer: playlist).split(separator: "\n", omittingEmptySubsequences: false)
    let attribute = "URI=\""
    let changed = lines.map { line -> String in
      guard line.hasPrefix("#") else { return line.isEmpty ? "" : line + query }
      guard let start = line.firstRange(of: attribute)?.upperBound,
        let end = line[start...].firstIndex(of: "\"")
      else { return String(line) }
      return line[..<end] + query + line[end...]
    }
    return ByteBuffer(string: changed.joined(separator: "\n"))
  }
}
