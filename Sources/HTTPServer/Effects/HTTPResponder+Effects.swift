internal import Effects
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// Bytes of settings, with room to spare.
  private static let mostSettingsBytes = 16 * 1024

  /// `GET /api/streams/NAME/events`.
  func faceEvents(of name: String) -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    let (opening, events) = stream.faces.listen()
    return HTTPAnswer(.ok, [.contentType: ServerSentEvent.mediaType], body: .events(opening: opening, events))
  }

  /// `GET /api/streams/NAME/effects`.
  func effects(of name: String) -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let settings = self.extras.effects?.effects(of: stream.stream) else { return Self.noEffects }
    return Self.json(settings)
  }

  /// `PUT /api/streams/NAME/effects`.
  ///
  /// Only who is trusted takes faces' privacy away.
  func setEffects(of name: String, _ request: HTTPRequest, isTrusted: Bool, body: BodyReader) async -> HTTPAnswer {
    await self.changeEffects(of: name) { (stream, effects) throws(HTTPRefusal) in
      let bytes = try await self.order(in: request, of: ["application/json"], most: Self.mostSettingsBytes, body: body)
      let settings: EffectSettings
      do throws(VidiconError) {
        settings = try EffectSettings.parse(json: Array(bytes.readableBytesView))
      } catch {
        throw HTTPRefusal(.text(.badRequest, error.description))
      }
      try await Self.carryOut { () throws(HTTPServerControl.Failure) in
        try await effects.setEffects(settings, of: stream, mayEndPrivacy: isTrusted)
      }
    }
  }

  /// `PUT /api/streams/NAME/effects/mask`, and `overlay`.
  ///
  /// A page of another server cannot send an image without being asked (Fetch §2.2.2).
  func setImage(
    for use: EffectImageUse, of name: String, _ request: HTTPRequest, body: BodyReader
  ) async -> HTTPAnswer {
    await self.changeEffects(of: name) { (stream, effects) throws(HTTPRefusal) in
      // Images are large, and are held whole until they are decoded.
      guard self.imageUploads.tryAcquire() else {
        throw HTTPRefusal(.text(.serviceUnavailable, "other images are being sent; ask again", [.retryAfter: "5"]))
      }
      defer { self.imageUploads.release() }
      let types = ["image/png", "image/jpeg"]
      let bytes = try await self.order(in: request, of: types, most: HTTPBodyLimits.imageBytes, body: body)
      try await Self.carryOut { () throws(HTTPServerControl.Failure) in
        try await effects.setImage(Array(bytes.readableBytesView), for: use, of: stream)
      }
    }
  }

  /// Changes a stream's effects, and answers with what they are then.
  private func changeEffects(
    of name: String, _ change: (LiveStream, any HTTPServerEffects) async throws(HTTPRefusal) -> Void
  ) async -> HTTPAnswer {
    guard let stream = self.streams[name]?.stream else { return .notFound() }
    guard let effects = self.extras.effects, effects.effects(of: stream) != nil else { return Self.noEffects }
    do throws(HTTPRefusal) {
      try await change(stream, effects)
    } catch {
      return error.answer
    }
    return self.effects(of: name)
  }

  private static func carryOut(
    _ change: () async throws(HTTPServerControl.Failure) -> Void
  ) async throws(HTTPRefusal) {
    do throws(HTTPServerControl.Failure) {
      try await change()
    } catch {
      throw HTTPRefusal(.refusal(HTTPBodyError(error)))
    }
  }

  private static let noEffects = HTTPAnswer.text(.notImplemented, "this stream's effects cannot be changed here")
}
