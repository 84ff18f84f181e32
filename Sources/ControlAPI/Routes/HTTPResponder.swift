internal import Authentication
internal import HLSServer
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Serving
internal import Streaming
internal import Threading

/// Routes requests and checks roles: the resources of a ``WebServer``.
///
/// ``WebServer`` has one, and `HTTPServer` calls it: for files of HLS that are ready on the connection's event loop, for all else in a task
/// of the request.
///
/// ```swift
/// try await self.http.start(serving: self.responder)
/// ```
final class HTTPResponder: HTTPApplication {
  /// Connections, for metrics, and the certificate of the local authority.
  let http: HTTPServer
  /// Media of the streams.
  let hls: HLSServer
  let streams: ServedStreams
  let providers: WebServerProviders
  /// Users, tokens and rules.
  let access: AccessControl
  /// Rules of hosts, origins and header fields.
  let policy: HTTPPolicy
  /// Compares passwords with scrypt hashes.
  let passwords: PasswordChecker
  let clock = StreamClock.system
  /// Face events and device controls of the streams.
  let controlled = ControlledStreams()
  /// Recorded files being sent.
  let files: OpenFiles
  /// QR codes that were made; nil where none can be made.
  let qrCodes: QRCodes?
  /// Uploads of images in progress.
  let imageUploads = ImageUploads()
  /// Checks of the machine.
  let checks: CheckReports
  /// Tickets for downloads of recorded files.
  let tickets = DownloadTickets { .random(in: 0...UInt64.max) }

  /// - Parameters:
  ///   - passwords: Compares passwords with scrypt hashes.
  ///   - files: Recorded files being sent.
  ///   - checkInterval: ``HTTPServerLimits/checkInterval``.
  init(
    http: HTTPServer, hls: HLSServer, providers: WebServerProviders, passwords: PasswordChecker, files: OpenFiles,
    checkInterval: MediaDuration
  ) {
    self.http = http
    self.hls = hls
    self.streams = hls.streams
    self.providers = providers
    self.policy = http.policy
    self.access = http.policy.access
    self.passwords = passwords
    self.files = files
    self.checks = CheckReports(interval: checkInterval) { StreamClock.system.now() }
    self.qrCodes = providers.qrCode.map(QRCodes.init)
  }

  func respond(to request: HTTPRequest, client: HTTPClient, body: BodyReader) async -> ServerResponse {
    self.policy.finish(await self.content(for: request, client: client, body: body), for: request)
  }

  func respondAtOnce(to request: HTTPRequest, client: HTTPClient) -> ServerResponse? {
    self.hls.respondAtOnce(to: request, client: client)
  }

  func maximumBodyBytes(method: String, path: String) -> Int? {
    HTTPBodyLimits.maximumBytes(method: method, path: path)
  }

  private func content(for request: HTTPRequest, client: HTTPClient, body: BodyReader) async -> ServerResponse {
    if let refusal = self.policy.refusalOfHost(request) { return refusal }
    var request = request
    request.authority = request.givenHosts.first
    if request.method == .options, request.path == "*" {
      return ServerResponse(.noContent, [.allow: Self.serverMethods])
    }
    var target: HTTPTarget
    do throws(HTTPTarget.Failure) {
      target = try HTTPTarget(parsing: request.path ?? "")
    } catch {
      switch error {
      case .malformed(let reason): return .text(.badRequest, reason)
      case .notFound: return .notFound()
      }
    }
    target.prefix = client.forwardedPrefix(of: request, proxies: self.access.settings.proxies)
    let route = HTTPRoute(
      target.components, names: self.streams.names, renditions: self.streams.renditions)
    var response: ServerResponse
    if let refusal = self.policy.refusalOfOrigin(request, client: client, use: route.crossSiteUse) {
      response = refusal
    } else {
      do throws(HTTPRefusal) {
        response = try await self.content(route, target, request, client: client, body: body)
      } catch {
        if [.tooManyRequests, .serviceUnavailable].contains(error.status) { self.access.refusals.count(.overLimit) }
        response = error.response
      }
    }
    response.sharing = self.policy.sharing(of: route.crossSiteUse)
    return response
  }

  private func content(
    _ route: HTTPRoute, _ target: HTTPTarget, _ request: HTTPRequest, client: HTTPClient, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let isChanging = route.changingMethods.contains(request.method.rawValue)
    switch (request.method, route) {
    case (.get, _) where route.isReadable: break
    case (.head, _) where route.isReadable: break
    case _ where isChanging: break
    case (.options, _): return self.options(of: route, request)
    // 404 for every method, as for GET.
    case (_, .notFound): break
    default: return .text(.methodNotAllowed, "only \(route.methods) are supported", [.allow: route.methods])
    }
    let user = await self.identify(request, target, route: route, client: client, changesState: isChanging)
    if let permission = route.permission(changing: isChanging), !self.hasTicket(target, for: route),
      let refusal = self.refusal(of: permission, to: user)
    {
      return refusal
    }
    guard isChanging, route.permission(changing: true) == .control else {
      return try await self.perform(route, target, request, client: client, user: user, body: body)
    }
    let result: Result<ServerResponse, HTTPRefusal>
    do throws(HTTPRefusal) {
      result = .success(try await self.perform(route, target, request, client: client, user: user, body: body))
    } catch {
      result = .failure(error)
    }
    let status =
      switch result {
      case .success(let response): response.status
      case .failure(let refusal): refusal.status
      }
    self.http.registry.log(
      .controlled(
        method: request.method.rawValue, path: route.controlPath, stream: route.controlledStream, role: user.role,
        address: IPAddress.plainText(user.address), status: status.code))
    return try result.get()
  }

  /// Performs a request of a client that may.
  private func perform(
    _ route: HTTPRoute, _ target: HTTPTarget, _ request: HTTPRequest, client: HTTPClient, user: HTTPUser,
    body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let isOperator = user.role == .operator
    switch (request.method, route) {
    case (.post, .recording(let name)): return try await self.record(name, request, body: body)
    case (.put, .source(let name)):
      return try await self.replaceSources(of: name, request, user: user, body: body)
    case (.put, .rendition(let rendition, let name)):
      return try await self.setRendition(rendition, of: name, request, user: user, body: body)
    case (.delete, .rendition(let rendition, let name)):
      return try await self.removeRendition(rendition, of: name, user: user)
    case (.put, .pushes(let name)): return try await self.setPushes(of: name, request, body: body)
    case (.put, .effects(let name)):
      return try await self.setEffects(of: name, request, isOperator: isOperator, body: body)
    case (.put, .effectImage(let use, let name)):
      return try await self.setImage(for: use, of: name, request, address: user.address, body: body)
    case (.patch, .stream(let name)):
      return try await self.changeStream(name, request, user: user, body: body)
    case (.post, .whep(let name)):
      return try await self.openSession(of: name, request, target, client: client, user: user, body: body)
    case (.patch, .whepSession(let id, let name)):
      return try await self.changeSession(id, of: name, request, body: body)
    case (.delete, .whepSession(let id, let name)): return try await self.closeSession(id, of: name)
    case (.post, .whip(let name)):
      return try await self.openPublication(of: name, request, target, client: client, body: body)
    case (.patch, .whipSession(let id, let name)):
      return try await self.changePublication(id, of: name, request, body: body)
    case (.delete, .whipSession(let id, let name)): return try await self.closePublication(id, of: name)
    case (.post, .qrCode): return try await self.qrCode(ofBody: request, user: user, body: body)
    case (.post, .reload): return try await self.reload(request, user: user, body: body)
    case (.put, .configuration): return try await self.configure(request, body: body)
    case (.post, .check): return try await self.check(request, user: user, body: body)
    case (.post, .session): return try await self.login(request, user: user, body: body)
    case (.delete, .session): return self.endSession(request)
    default: break
    }
    if target.hasTrailingSlash, route != .recordings { return Self.redirect(target) }
    return try await self.respond(route, target, request, user: user)
  }

  private func respond(
    _ route: HTTPRoute, _ target: HTTPTarget, _ request: HTTPRequest, user: HTTPUser
  ) async throws(HTTPRefusal) -> ServerResponse {
    switch route {
    case .health: return .text(.ok, "ok")
    case .metrics: return self.metrics(user: user)
    case .streams: return self.streamList(user: user)
    case .stream(let name): return await self.streamEntry(name, user: user)
    case .source(let name): return self.sources(of: name, user: user)
    case .level(let name): return self.level(of: name)
    case .effects(let name): return self.effects(of: name)
    case .events(let name): return self.faceEvents(of: name)
    case .pushes(let name): return self.pushes(of: name)
    case .publisher(let name): return self.publisherState(of: name, user: user)
    case .devices: return await self.deviceList(user: user)
    case .session: return self.session(of: user)
    case .openAPI: return self.openAPI()
    case .qrCode: return await self.qrCode(target, user: user)
    case .recording(let name): return self.recordingState(of: name, user: user)
    case .recordingList: return try await self.recordingList(target, user: user)
    case .recordedFile(let components): return await self.recordedFile(components, target, user: user)
    case .authority: return self.authority(target, request)
    case .recordings: return self.page(.recordings, from: target)
    case .list: return self.page(.list, from: target)
    case .page: return self.page(.player, from: target)
    case .publish: return self.page(.publish, from: target)
    case .pageFile(let path): return self.page(.file(path), from: target)
    case .snapshot(let name): return try await self.hls.snapshot(of: name, target, user: user)
    case .motionJPEG(let name): return try self.hls.motionJPEG(of: name, target, user: user)
    case .whep(let name): return try self.whepEndpoint(of: name)
    case .file(let file, let name):
      return await self.hls.file(file, of: name, target, request, user: user)
    case .notFound, .effectImage, .reload, .configuration, .check, .rendition, .whepSession, .whip, .whipSession:
      // A browser gets the player page, which reports the missing stream and starts when it appears.
      guard request.headerFields[.accept]?.contains("text/html") == true, !target.components.isEmpty else {
        return .notFound()
      }
      var page = self.page(.player, from: target)
      if page.status == .ok { page.status = .notFound }
      page.etag = nil
      return page
    }
  }

  private static func redirect(_ target: HTTPTarget) -> ServerResponse {
    let query = target.query.isEmpty ? "" : "?\(target.query)"
    return .text(
      .permanentRedirect, "moved to the path without the trailing slash",
      [.location: target.reference(to: LiveStream.path(ofName: target.components.joined(separator: "/"))) + query],
      // A query may have a token, and a prefix is one of this request.
      caching: query.isEmpty && target.prefix == nil ? .seconds(60) : .never)
  }
}
