internal import Authentication
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Serving
internal import StreamControl
internal import Threading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPResponder {
  /// Methods of all routes, for `OPTIONS *`.
  static let serverMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

  /// Responds to OPTIONS; to a CORS preflight request (Fetch §3.3) only of a site of `--cors` for media.
  func options(of route: HTTPRoute, _ request: HTTPRequest) -> ServerResponse {
    var response = ServerResponse(.noContent, [.allow: route.methods])
    switch route {
    case .whep, .whip: response.fields[.acceptPost] = Self.offerType
    default: break
    }
    guard route.isMedia, self.access.originPolicy.allowedOrigin(for: request.headerFields[.origin]) != nil else {
      return response
    }
    response.fields[.accessControlAllowMethods] = "GET, HEAD, POST, PATCH, DELETE, OPTIONS"
    response.fields[.accessControlAllowHeaders] =
      "Authorization, Content-Type, If-Match, If-None-Match, If-Range, Range"
    response.fields[.accessControlMaxAge] = "86400"
    return response
  }

  /// Verifies the credentials of a request.
  func identify(
    _ request: HTTPRequest, _ target: HTTPTarget, route: HTTPRoute, client: HTTPClient, changesState: Bool
  ) async -> HTTPUser {
    let isOnThisMachine = client.isOnThisMachine(request)
    let address = client.effectiveAddress(of: request, proxies: self.access.settings.proxies)
    let allowsBasic =
      client.isSecure(request, proxies: self.access.settings.proxies) || isOnThisMachine
      || self.access.settings.allowsInsecureBasic
    let isReading = request.method == .get || request.method == .head
    // Pages of other sites can make a browser send wrong tokens, which must not slow its owner's logins down.
    let isOpenMedia = route.isMedia && !self.access.isWatchingProtected
    var accessRequest = AccessRequest(
      method: request.method.rawValue, authorization: request.headerFields[values: .authorization],
      // A token in a URL, which links and logs contain, is accepted for reading only.
      token: isReading && !isOpenMedia ? target.parameter("token") : nil, address: address,
      isOnThisMachine: isOnThisMachine, allowsBasic: allowsBasic, changesState: changesState,
      isCrossSite: request.headerFields[.secFetchSite] == "cross-site")
    var now = self.clock.now()
    if let check = self.access.passwordCheck(for: accessRequest, now: now) {
      if case .refused(let delay) = await self.passwords.run(check) { accessRequest.refusedCheck = delay }
      now = self.clock.now()
    }
    // A client behind a proxy proves the path that it has requested there.
    let requested = (target.prefix ?? "") + (request.path ?? "")
    let identification = self.access.identify(
      accessRequest, covers: { HTTPTarget.isSame($0, requested) }, now: now)
    return HTTPUser(
      identification: identification,
      role: self.access.role(of: identification, isOnThisMachine: isOnThisMachine), address: address,
      isOnThisMachine: isOnThisMachine, allowsBasic: allowsBasic)
  }

  /// 401, 403 or 429 when a client lacks a permission; nil when it may proceed.
  func refusal(of permission: Permission, to user: HTTPUser) -> ServerResponse? {
    // Publishers have the token, also where programs on this machine control without one: pages in its browsers could post an offer.
    let isOnThisMachine = user.isOnThisMachine && !permission.isPublishing
    let decision = self.access.decide(permission, for: user.identification, isOnThisMachine: isOnThisMachine)
    switch decision {
    case .allowed: return nil
    case .forbidden: return .text(.forbidden, self.reasonOfForbidden(permission))
    case .throttled(let delay): return Self.throttled(delay)
    case .unauthorized(let stale):
      var response = ServerResponse.text(.unauthorized, permission.requirement)
      let challenges = self.access.challenges(
        for: permission, stale: stale, address: user.address, allowsBasic: user.allowsBasic, now: self.clock.now())
      for challenge in challenges { response.fields.append(HTTPField(name: .wwwAuthenticate, value: challenge)) }
      return response
    }
  }

  private func reasonOfForbidden(_ permission: Permission) -> String {
    if permission.isPublishing {
      return "this user may not publish this stream: see \"Publish\" on the server's terminal for the token"
    }
    if permission == .configure {
      return "the configuration is not for operators to give: run \"systemctl reload vidicon\" on the server's machine"
    }
    return self.access.settings.control == .none && permission == .control
      ? "streams cannot be changed here; start the server without --control none"
      : "this user is not an operator; log in with --operator's name and password, or the token of the terminal"
  }

  private static func throttled(_ delay: MediaDuration) -> ServerResponse {
    .text(
      .tooManyRequests, "too many wrong passwords, or logins at once; wait before the next one",
      [.retryAfter: "\(delay.secondsRoundedUp)"])
  }

  /// Whether a client may change streams.
  func mayControl(_ user: HTTPUser) -> Bool {
    self.mayControl(user.role)
  }

  private func mayControl(_ role: Role?) -> Bool {
    switch self.access.settings.control {
    case .none: false
    case .all: role == .operator || role == .viewer
    case .operators, .machine: role == .operator
    }
  }

  /// Method by which a client can log in to control.
  func login(of user: HTTPUser) -> LoginMethod {
    self.access.settings.control == .none ? .none : user.allowsBasic ? .password : .token
  }

  /// Group of clients to which the sources' names are shown as to this one.
  func audience(_ user: HTTPUser) -> SourceAudience {
    user.role == .operator ? .operators : self.mayControl(user) ? .controllingViewers : .viewers
  }

  /// Whether a client may list and download recordings.
  func mayReadRecordings(_ user: HTTPUser) -> Bool {
    user.role == .operator || user.role == .viewer && self.access.settings.recordings == .viewers
  }

  // Sessions.

  /// Maximum length of a login, in bytes.
  private static let maximumLoginLength = 1024

  /// `GET /api/session`.
  func session(of user: HTTPUser) -> ServerResponse {
    Self.json(SessionEntry(role: user.role?.name, steerable: self.mayControl(user), login: self.login(of: user)))
  }

  /// `POST /api/session`: a name and a password for a token.
  ///
  /// A password in plain text is accepted where Basic is: not over HTTP without TLS from other machines.
  func login(
    _ request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard user.allowsBasic else {
      throw HTTPRefusal(
        .forbidden,
        "this connection is not encrypted, so passwords are not accepted: use HTTPS, or the address behind \"Control\" on "
          + "the server's terminal, or start the server with --insecure-basic")
    }
    let bytes = try await self.readBody(
      of: request, as: ["application/json"], maximumLength: Self.maximumLoginLength, from: body)
    guard let login = try? JSONDecoder().decode(LoginBody.self, from: Data(bytes.readableBytesView)) else {
      throw HTTPRefusal(#"the body is {"name": NAME, "password": PASSWORD}"#)
    }
    let password = Secret(login.password)
    var (now, refusedCheck) = (self.clock.now(), MediaDuration?.none)
    if let check = self.access.passwordCheck(
      user: login.name, password: password, address: user.address, now: now)
    {
      if case .refused(let delay) = await self.passwords.run(check) { refusedCheck = delay }
      now = self.clock.now()
    }
    let result = self.access.login(
      user: login.name, password: password, address: user.address, refusedCheck: refusedCheck, now: now)
    switch result {
    case .token(let token, let role):
      return Self.json(
        SessionEntry(
          role: role.name, steerable: self.mayControl(role), login: self.login(of: user), token: token.text))
    case .rejected: return .text(.forbidden, "the name or the password is wrong")
    case .throttled(let delay): return Self.throttled(delay)
    }
  }

  /// `DELETE /api/session`: ends the session of the request's token.
  func endSession(_ request: HTTPRequest) -> ServerResponse {
    let value = request.headerFields[.authorization] ?? ""
    if value.lowercased().hasPrefix("bearer ") { self.access.endSession(value.dropFirst(7).trimmingSpace()) }
    return ServerResponse(.noContent)
  }
}

extension Permission {
  /// Whether it is the permission to send a stream.
  fileprivate var isPublishing: Bool {
    if case .publish = self { true } else { false }
  }

  /// The line for a client without the credentials that it needs.
  fileprivate var requirement: String {
    switch self {
    case .watch: "a name and a password are required"
    case .publish: "a publisher's token is required: see \"Publish\" on the server's terminal"
    case .configure: "root's token is required: run \"systemctl reload vidicon\" on the server's machine"
    case .control, .readRecordings, .readPublisher:
      "an operator's password or token is required: see \"Control\" on the server's terminal"
    }
  }
}

/// Body of `POST /api/session`.
private struct LoginBody: Decodable {
  var name: String
  var password: String
}
