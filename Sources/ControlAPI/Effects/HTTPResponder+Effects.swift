internal import Authentication
internal import Effects
internal import HLSServer
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import StreamControl
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// Maximum length of settings, in bytes.
  private static let maximumSettingsLength = 16 * 1024

  /// `GET /api/streams/NAME/events`.
  func faceEvents(of name: String) -> ServerResponse {
    guard let stream = self.streams[name]?.stream, let faces = self.controlled[stream]?.faces else {
      return .notFound()
    }
    return ServerResponse(.ok, [.contentType: EndlessMediaType.events], body: .streamed(faces.listen()))
  }

  /// `GET /api/streams/NAME/effects`.
  func effects(of name: String) -> ServerResponse {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard let effects = self.providers.controls(stream).effects else { return Self.noEffects }
    return Self.json(effects.settings)
  }

  /// `PUT /api/streams/NAME/effects`. Only an operator may end the privacy of faces.
  func setEffects(
    of name: String, _ request: HTTPRequest, isOperator: Bool, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    try await self.changeEffects(of: name) { effects throws(HTTPRefusal) in
      let bytes = try await self.readBody(
        of: request, as: ["application/json"], maximumLength: Self.maximumSettingsLength, from: body)
      let settings: EffectSettings
      do throws(VidiconError) {
        settings = try EffectSettings.parse(json: Array(bytes.readableBytesView))
      } catch {
        throw HTTPRefusal(error.description)
      }
      do throws(VidiconError) {
        try await effects.apply(settings, mayEndPrivacy: isOperator)
      } catch {
        throw HTTPRefusal(error)
      }
    }
  }

  /// `PUT /api/streams/NAME/effects/mask`, and `overlay`.
  ///
  /// A page of another origin cannot send an image without a preflight request (Fetch §2.2.2).
  func setImage(
    for use: EffectImageUse, of name: String, _ request: HTTPRequest, address: String, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    try await self.changeEffects(of: name) { effects throws(HTTPRefusal) in
      let upload: ImageUploads.Upload
      do throws(ImageUploads.Refusal) {
        upload = try self.imageUploads.start(
          from: IPAddress(parsing: address)?.network,
          length: request.headerFields[.contentLength].flatMap { Int($0) })
      } catch {
        throw self.refusal(of: error)
      }
      let types = ["image/png", "image/jpeg"]
      let body = try await self.readBody(
        of: request, as: types, maximumLength: HTTPBodyLimits.imageBytes, from: body)
      let bytes = Array(body.readableBytesView)
      guard upload.reserve(OverlayImage.decodingByteCount(of: bytes)) else {
        throw self.refusal(of: .full)
      }
      defer { withExtendedLifetime(upload) {} }
      do throws(VidiconError) {
        try await effects.setImage(bytes, for: use)
      } catch {
        throw HTTPRefusal(error, badRequests: [.invalidSpecification, .invalidData, .unsupported])
      }
    }
  }

  /// Describes an upload over a limit.
  private func refusal(of upload: ImageUploads.Refusal) -> HTTPRefusal {
    switch upload {
    case .busy:
      HTTPRefusal(
        .tooManyRequests, "another image is being sent from this address; send this one after it", [.retryAfter: "5"])
    case .full:
      HTTPRefusal(.serviceUnavailable, "other images are being sent; try again", [.retryAfter: "5"])
    }
  }

  /// Changes a stream's effects, and answers with the new settings.
  private func changeEffects(
    of name: String, _ change: (StreamEffects) async throws(HTTPRefusal) -> Void
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard let effects = self.providers.controls(stream).effects else { return Self.noEffects }
    try await change(effects)
    return self.effects(of: name)
  }

  private static let noEffects = ServerResponse.notFound("this stream's effects cannot be changed here")
}
