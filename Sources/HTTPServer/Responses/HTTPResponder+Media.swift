internal import Authentication
internal import HLS
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// Responds with an HLS playlist, segment or part; waits for it if the request is blocking.
  func file(
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
  func respondAtOnce(to request: HTTPRequest, client: HTTPClient) -> ServerResponse? {
    guard !self.access.isWatchingProtected else { return nil }
    if let response = self.preparedResponse(to: request, client: client) { return response }
    guard !Self.hasCredentials(request),
      let target = try? HTTPTarget(parsing: request.path ?? ""), !target.hasTrailingSlash,
      case let route = HTTPRoute(target.components, names: self.streams.names, renditions: self.streams.renditions),
      case .file(let file, let name) = route, let stream = self.streams[hls: name]
    else { return nil }
    var request = request
    if let refusal = self.refusalOfHost(request) { return self.finish(refusal, for: request) }
    request.authority = request.givenHosts.first
    var response: ServerResponse
    if let refusal = self.refusalOfOrigin(request, client: client, route: route) {
      response = refusal
    } else {
      let now = self.clock.now()
      guard let hlsRequest = HLSRequest(file: file, query: target.query, arrival: now),
        !hlsRequest.isMultivariantPlaylist
      else { return nil }
      let transfer = stream.hls.transfers.transfer()
      guard let content = stream.hls.respondAtOnce(to: hlsRequest) else { return nil }
      let user = HTTPUser(
        identification: .anonymous, role: nil,
        address: client.effectiveAddress(of: request, proxies: self.access.settings.proxies), isOnThisMachine: false,
        allowsBasic: false)
      stream.noteHLSRequest(
        of: nil, address: user.address, userAgent: request.headerFields[.userAgent] ?? "", at: now)
      response = self.response(
        content, to: hlsRequest, of: stream, transfer: transfer, isMeasured: false, target, request, user: user)
    }
    response.sharing = self.sharing(of: route)
    return self.finish(response, for: request)
  }

  /// The response with a file of HLS.
  ///
  /// - Parameter isMeasured: Whether the throughput of the connection is of interest.
  private func response(
    _ response: HLSResponse, to hlsRequest: HLSRequest, of stream: PublishedStream, transfer: MediaTransfers.Transfer,
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
    case .gone: return .text(.gone, "no longer available: faces are private")
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

  /// Responds with the current frame as a JPEG image.
  func snapshot(of name: String, _ target: HTTPTarget, user: HTTPUser) async throws(HTTPRefusal) -> ServerResponse {
    let rendition = self.streams[name] == nil ? self.streams.stream(withRendition: name) : nil
    guard let stream = self.streams[name] ?? rendition?.stream else { return .notFound() }
    let width = try target.number("width", in: 1...16_384)
    let network = user.network
    let transfer = stream.hls.transfers.transfer()
    let snapshot = Task { () -> Result<ByteBuffer, VidiconError> in
      do throws(VidiconError) {
        return .success(
          try await stream.stream.snapshots.snapshot(
            width: width, of: rendition?.rendition, from: network))
      } catch {
        return .failure(error)
      }
    }
    defer { snapshot.cancel() }
    switch await snapshot.result(within: Self.snapshotTimeout)?.get() {
    case .success(let file)?:
      stream.countBytes(file.readableBytes, of: .snapshot)
      var response = ServerResponse(.ok, [.contentType: "image/jpeg"], body: .bytes(file))
      response.transfer = transfer
      return response
    case .failure(let error)?:
      if error.code == .busy { self.access.refusals.count(.overLimit) }
      return .text(.serviceUnavailable, error.description, [.retryAfter: "1"])
    case nil: return .text(.gatewayTimeout, "the source delivered no frame in time", [.retryAfter: "1"])
    }
  }

  /// Responds with JPEG images of the following frames as `multipart/x-mixed-replace`, RFC 2046 §5.1; browsers display
  /// the newest part.
  func motionJPEG(of name: String, _ target: HTTPTarget, user: HTTPUser) throws(HTTPRefusal) -> ServerResponse {
    let rendition = self.streams[name] == nil ? self.streams.stream(withRendition: name) : nil
    guard let stream = self.streams[name] ?? rendition?.stream else { return .notFound() }
    let width = try target.number("width", in: 1...16_384)
    let frameRate = try target.number("fps", in: 1...120)
    let images = stream.stream.snapshots.motionJPEG(
      width: width, of: rendition?.rendition, frameRate: frameRate ?? Self.motionJPEGFrameRate, from: user.network)
    return ServerResponse(
      .ok, [.contentType: "multipart/x-mixed-replace; boundary=\(MotionJPEGPart.boundary)"],
      body: .motionJPEG(images, of: stream))
  }

  /// Maximum time a snapshot request waits for a frame.
  private static let snapshotTimeout = Duration.seconds(2)
  /// Default frame rate of motion JPEG, in frames per second.
  private static let motionJPEGFrameRate = 10
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

/// Framing of JPEG images in a `multipart/x-mixed-replace` response, RFC 2046 §5.1.1.
enum MotionJPEGPart {
  /// Boundary between parts. Clients use `Content-Length`, so an occurrence inside an image does no harm.
  static let boundary = "vidicon-image"

  /// Head of a part. The delimiter after an image is sent together with it, not with the next image: clients display an
  /// image when they receive that delimiter.
  static func head(length: Int) -> String {
    "Content-Type: image/jpeg\r\nContent-Length: \(length)\r\n\r\n"
  }

  /// Sent before the first part.
  static let opening = "--\(boundary)\r\n"
  /// Sent after each image.
  static let delimiter = "\r\n--\(boundary)\r\n"
  /// Sent at the end of the stream: an empty part, since its delimiter has already been sent, and the close delimiter.
  static let ending = "\r\n--\(boundary)--\r\n"
}
