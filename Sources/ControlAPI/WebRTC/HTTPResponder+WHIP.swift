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
    do throws(WebRTCRefusal) {
      try await service.admitPublication(of: name, takesOver: takesOver)
    } catch {
      throw HTTPRefusal(error)
    }
    let offer = try await self.readOffer(of: request, from: body)
    let session: WHEPSession
    do throws(WebRTCRefusal) {
      session = try await service.openPublication(
        of: name, offer: offer, takesOver: takesOver, serverAddresses: Self.serverAddresses(of: request, client))
    } catch {
      throw HTTPRefusal(error)
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
    do throws(WebRTCRefusal) {
      return Self.response(
        to: try await service.changePublication(
          id, of: name, fragment: fragment, entityTags: Self.entityTags(of: request)))
    } catch {
      throw HTTPRefusal(error)
    }
  }

  /// `DELETE /NAME/whip/ID`: ends a session.
  func closePublication(_ id: String, of name: String) async throws(HTTPRefusal) -> ServerResponse {
    guard try await self.publishers().closePublication(id, of: name) else { throw HTTPRefusal(WebRTCRefusal.notFound) }
    return ServerResponse(.ok)
  }

  /// The sessions; 404 when WebRTC is off.
  private func publishers() throws(HTTPRefusal) -> any WHIPService {
    guard let service = self.providers.whip else {
      throw HTTPRefusal(.notFound, "WebRTC is off; start the server without --webrtc off")
    }
    return service
  }
}
