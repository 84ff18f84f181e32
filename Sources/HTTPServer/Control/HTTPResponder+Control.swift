internal import Authentication
internal import HTTPTypes
internal import NIOCore
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// Bytes of a change: two addresses, or a value for each control of a camera, with room to spare.
  private static let mostChangeBytes = 16 * 1024

  /// Whether who asks may choose any source, and is told folders: a program of this machine, or somebody with a password.
  func isTrusted(_ client: HTTPClient, _ request: HTTPRequest) -> Bool {
    !self.authenticator.credentials.isEmpty || (self.trustsThisMachine && client.isOnThisMachine(request))
  }

  /// Whether who asks may change streams.
  func maySteer(isTrusted: Bool) -> Bool {
    switch self.control {
    case .all: true
    case .local: isTrusted
    case .none: false
    }
  }

  /// What those are told who may not.
  var steeringRefusal: HTTPAnswer {
    .text(
      .forbidden,
      self.control == .none
        ? "streams cannot be changed here; start the server with --control all or local"
        : "streams are changed from this machine only, or with a password; start the server with --user NAME:PASSWORD")
  }

  /// `GET /api/devices`.
  func deviceList(isTrusted: Bool) async -> HTTPAnswer {
    guard let devices = self.extras.devices else { return .text(.notImplemented, "there are no devices here") }
    guard let list = await self.deviceFlights[isTrusted ? 1 : 0].run({ devices.list(isTrusted) }) else {
      return .text(.serviceUnavailable, "a device does not answer; ask again", [.retryAfter: "10"])
    }
    return Self.json(DeviceList(list))
  }

  /// `GET /api/streams/NAME/level`.
  func level(of name: String) -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let control = self.extras.control(stream.stream) else { return Self.noControl }
    return Self.json(StreamEntry.Level(control.state(false)))
  }

  /// `GET /api/streams/NAME/source`.
  func sources(of name: String, isTrusted: Bool) -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let control = self.extras.control(stream.stream) else { return Self.noControl }
    return Self.json(StreamEntry.Source(control.state(isTrusted)))
  }

  /// `GET /api/streams/NAME`.
  func streamEntry(_ name: String, isTrusted: Bool) async -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    var entry = self.entry(of: stream, at: self.clock.now(), isTrusted: isTrusted)
    if let control = self.extras.control(stream.stream), control.state(isTrusted).hasControls,
      let controls = await stream.controls.run(control.controls)
    {
      entry.setControls(controls)
    }
    return Self.json(entry)
  }

  /// `PUT /api/streams/NAME/source`.
  func replaceSources(of name: String, _ request: HTTPRequest, isTrusted: Bool, body: BodyReader) async -> HTTPAnswer {
    await self.change(name, request, mediaTypes: ["application/json"], isTrusted: isTrusted, body: body) {
      (json, control, _) throws(HTTPBodyError) in
      let sources = try HTTPServerControl.Sources(json)
      do throws(HTTPServerControl.Failure) {
        try await control.replace(sources, isTrusted)
      } catch {
        throw HTTPBodyError(error)
      }
    }
  }

  /// `PATCH /api/streams/NAME`.
  func changeStream(_ name: String, _ request: HTTPRequest, isTrusted: Bool, body: BodyReader) async -> HTTPAnswer {
    let mediaTypes = ["application/merge-patch+json", "application/json"]
    return await self.change(name, request, mediaTypes: mediaTypes, isTrusted: isTrusted, body: body) {
      (json, control, stream) throws(HTTPBodyError) in
      let change = try HTTPServerControl.Change(json, startBitrate: stream.videoSettings.bitrate)
      do throws(HTTPServerControl.Failure) {
        try await control.change(change)
      } catch {
        throw HTTPBodyError(error)
      }
    }
  }

  /// Reads an order and carries it out; answers with the stream as it is then.
  ///
  /// Only JSON is taken: pages of other servers can send a form without being asked, and nothing else (Fetch §2.2.2).
  private func change(
    _ name: String, _ request: HTTPRequest, mediaTypes: [String], isTrusted: Bool, body: BodyReader,
    _ perform: (JSONValue, HTTPServerControl, LiveStream) async throws(HTTPBodyError) -> Void
  ) async -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let control = self.extras.control(stream.stream) else { return Self.noControl }
    let bytes: ByteBuffer
    do throws(HTTPRefusal) {
      bytes = try await self.order(in: request, of: mediaTypes, most: Self.mostChangeBytes, body: body)
    } catch {
      return error.answer
    }
    guard let json = JSONValue(parsing: bytes) else {
      return .text(.badRequest, "the body is no JSON")
    }
    do throws(HTTPBodyError) {
      try await perform(json, control, stream.stream)
    } catch {
      return .refusal(error)
    }
    return await self.streamEntry(name, isTrusted: isTrusted)
  }

  /// The body of an order.
  ///
  /// - Throws: ``HTTPRefusal`` of one that is of another type, or too long.
  func order(
    in request: HTTPRequest, of mediaTypes: [String], most: Int, body: BodyReader
  ) async throws(HTTPRefusal) -> ByteBuffer {
    let mediaType = request.headerFields[.contentType]?.prefix { $0 != ";" }.trimmingSpace() ?? ""
    guard mediaTypes.contains(where: { mediaType.equalsIgnoringCase($0) }) else {
      let known = mediaTypes.joined(separator: ", ")
      let field: HTTPField.Name = request.method == .patch ? .acceptPatch : .accept
      throw HTTPRefusal(
        .text(.unsupportedMediaType, "the body is \(mediaTypes.joined(separator: " or "))", [field: known]))
    }
    guard let bytes = await body(most) else {
      throw HTTPRefusal(.text(.contentTooLarge, "a body of more than \(most) bytes"))
    }
    return bytes
  }

  private static let noControl = HTTPAnswer.text(.notImplemented, "this stream cannot be changed here")
}

extension HTTPBodyError {
  /// What a failure is over HTTP.
  init(_ failure: HTTPServerControl.Failure) {
    let status: HTTPResponse.Status =
      switch failure.code {
      case .invalid: .badRequest
      case .notPermitted: .forbidden
      case .wrongState: .conflict
      case .failed: .badGateway
      case .busy: .serviceUnavailable
      }
    self.init(status, failure.reason)
  }
}

extension HTTPAnswer {
  /// Nothing was changed.
  static func refusal(_ error: HTTPBodyError) -> HTTPAnswer {
    .text(error.status, error.reason, error.status == .serviceUnavailable ? [.retryAfter: "5"] : [:])
  }
}

extension HTTPField.Name {
  /// RFC 5789 §3.1.
  // No trap: it is a token.
  fileprivate static let acceptPatch = HTTPField.Name("Accept-Patch")!
}
