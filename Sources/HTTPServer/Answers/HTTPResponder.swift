internal import Authentication
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming
internal import Threading

/// Routes requests, checks roles, and finishes responses with the fields that HTTP requires.
struct HTTPResponder: Sendable {
  let streams: PublishedStreams
  let providers: HTTPServerProviders
  let authenticator: Authenticator
  /// Clients with the operator role.
  let control: HTTPServerSettings.Control
  let trustsThisMachine: Bool
  let counters = HTTPCounters()
  let gzip = Gzip()
  let clock = StreamClock.system
  /// Open connections, for metrics.
  let connections: ConnectionLoops
  /// Recorded files being sent.
  let files: OpenFiles
  /// Uploads of images in progress.
  let imageUploads = ImageUploads()

  /// Reads the body of a request; nil when it is longer than `maximumBytes` or incomplete.
  typealias BodyReader = (_ maximumBytes: Int) async -> ByteBuffer?

  /// Responds to one request.
  ///
  /// - Parameters:
  ///   - client: Addresses of the connection.
  ///   - body: Reads the request body; called at most once.
  func answer(_ request: HTTPRequest, client: HTTPClient, body: BodyReader) async -> HTTPAnswer {
    let answer = await self.content(for: request, client: client, body: body)
    let now = self.clock.unixTime(at: self.clock.now())
    let context = HTTPAnswer.Context(
      date: self.counters.date(unixNanoseconds: now), unixSeconds: now / 1_000_000_000,
      isPrivate: !self.authenticator.credentials.isEmpty
    ) { [gzip] body, etag in
      etag.map { gzip.compressed(body, etag: $0) } ?? Gzip.compress(body)
    }
    let finished = answer.finished(for: request, context)
    self.counters.count(finished.status)
    return finished
  }

  private func content(for request: HTTPRequest, client: HTTPClient, body: BodyReader) async -> HTTPAnswer {
    if request.method == .options, request.path == "*" { return Self.preflight }
    let target: HTTPTarget
    do throws(HTTPTarget.Failure) {
      target = try HTTPTarget(parsing: request.path ?? "")
    } catch {
      switch error {
      case .malformed(let reason): return .text(.badRequest, reason)
      case .notFound: return .notFound()
      }
    }
    let route = HTTPRoute(target.components, names: self.streams.names)
    var answer = await self.content(route, target, request, client: client, body: body)
    answer.isForSameOrigin = route.isForSameOrigin || request.method == .patch
    return answer
  }

  private func content(
    _ route: HTTPRoute, _ target: HTTPTarget, _ request: HTTPRequest, client: HTTPClient, body: BodyReader
  ) async -> HTTPAnswer {
    switch (request.method, route) {
    case (.get, _) where route.isReadable: break
    case (.head, _) where route.isReadable: break
    case (let method, _) where method.rawValue == route.changingMethod: break
    case (.options, _): return Self.options(of: route)
    default: return .text(.methodNotAllowed, "only \(route.methods) are supported", [.allow: route.methods])
    }
    // `/health` needs no password: supervisors request it.
    if route != .health, let refusal = self.refusal(of: request) { return refusal }
    let isOperator = self.isOperator(client, request)
    if request.method != .get, request.method != .head, !self.maySteer(isOperator: isOperator) {
      return self.steeringRefusal
    }
    switch (request.method, route) {
    case (.post, .recording(let name)): return await self.record(name, request, body: body)
    case (.put, .source(let name)):
      return await self.replaceSources(of: name, request, isOperator: isOperator, body: body)
    case (.put, .effects(let name)):
      return await self.setEffects(of: name, request, isOperator: isOperator, body: body)
    case (.put, .effectImage(let use, let name)):
      return await self.setImage(for: use, of: name, request, client: client, body: body)
    case (.patch, .stream(let name)):
      return await self.changeStream(name, request, isOperator: isOperator, body: body)
    default: break
    }
    if target.hasTrailingSlash, route != .recordings { return Self.redirect(target) }
    return await self.answer(route, target, request, client: client)
  }

  private func answer(
    _ route: HTTPRoute, _ target: HTTPTarget, _ request: HTTPRequest, client: HTTPClient
  ) async -> HTTPAnswer {
    switch route {
    case .health: return .text(.ok, "ok")
    case .metrics: return self.metrics()
    case .streams: return self.streamList(isOperator: self.isOperator(client, request))
    case .stream(let name): return await self.streamEntry(name, isOperator: self.isOperator(client, request))
    case .source(let name): return self.sources(of: name, isOperator: self.isOperator(client, request))
    case .level(let name): return self.level(of: name)
    case .effects(let name): return self.effects(of: name)
    case .events(let name): return self.faceEvents(of: name)
    case .devices: return await self.deviceList(isOperator: self.isOperator(client, request))
    case .openAPI: return self.openAPI()
    case .qrCode: return self.qrCode(target)
    case .recording(let name): return self.recordingState(of: name)
    case .recordingList: return await self.recordingList(target)
    case .recordedFile(let components): return await self.recordedFile(components)
    case .recordings: return self.page(.recordings)
    case .list: return self.page(.list)
    case .page: return self.page(.player)
    case .pageFile(let path): return self.page(.file(path))
    case .snapshot(let name): return await self.snapshot(of: name, target)
    case .motionJPEG(let name): return self.motionJPEG(of: name, target)
    case .file(let file, let name):
      return await self.file(file, of: name, target, request, client: client.address)
    case .notFound, .effectImage:
      // A browser gets the player page, which reports the missing stream and starts when it appears.
      guard request.headerFields[.accept]?.contains("text/html") == true, !target.components.isEmpty else {
        return .notFound()
      }
      var page = self.page(.player)
      if page.status == .ok { page.status = .notFound }
      page.etag = nil
      return page
    }
  }

  /// 401 with challenges when the request lacks valid credentials; nil when it may proceed.
  private func refusal(of request: HTTPRequest) -> HTTPAnswer? {
    let now = self.clock.now()
    let requested = request.path ?? ""
    let verdict = self.authenticator.judge(
      method: request.method.rawValue, authorization: request.headerFields[values: .authorization],
      covers: { HTTPTarget.isSame($0, requested) }, now: now)
    guard case .rejected(let stale) = verdict else { return nil }
    var answer = HTTPAnswer.text(.unauthorized, "a name and a password are required")
    for challenge in self.authenticator.challenges(stale: stale, now: now) {
      answer.fields.append(HTTPField(name: .wwwAuthenticate, value: challenge))
    }
    return answer
  }

  /// Responds to OPTIONS.
  private static func options(of route: HTTPRoute) -> HTTPAnswer {
    // Without CORS fields a browser blocks requests of other origins.
    var answer = route.isForSameOrigin ? HTTPAnswer(.noContent) : Self.preflight
    answer.fields[.allow] = route.methods
    return answer
  }

  /// The response to a CORS preflight request, Fetch §3.3.
  private static let preflight = HTTPAnswer(
    .noContent,
    [
      .allow: HTTPRoute.list.methods, .accessControlAllowMethods: HTTPRoute.list.methods,
      // `*` does not include Authorization.
      .accessControlAllowHeaders: "Authorization, If-None-Match, If-Range, Range, *", .accessControlMaxAge: "86400",
    ])

  private static func redirect(_ target: HTTPTarget) -> HTTPAnswer {
    let query = target.query.isEmpty ? "" : "?\(target.query)"
    return .text(
      .permanentRedirect, "moved to the path without the trailing slash",
      [.location: LiveStream.path(ofName: target.components.joined(separator: "/")) + query], caching: .seconds(60))
  }
}
