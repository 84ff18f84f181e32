package import Authentication
package import HTTPTypes
internal import Media
internal import NIOCore
internal import Threading

/// Rules for every request and response of a server, whatever the resource: hosts, origins, and the fields that HTTP requires.
package struct HTTPPolicy: Sendable {
  /// Users, tokens and rules.
  package let access: AccessControl
  /// Responses by status.
  package let counters = HTTPCounters()
  private let gzip = Gzip()
  private let clock = StreamClock.system

  /// Creates the rules from those of access, which other protocols share.
  package init(access: AccessControl) {
    self.access = access
  }

  /// Adds what the request and HTTP require, and counts the response.
  package func finish(_ response: ServerResponse, for request: HTTPRequest) -> ServerResponse {
    let now = self.clock.unixTime(at: self.clock.now())
    let finished = self.uncounted(response, for: request, unixNanoseconds: now)
    self.counters.count(finished.status)
    if HTTPRefusal.malformedStatuses.contains(finished.status) { self.access.refusals.count(.malformed) }
    return finished
  }

  /// Adds what the request and HTTP require.
  package func uncounted(
    _ response: ServerResponse, for request: HTTPRequest, unixNanoseconds: Int64
  ) -> ServerResponse {
    let context = ServerResponse.Context(
      date: self.counters.date(unixNanoseconds: unixNanoseconds), unixSeconds: unixNanoseconds / 1_000_000_000,
      isPrivate: self.access.isWatchingProtected || request.hasCredentials, originPolicy: self.access.originPolicy
    ) { [gzip] body, etag in
      etag.map { gzip.compressed(body, etag: $0) } ?? Gzip.compress(body)
    }
    return response.finished(for: request, context)
  }

  /// The response to a request for a host name that is not this server's; nil when it may proceed.
  ///
  /// HTTP/1.0 without `Host` may only read: a page in a browser always sends `Host`. A request may give two names, in an
  /// absolute target (RFC 9112 §3.2.2) or `:authority` and in `Host` (RFC 9113 §8.3.1): both must be this server's, and the
  /// same.
  package func refusalOfHost(_ request: HTTPRequest) -> ServerResponse? {
    let hosts = request.givenHosts
    if hosts.isEmpty, ![.get, .head, .options].contains(request.method) {
      self.access.refuseHost("", now: self.clock.now())
      return .text(.misdirectedRequest, "a request without Host may only read")
    }
    let foreign = hosts.first { host in
      Authority(parsing: host).map { !self.access.hostPolicy.allows($0) } ?? true
    }
    if let foreign {
      self.access.refuseHost(foreign, now: self.clock.now())
      return .text(
        .misdirectedRequest, "this host name is not one of this server's; start the server with --host NAME to allow it"
      )
    }
    guard hosts.count > 1 else { return nil }
    let defaultPort: UInt16 = request.scheme == "https" ? 443 : 80
    let names = Set(hosts.compactMap { Authority(parsing: $0) }.map { "\($0.host):\($0.port ?? defaultPort)" })
    guard names.count > 1 else { return nil }
    self.access.refuseHost(hosts.last ?? "", now: self.clock.now())
    return .text(.misdirectedRequest, "the host of the target and that of the field Host differ")
  }

  /// The response to a request of a web page of another site; nil when it may proceed.
  ///
  /// A proxy that forwards another `Host` than its client's makes the `Origin` of this server's own pages look foreign. They are
  /// recognized by the authority that a known proxy forwards, or by `Sec-Fetch-Site`, W3C Fetch Metadata §2.3: browsers set the field
  /// themselves, and only over HTTPS and on the machine itself, where no other page has the name of the server.
  package func refusalOfOrigin(_ request: HTTPRequest, client: HTTPClient, use: CrossSiteUse) -> ServerResponse? {
    let origins = request.headerFields[values: .origin]
    guard !origins.isEmpty else { return nil }
    let forwarded = client.forwardedAuthority(of: request, proxies: self.access.settings.proxies)
    let authorities = [
      request.authority.flatMap { Authority(parsing: $0) },
      forwarded.flatMap { self.access.hostPolicy.allows($0) ? $0 : nil },
    ].compactMap(\.self)
    let isOwnPage = request.headerFields[values: .secFetchSite] == ["same-origin"]
    let isAllowed = origins.allSatisfy { origin in
      if isOwnPage && Origin(parsing: origin) != nil { return true }
      if authorities.contains(where: { OriginPolicy.isSame(origin, as: $0) }) { return true }
      return use.isMedia && self.access.originPolicy.allowedOrigin(for: origin) != nil
    }
    if isAllowed { return nil }
    // Pages of every site show images; what is open says nothing.
    let isReading = [.get, .head].contains(request.method)
    if isReading, use == .open || (use == .image && self.access.settings.allowsEmbedding) { return nil }
    self.access.refuseOrigin()
    return .text(.forbidden, "pages of other sites may not request this; start the server with --cors ORIGIN for media")
  }

  /// The web pages that may use the responses of a resource.
  package func sharing(of use: CrossSiteUse) -> HTTPSharing {
    let isEmbeddable = use == .image && self.access.settings.allowsEmbedding
    if use.isMedia, !self.access.settings.corsOrigins.isEmpty {
      return .crossOrigin(isEmbeddable: isEmbeddable || use != .image)
    }
    return isEmbeddable ? .embeddable : .sameOrigin
  }
}

extension HTTPRequest {
  /// The authority and the values of `Host`, those that are empty left out.
  package var givenHosts: [String] {
    ([self.authority ?? ""] + self.headerFields[values: .hostField]).filter { !$0.isEmpty }
  }

  /// Whether it has credentials, valid or not: its response is for its client, and not for shared caches.
  package var hasCredentials: Bool {
    if self.headerFields[.authorization] != nil || self.headerFields[.cookie] != nil { return true }
    guard let path = self.path, let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return false }
    return path[mark...].utf8.dropFirst().split(separator: UInt8(ascii: "&")).contains { pair in
      pair.starts(with: "token=".utf8) || pair.starts(with: "ticket=".utf8)
    }
  }
}

extension HTTPField.Name {
  // Safe because these are valid names.
  fileprivate static let hostField = HTTPField.Name("Host")!
  /// The field of W3C Fetch Metadata §2.3.
  package static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}

/// Uses of a resource by web pages of other sites, as far as the settings of access allow them.
package enum CrossSiteUse: Hashable, Sendable {
  /// None: requests of other sites' pages are refused.
  case none
  /// Reading, without a setting: the resource says nothing of the server.
  case open
  /// Reading by pages of the sites of `--cors`.
  case media
  /// Reading as of ``media``; pages of every site may show it where embedding is allowed.
  case image

  /// Whether pages of the sites of `--cors` may read it.
  package var isMedia: Bool { self == .media || self == .image }
}
