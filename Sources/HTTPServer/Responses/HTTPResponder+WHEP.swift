internal import Authentication
internal import Connections
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming

/// WebRTC viewers, draft-ietf-wish-whep: a session is opened by an offer, and is a resource of its own.
extension HTTPResponder {
  private static let offerType = "application/sdp"
  private static let fragmentType = "application/trickle-ice-sdpfrag"
  /// Maximum length of an offer, in bytes.
  private static let maximumOfferLength = 32 * 1024

  /// `GET` and `HEAD` of `/NAME/whep`: the type says what the URL is for.
  func whepEndpoint(of name: String) throws(HTTPRefusal) -> ServerResponse {
    _ = try self.service()
    return ServerResponse(.ok, [.contentType: Self.offerType, .acceptPost: Self.offerType])
  }

  /// `POST /NAME/whep`: opens a session.
  func openSession(
    of name: String, _ request: HTTPRequest, client: HTTPClient, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let service = try self.service()
    let offer = try await self.readBody(
      of: request, as: [Self.offerType], maximumLength: Self.maximumOfferLength, from: body)
    let address = IPAddress(parsing: user.address) ?? .v4(0)
    let session: WHEPSession
    do throws(WHEPRefusal) {
      session = try await service.open(
        path: name, offer: offer, client: address, localAddress: IPAddress(parsing: client.localAddress))
    } catch {
      throw HTTPRefusal(error)
    }
    var response = ServerResponse(
      .created,
      [.contentType: Self.offerType, .location: LiveStream.path(ofName: name) + "/whep/\(session.id)"],
      body: .bytes(session.answer))
    response.etag = session.entityTag
    return response
  }

  /// `PATCH /NAME/whep/ID`: takes candidates, or restarts ICE.
  func changeSession(
    _ id: String, of name: String, _ request: HTTPRequest, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let service = try self.service()
    let fragment = try await self.readBody(
      of: request, as: [Self.fragmentType], maximumLength: Self.maximumOfferLength, from: body)
    let entityTags = request.headerFields[values: .ifMatch]
    let change: WHEPChange
    do throws(WHEPRefusal) {
      change = try await service.change(
        id, path: name, fragment: fragment, entityTags: entityTags.isEmpty ? nil : entityTags.joined(separator: ","))
    } catch {
      throw HTTPRefusal(error)
    }
    switch change {
    case .candidates: return ServerResponse(.noContent)
    case .restarted(let fragment, let entityTag):
      return ServerResponse(
        .ok, [.contentType: Self.fragmentType, .eTag: entityTag], body: .bytes(fragment))
    }
  }

  /// `DELETE /NAME/whep/ID`: ends a session.
  func closeSession(_ id: String, of name: String) async throws(HTTPRefusal) -> ServerResponse {
    guard try await self.service().close(id, path: name) else { throw HTTPRefusal(WHEPRefusal.notFound) }
    return ServerResponse(.ok)
  }

  /// The sessions; 404 when WebRTC is off.
  private func service() throws(HTTPRefusal) -> any WHEPService {
    guard let service = self.providers.whep else {
      throw HTTPRefusal(.notFound, "WebRTC is off; start the server with --webrtc-port 8189")
    }
    return service
  }
}

extension HTTPRefusal {
  fileprivate init(_ refusal: WHEPRefusal) {
    switch refusal {
    case .notFound: self.init(.notFound, "no such stream or session")
    case .nothingPublished: self.init(.conflict, "the stream has no video yet; try again", [.retryAfter: "2"])
    case .malformed(let reason): self.init(.badRequest, "the body cannot be used: \(reason)")
    case .nothingFits:
      self.init(
        .notAcceptable, "the offer has no H.264 with packetization-mode=1 that decodes this stream; HLS plays it")
    case .tooManySessions:
      self.init(.serviceUnavailable, "too many WebRTC sessions; try again later", [.retryAfter: "5"])
    case .preconditionRequired:
      self.init(.preconditionRequired, "a restart of ICE needs If-Match with the session's entity tag")
    case .preconditionFailed: self.init(.preconditionFailed, "the session has another entity tag")
    }
  }
}

extension HTTPField.Name {
  // No trap: it is a token.
  /// The Accept-Post field of W3C's Linked Data Platform 1.0 §7.1.
  static let acceptPost = HTTPField.Name("Accept-Post")!
}
