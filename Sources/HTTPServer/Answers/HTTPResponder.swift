internal import Authentication
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming
internal import Threading

/// Answers requests: what is asked, who asks, and what HTTP itself wants of every answer.
struct HTTPResponder: Sendable {
  let streams: PublishedStreams
  let extras: HTTPServerExtras
  let authenticator: Authenticator
  /// Who may change streams.
  let control: HTTPServerSettings.Control
  let trustsThisMachine: Bool
  let counters = HTTPCounters()
  let gzip = Gzip()
  let clock = StreamClock.system
  /// Connections that are open.
  let connections: ConnectionLoops
  /// Recorded files that are being sent.
  let files: OpenFiles
  /// Images that are being sent.
  let imageUploads = ConcurrencyLimiter(limit: 4)
  /// What devices there are, of those who are not trusted and of those who are.
  let deviceFlights = [false, true].map { _ in
    SingleFlight<HTTPServerDevices.List>(threadName: "devices", timeout: .seconds(10))
  }

  /// Reads the body of a request up to a number of bytes; nil when it is longer, or does not come to its end.
  typealias BodyReader = (_ most: Int) async -> ByteBuffer?

  /// Answers one request.
  ///
  /// - Parameters:
  ///   - client: Where it came from.
  ///   - body: Reads its body; called at most once.
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
    default: return .text(.methodNotAllowed, "only \(route.methods) are answered", [.allow: route.methods])
    }
    // A supervisor asks whether the server lives; that is no secret.
    if route != .health, let refusal = self.refusal(of: request) { return refusal }
    let isTrusted = self.isTrusted(client, request)
    if request.method != .get, request.method != .head, !self.maySteer(isTrusted: isTrusted) {
      return self.steeringRefusal
    }
    switch (request.method, route) {
    case (.post, .recording(let name)): return await self.record(name, request, body: body)
    case (.put, .source(let name)):
      return await self.replaceSources(of: name, request, isTrusted: isTrusted, body: body)
    case (.put, .effects(let name)):
      return await self.setEffects(of: name, request, isTrusted: isTrusted, body: body)
    case (.put, .effectImage(let use, let name)):
      return await self.setImage(for: use, of: name, request, body: body)
    case (.patch, .stream(let name)):
      return await self.changeStream(name, request, isTrusted: isTrusted, body: body)
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
    case .streams: return self.streamList(isTrusted: self.isTrusted(client, request))
    case .stream(let name): return await self.streamEntry(name, isTrusted: self.isTrusted(client, request))
    case .source(let name): return self.sources(of: name, isTrusted: self.isTrusted(client, request))
    case .level(let name): return self.level(of: name)
    case .effects(let name): return self.effects(of: name)
    case .events(let name): return self.faceEvents(of: name)
    case .devices: return await self.deviceList(isTrusted: self.isTrusted(client, request))
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
      // A browser gets the page, which says that the stream is not there, and plays when it is.
      guard request.headerFields[.accept]?.contains("text/html") == true, !target.components.isEmpty else {
        return .notFound()
      }
      var page = self.page(.player)
      if page.status == .ok { page.status = .notFound }
      page.etag = nil
      return page
    }
  }

  /// Who may not watch is asked for a password.
  private func refusal(of request: HTTPRequest) -> HTTPAnswer? {
    let now = self.clock.now()
    let asked = request.path ?? ""
    let verdict = self.authenticator.judge(
      method: request.method.rawValue, authorization: request.headerFields[values: .authorization],
      covers: { HTTPTarget.isSame($0, asked) }, now: now)
    guard case .rejected(let stale) = verdict else { return nil }
    var answer = HTTPAnswer.text(.unauthorized, "a name and a password are needed")
    for challenge in self.authenticator.challenges(stale: stale, now: now) {
      answer.fields.append(HTTPField(name: .wwwAuthenticate, value: challenge))
    }
    return answer
  }

  /// What can be done with a route.
  private static func options(of route: HTTPRoute) -> HTTPAnswer {
    // Without a word on other origins a browser does not let their pages ask.
    var answer = route.isForSameOrigin ? HTTPAnswer(.noContent) : Self.preflight
    answer.fields[.allow] = route.methods
    return answer
  }

  /// What a browser asks before it lets another server's page ask, Fetch §3.3.
  private static let preflight = HTTPAnswer(
    .noContent,
    [
      .allow: HTTPRoute.list.methods, .accessControlAllowMethods: HTTPRoute.list.methods,
      // The star is all but Authorization, which is to be named.
      .accessControlAllowHeaders: "Authorization, If-None-Match, If-Range, Range, *", .accessControlMaxAge: "86400",
    ])

  private static func redirect(_ target: HTTPTarget) -> HTTPAnswer {
    let query = target.query.isEmpty ? "" : "?\(target.query)"
    return .text(
      .permanentRedirect, "without the slash at the end",
      [.location: LiveStream.path(ofName: target.components.joined(separator: "/")) + query], caching: .seconds(60))
  }
}
