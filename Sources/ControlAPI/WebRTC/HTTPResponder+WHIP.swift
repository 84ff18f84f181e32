internal import Authentication
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Serving
internal import Streaming

/// WebRTC publishers, RFC 9725: a session is opened by an offer, and is a resource of its own. The caller has verified that the client
/// may publish.
extension HTTPResponder {
  /// `POST /NAME/whip`: opens a session.
  func openPublication(
    of name: String, _ request: HTTPRequest, _ target: HTTPTarget, client: HTTPClient, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let service = try self.publishers()
    let takesOver = target.parameter("takeover") == "1"
    try await HTTPRefusal.refusing { () async throws(WebRTCRefusal) in
      try await service.admitPublication(of: name, takesOver: takesOver)
    }
    let offer = try await self.readOffer(of: request, from: body)
    let session = try await HTTPRefusal.refusing { () async throws(WebRTCRefusal) in
      try await service.openPublication(
        of: name, offer: offer, takesOver: takesOver, serverAddresses: Self.serverAddresses(of: request, client))
    }
    return Self.response(
      to: session, at: target.reference(to: LiveStream.path(ofName: name) + "/whip"), links: service.links)
  }

  /// `PATCH /NAME/whip/ID`: takes candidates, or restarts ICE.
  func changePublication(
    _ id: String, of name: String, _ request: HTTPRequest, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let service = try self.publishers()
    let fragment = try await self.readFragment(of: request, from: body)
    let change = try await HTTPRefusal.refusing { () async throws(WebRTCRefusal) in
      try await service.changePublication(id, of: name, fragment: fragment, entityTags: Self.entityTags(of: request))
    }
    return Self.response(to: change)
  }

  /// `DELETE /NAME/whip/ID`: ends a session.
  func closePublication(_ id: String, of name: String) async throws(HTTPRefusal) -> ServerResponse {
    guard try await self.publishers().closePublication(id, of: name) else { throw HTTPRefusal(WebRTCRefusal.notFound) }
    return ServerResponse(.ok)
  }

  private func publishers() throws(HTTPRefusal) -> any WHIPService { try self.available(self.providers.whip) }
}
