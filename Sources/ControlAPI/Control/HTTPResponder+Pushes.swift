internal import HLSServer
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import Pushing
internal import StreamControl
internal import Streaming

extension HTTPResponder {
  /// Maximum length of a list of pushes, in bytes: a URL of each.
  private static let maximumPushesLength = 32 * 1024

  /// `GET /api/streams/NAME/pushes`.
  func pushes(of name: String) -> ServerResponse {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard let pushes = self.providers.controls(stream).pushes else { return Self.noPushes }
    return Self.json(PushList(pushes.reports()))
  }

  /// `PUT /api/streams/NAME/pushes`.
  func setPushes(
    of name: String, _ request: HTTPRequest, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard let pushes = self.providers.controls(stream).pushes else { return Self.noPushes }
    let json = try await self.readJSON(of: request, maximumLength: Self.maximumPushesLength, from: body)
    let entries = try PushEntry.list(json)
    if let error = pushes.replace(entries) {
      throw HTTPRefusal(error, badRequests: [.invalidSpecification, .notFound])
    }
    return self.pushes(of: name)
  }

  private static let noPushes = ServerResponse.notFound("this stream cannot be pushed from here")
}
