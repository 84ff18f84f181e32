internal import Authentication
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Serving

/// Requests and responses that sessions of WebRTC viewers and publishers have in common.
extension HTTPResponder {
  /// Media type of offers and answers.
  static let offerType = "application/sdp"
  private static let fragmentType = "application/trickle-ice-sdpfrag"
  /// Maximum length of an offer, or of a fragment with candidates, in bytes.
  private static let maximumOfferLength = 32 * 1024

  /// The sessions; 404 when WebRTC is off.
  func available<Service>(_ service: Service?) throws(HTTPRefusal) -> Service {
    guard let service else { throw HTTPRefusal(.notFound, "WebRTC is off; start the server without --webrtc off") }
    return service
  }

  /// The offer in the body of a POST.
  func readOffer(of request: HTTPRequest, from body: BodyReader) async throws(HTTPRefusal) -> ByteBuffer {
    try await self.readBody(of: request, as: [Self.offerType], maximumLength: Self.maximumOfferLength, from: body)
  }

  /// The candidates in the body of a PATCH.
  func readFragment(of request: HTTPRequest, from body: BodyReader) async throws(HTTPRefusal) -> ByteBuffer {
    try await self.readBody(of: request, as: [Self.fragmentType], maximumLength: Self.maximumOfferLength, from: body)
  }

  /// The value of `If-Match`; nil without one.
  static func entityTags(of request: HTTPRequest) -> String? {
    let tags = request.headerFields[values: .ifMatch]
    return tags.isEmpty ? nil : tags.joined(separator: ",")
  }

  /// Addresses at which a client has reached this machine: that of the connection, and a numeric one in `Host`, which only the
  /// client knows behind a forwarded port, such as that of a container.
  static func serverAddresses(of request: HTTPRequest, _ client: HTTPClient) -> [IPAddress] {
    let host = request.authority.flatMap { Authority(parsing: $0) }.flatMap(\.address)
    return [IPAddress(parsing: client.localAddress), host].compactMap(\.self)
  }

  /// The response to an offer: the answer, and a reference to the session as its location.
  static func response(to session: WHEPSession, at endpoint: String, links: [String]) -> ServerResponse {
    var fields: HTTPFields = [.contentType: Self.offerType, .location: "\(endpoint)/\(session.id)"]
    fields[values: .link] = links
    var response = ServerResponse(.created, fields, body: .bytes(session.answer))
    response.etag = session.entityTag
    return response
  }

  /// The response to a change of a session.
  static func response(to change: WHEPChange) -> ServerResponse {
    switch change {
    case .candidates: ServerResponse(.noContent)
    case .restarted(let fragment, let entityTag):
      ServerResponse(.ok, [.contentType: Self.fragmentType, .eTag: entityTag], body: .bytes(fragment))
    }
  }
}

extension HTTPRefusal {
  /// The result of a request of WHEP or WHIP.
  ///
  /// - Throws: The status of its refusal.
  static func refusing<Value>(
    _ body: () async throws(WebRTCRefusal) -> Value
  ) async throws(HTTPRefusal) -> Value {
    do throws(WebRTCRefusal) {
      return try await body()
    } catch {
      throw HTTPRefusal(error)
    }
  }

  /// The status of a refused request of WHEP or WHIP.
  init(_ refusal: WebRTCRefusal) {
    switch refusal {
    case .notFound: self.init(.notFound, "no such stream or session")
    case .noSource: self.init(.notFound, "the source of this stream is not whip:")
    case .noMedia: self.init(.conflict, "the stream has no video yet; try again", [.retryAfter: "2"])
    case .taken(let seconds):
      self.init(
        .conflict, "another publisher sends this stream; try again later, or take over with ?takeover=1",
        [.retryAfter: "\(seconds)"])
    case .malformed(let reason): self.init(.badRequest, "the body cannot be used: \(reason)")
    case .nothingFits:
      self.init(
        .notAcceptable,
        "no track of the offer can carry anything of this stream, which takes H.264 or Opus, in its bundle, with a=rtcp-mux; "
          + "HLS plays this stream")
    case .receivesNothing:
      self.init(
        .notAcceptable,
        "the offer receives no track of this stream, since its tracks are a=sendonly or a=inactive; offer a=recvonly")
    case .noDecoder(let reason): self.init(.notAcceptable, "\(reason); HLS plays this stream")
    case .nothingReceivable:
      self.init(.unprocessableContent, "the offer sends neither H.264 nor VP8 nor Opus in a track that can be received")
    case .tooManySessions:
      self.init(.serviceUnavailable, "too many WebRTC sessions; try again later", [.retryAfter: "5"])
    case .preconditionRequired:
      self.init(.preconditionRequired, "a restart of ICE needs If-Match with the session's entity tag")
    case .preconditionFailed: self.init(.preconditionFailed, "the session has another entity tag")
    }
  }
}
