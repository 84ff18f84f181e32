internal import Authentication
internal import HLSServer
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import StreamControl
internal import Streaming

extension HTTPResponder {
  /// Maximum length of a rendition's settings, in bytes.
  private static let maximumSettingsLength = 1024

  /// `PUT /api/streams/NAME/renditions/RENDITION`: adds a rendition, or replaces the one of its name.
  func setRendition(
    _ rendition: String, of name: String, _ request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let stream = try self.streamForRenditions(name, user: user)
    let json = try await self.readJSON(of: request, maximumLength: Self.maximumSettingsLength, from: body)
    var settings = try RenditionSettings(json, name: rendition)
    // Clients do not choose among a device's encoders.
    settings.encoder = stream.rendition(named: rendition)?.settings?.encoder
    if self.streams.names.contains("\(name)/\(rendition)") {
      throw HTTPRefusal(
        .conflict, "a stream of the name \("\(name)/\(rendition)".debugDescription) is served; choose another name")
    }
    return try await self.changeRenditions(of: name, user: user) { () throws(VidiconError) in
      try await stream.setRendition(settings)
    }
  }

  /// `DELETE /api/streams/NAME/renditions/RENDITION`.
  func removeRendition(
    _ rendition: String, of name: String, user: HTTPUser
  ) async throws(HTTPRefusal) -> ServerResponse {
    let stream = try self.streamForRenditions(name, user: user)
    return try await self.changeRenditions(of: name, user: user) { () throws(VidiconError) in
      try await stream.removeRendition(named: rendition)
    }
  }

  /// The stream whose renditions an operator changes.
  private func streamForRenditions(_ name: String, user: HTTPUser) throws(HTTPRefusal) -> LiveStream {
    // Viewers may control with `--control all`, but an encoder more is the owner's processor time.
    guard user.role == .operator else {
      throw HTTPRefusal(.forbidden, "renditions are changed by operators only; log in as one")
    }
    guard let stream = self.streams[name]?.stream else { throw HTTPRefusal(.notFound, "not found") }
    guard self.providers.controls(stream).sources != nil else {
      throw HTTPRefusal(.notFound, "this stream cannot be changed here")
    }
    return stream
  }

  /// Performs a change and answers with the stream's new state.
  private func changeRenditions(
    of name: String, user: HTTPUser, _ body: () async throws(VidiconError) -> Void
  ) async throws(HTTPRefusal) -> ServerResponse {
    do throws(VidiconError) {
      try await body()
    } catch {
      if error.code == .notFound { throw HTTPRefusal(.notFound, error.description) }
      if error.code == .cancelled { throw HTTPRefusal(.serviceUnavailable, error.description, [.retryAfter: "5"]) }
      throw HTTPRefusal(error)
    }
    return await self.streamEntry(name, user: user)
  }
}
