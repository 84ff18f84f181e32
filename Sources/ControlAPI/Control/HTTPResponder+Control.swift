internal import Authentication
internal import Capture
internal import HLSServer
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import StreamControl
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// Maximum length of a change, in bytes: two addresses, or a value for each control of a camera.
  private static let maximumChangeLength = 16 * 1024

  /// `GET /api/devices`.
  func deviceList(user: HTTPUser) async -> ServerResponse {
    guard let catalog = self.providers.catalog else { return .notFound("there are no devices here") }
    guard let devices = await catalog.listDevices() else {
      return .text(.serviceUnavailable, "a device does not respond; try again", [.retryAfter: "10"])
    }
    if user.role == .operator { return Self.json(DeviceList(devices, generators: catalog.generators)) }
    let start = self.streams.all.compactMap { self.providers.controls($0.stream).sources?.start }
    let allowed = SourceAccessPolicy(start: start).allowed(of: devices)
    return Self.json(
      DeviceList(allowed, generators: catalog.generators, isRestricted: allowed.count < devices.count))
  }

  /// `GET /api/streams/NAME/level`.
  func level(of name: String) -> ServerResponse {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard self.providers.controls(stream).sources != nil else { return Self.noControl }
    return Self.json(StreamEntry.Level(stream.audioLevel))
  }

  /// `GET /api/streams/NAME/source`.
  func sources(of name: String, user: HTTPUser) -> ServerResponse {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard let sources = self.providers.controls(stream).sources else { return Self.noControl }
    return Self.json(StreamEntry.Source(sources, to: self.audience(user)))
  }

  /// `GET /api/streams/NAME`.
  func streamEntry(_ name: String, user: HTTPUser) async -> ServerResponse {
    guard let stream = self.streams[name] else { return .notFound() }
    let controls = self.providers.controls(stream.stream)
    var entry = self.entry(of: stream, controls, at: self.clock.now(), user: user)
    if let sources = controls.sources, sources.hasControls,
      let controls = await self.controlled[stream.stream]?.controls.run({ sources.controls })
    {
      entry.setDeviceControls(controls)
    }
    return Self.json(entry)
  }

  /// `PUT /api/streams/NAME/source`.
  func replaceSources(
    of name: String, _ request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    try await self.change(name, request, mediaTypes: ["application/json"], user: user, body: body) {
      (json, sources) throws(HTTPRefusal) in
      let names = try SourceNames(json)
      do throws(VidiconError) {
        try await sources.replace(names, isOperator: user.role == .operator)
      } catch {
        throw HTTPRefusal(error)
      }
    }
  }

  /// `PATCH /api/streams/NAME`.
  func changeStream(
    _ name: String, _ request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let mediaTypes = ["application/merge-patch+json", "application/json"]
    return try await self.change(name, request, mediaTypes: mediaTypes, user: user, body: body) {
      (json, sources) throws(HTTPRefusal) in
      let change = try StreamChange(json, startBitrate: sources.stream.videoSettings.bitrate)
      do throws(VidiconError) {
        try await sources.change(change)
      } catch {
        throw HTTPRefusal(error)
      }
    }
  }

  /// Parses and performs a change, and answers with the stream's new state.
  ///
  /// Only JSON is accepted: pages of other origins can send a form without a preflight request, but not JSON
  /// (Fetch §2.2.2).
  private func change(
    _ name: String, _ request: HTTPRequest, mediaTypes: [String], user: HTTPUser, body: BodyReader,
    _ perform: (JSONValue, StreamSources) async throws(HTTPRefusal) -> Void
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard let sources = self.providers.controls(stream).sources else { return Self.noControl }
    let json = try await self.readJSON(of: request, as: mediaTypes, maximumLength: Self.maximumChangeLength, from: body)
    try await perform(json, sources)
    return await self.streamEntry(name, user: user)
  }

  /// Reads the body of a change as JSON.
  ///
  /// - Throws: As ``readBody(of:as:maximumLength:from:)``, and for a body that is no JSON (400).
  func readJSON(
    of request: HTTPRequest, as mediaTypes: [String] = ["application/json"], maximumLength: Int, from body: BodyReader
  ) async throws(HTTPRefusal) -> JSONValue {
    let bytes = try await self.readBody(of: request, as: mediaTypes, maximumLength: maximumLength, from: body)
    guard let json = JSONValue(parsing: bytes) else { throw HTTPRefusal("the body is no JSON") }
    return json
  }

  /// Reads the body of a change.
  ///
  /// - Throws: ``HTTPRefusal`` for another media type (415) or a body that is too long (413).
  func readBody(
    of request: HTTPRequest, as mediaTypes: [String], maximumLength: Int, from body: BodyReader
  ) async throws(HTTPRefusal) -> ByteBuffer {
    let mediaType = request.headerFields[.contentType]?.prefix { $0 != ";" }.trimmingSpace() ?? ""
    guard mediaTypes.contains(where: { mediaType.equalsIgnoringCase($0) }) else {
      let known = mediaTypes.joined(separator: ", ")
      let field: HTTPField.Name = request.method == .patch ? .acceptPatch : .accept
      throw HTTPRefusal(
        .unsupportedMediaType, "the body is \(mediaTypes.joined(separator: " or "))", [field: known])
    }
    guard let bytes = await body(maximumLength) else {
      throw HTTPRefusal(.contentTooLarge, "a body of more than \(maximumLength) bytes")
    }
    return bytes
  }

  private static let noControl = ServerResponse.notFound("this stream cannot be changed here")
}

extension HTTPField.Name {
  /// RFC 5789 §3.1.
  // No trap: it is a token.
  fileprivate static let acceptPatch = HTTPField.Name("Accept-Patch")!
}
