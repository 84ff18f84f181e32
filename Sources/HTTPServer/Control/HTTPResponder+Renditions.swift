internal import Authentication
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
    let bytes = try await self.readBody(
      of: request, as: ["application/json"], maximumLength: Self.maximumSettingsLength, from: body)
    guard let json = JSONValue(parsing: bytes) else { throw HTTPRefusal("the body is no JSON") }
    var settings = try RenditionSettings(json, name: rendition)
    // Which of a device's encoders is used is not for clients.
    settings.encoder = stream.rendition(named: rendition)?.settings?.encoder
    if self.streams.names.contains("\(name)/\(rendition)") {
      throw HTTPRefusal(
        .conflict, "a stream of the name \("\(name)/\(rendition)".debugDescription) is published; choose another name")
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

extension RenditionSettings {
  private enum Key: String, CaseIterable {
    case width, height, bitrate, frameRate
  }

  /// Frame rates of a rendition, in frames per second; the stream's is the maximum.
  private static let frameRates = 1.0...1000.0

  /// Parses the body of `PUT /api/streams/NAME/renditions/RENDITION`.
  package init(_ json: JSONValue, name: String) throws(HTTPRefusal) {
    let form = #"{"width": 640, "height": 360, "bitrate": 450000, "frameRate": 15}, where frameRate may be left out"#
    guard case .object(let members) = json else { throw HTTPRefusal("the body is \(form)") }
    var integers: [Key: Int] = [:]
    var frameRate: FrameRate?
    for (text, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let key = Key(rawValue: text) else { throw .unknownKey(text, known: Key.allCases.map(\.rawValue)) }
      switch (key, value) {
      case (.frameRate, .null): break
      case (.frameRate, .integer(let rate)): frameRate = FrameRate(parsing: "\(rate)", in: Self.frameRates)
      case (.frameRate, .number(let rate)): frameRate = FrameRate(parsing: "\(rate)", in: Self.frameRates)
      case (.width, .integer(let number)), (.height, .integer(let number)), (.bitrate, .integer(let number)):
        integers[key] = number
      default: throw HTTPRefusal("\"\(text)\" is a number")
      }
      if key == .frameRate, value != .null, frameRate == nil {
        throw HTTPRefusal("\"frameRate\" is a number from 1 to 1000, with at most three decimals")
      }
    }
    guard let width = integers[.width], let height = integers[.height], let bitrate = integers[.bitrate] else {
      throw HTTPRefusal("width, height and bitrate are required: the body is \(form)")
    }
    self.init(name: name, width: width, height: height, bitrate: bitrate, frameRate: frameRate)
  }
}
