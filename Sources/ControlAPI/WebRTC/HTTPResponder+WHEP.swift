internal import Authentication
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Serving
internal import Streaming

/// WebRTC viewers, draft-ietf-wish-whep: a session is opened by an offer, and is a resource of its own.
extension HTTPResponder {
  /// `GET` and `HEAD` of `/NAME/whep`: the type says what the URL is for.
  func whepEndpoint(of name: String) throws(HTTPRefusal) -> ServerResponse {
    let service = try self.service()
    var fields: HTTPFields = [.contentType: Self.offerType, .acceptPost: Self.offerType]
    fields[values: .link] = service.links
    return ServerResponse(.ok, fields)
  }

  /// `POST /NAME/whep`: opens a session.
  func openSession(
    of name: String, _ request: HTTPRequest, _ target: HTTPTarget, client: HTTPClient, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let service = try self.service()
    let offer = try await self.readOffer(of: request, from: body)
    let address = IPAddress(parsing: user.address) ?? .v4(0)
    let session = try await HTTPRefusal.refusing { () async throws(WebRTCRefusal) in
      try await service.open(
        path: name, offer: offer, client: address, serverAddresses: Self.serverAddresses(of: request, client))
    }
    return Self.response(
      to: session, at: target.reference(to: LiveStream.path(ofName: name) + "/whep"), links: service.links)
  }

  /// `PATCH /NAME/whep/ID`: takes candidates, or restarts ICE.
  func changeSession(
    _ id: String, of name: String, _ request: HTTPRequest, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let service = try self.service()
    let fragment = try await self.readFragment(of: request, from: body)
    let change = try await HTTPRefusal.refusing { () async throws(WebRTCRefusal) in
      try await service.change(id, path: name, fragment: fragment, entityTags: Self.entityTags(of: request))
    }
    return Self.response(to: change)
  }

  /// `DELETE /NAME/whep/ID`: ends a session.
  func closeSession(_ id: String, of name: String) async throws(HTTPRefusal) -> ServerResponse {
    guard try await self.service().close(id, path: name) else { throw HTTPRefusal(WebRTCRefusal.notFound) }
    return ServerResponse(.ok)
  }

  private func service() throws(HTTPRefusal) -> any WHEPService { try self.available(self.providers.whep) }
}

extension HTTPField.Name {
  // No trap: it is a token.
  /// The Accept-Post field of W3C's Linked Data Platform 1.0 §7.1.
  static let acceptPost = HTTPField.Name("Accept-Post")!
  // No trap: it is a token.
  /// The Link field of RFC 8288 §3.
  static let link = HTTPField.Name("Link")!
}
