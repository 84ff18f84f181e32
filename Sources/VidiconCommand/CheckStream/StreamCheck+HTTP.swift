import Media
import MediaInput
import NIOCore

extension StreamCheck {
  private static let httpClients: [StreamClient] = [.players, .safari, .browsers]

  /// Checks a stream over HTTP.
  func checkHTTP() async -> StreamVerdict {
    let (text, credentials) = self.specification.access
    guard let address = HTTPAddress(parsing: text) else {
      let finding = CheckFinding.fault("address", "it cannot be parsed", .advice("check host and port"))
      return StreamVerdict(
        clients: Self.httpClients, findings: [StreamFinding(.connection, finding, blocks: Set(Self.httpClients))])
    }
    return await self.checkHTTP(at: address, credentials)
  }

  /// Checks a stream at an address, and at that over TLS to which the server redirects: its certificate is judged, too.
  private func checkHTTP(
    at address: HTTPAddress, _ credentials: (user: String, password: String)?
  ) async -> StreamVerdict {
    let clients = Self.isWHEP(address) ? [.webRTC] : Self.httpClients
    let (_, inspected, end) = await self.open(
      host: address.host, port: address.port, isEncrypted: address.isEncrypted, protocols: ["h2", "http/1.1"],
      hasCredentials: credentials != nil, clients: clients)
    if let end { return end }
    var visit = HTTPVisit(
      origin: address, credentials: credentials, clientNonce: Self.makeNonce(),
      isVerifying: Self.isVerifying(inspected), deadline: self.deadline)
    var verdict: StreamVerdict
    switch await self.playHTTP(address, &visit, inspected?.observation) {
    case .failure(let failure):
      let connector = ProbeConnector(host: visit.place.host, port: visit.place.port)
      let isTLS =
        if !visit.place.isEncrypted, failure == .closed || failure == .notHTTP {
          await self.speaksTLS(connector)
        } else {
          false
        }
      verdict = self.verdict(isTLS ? .isTLS("https") : failure, connector, clients: clients)
    case .redirect(let next):
      verdict = await self.checkHTTP(at: next, next.getsPassword(of: address) ? credentials : nil)
      verdict.findings.insert(
        StreamFinding(.connection, .ok("redirect", "from \(address.authority) to \(next.authority) over TLS")), at: 0)
    case .verdict(let result): verdict = result
    }
    if credentials != nil, !visit.loginSchemes.isEmpty {
      verdict.findings.append(.login(visit.loginSchemes, isEncrypted: address.isEncrypted))
    }
    if let finding = inspected?.finding { verdict.findings.insert(finding, at: 0) }
    return verdict
  }

  /// Result of the requests for a stream.
  private enum Play {
    case verdict(StreamVerdict)
    case failure(ConnectionFailure)
    /// The server redirects to an address over TLS.
    case redirect(HTTPAddress)
  }

  /// Finds out what an address has, and plays it.
  private func playHTTP(_ address: HTTPAddress, _ visit: inout HTTPVisit, _ tls: TLSObservation?) async -> Play {
    if Self.isWHEP(address) { return await self.openWHEP(address, &visit) }
    switch await visit.request(self.request(for: address), stopsAtTLS: true) {
    case .failure(let failure): return .failure(failure)
    case .success(let (result, place)):
      if place.isEncrypted, !address.isEncrypted { return .redirect(place) }
      // Servers that know HTTP behind TLS say so with this status.
      if result.status == 400, !place.isEncrypted,
        await self.speaksTLS(ProbeConnector(host: place.host, port: place.port))
      {
        return .failure(.isTLS("https"))
      }
      if MotionJPEGObservation.isShown(by: result) { return .verdict(MotionJPEGObservation(result).verdict) }
      if Self.isStreamPage(result, at: place) { return await self.playPage(place, &visit, tls) }
      if Self.isDASH(result, at: place) { return .verdict(Self.unplayedDASH) }
      if let media = await ContainerObservation.open(result, until: self.deadline - Self.reserve) {
        return .verdict(media.verdict)
      }
      return .verdict(await self.playHLS(result, from: place, &visit, tls))
    }
  }

  /// Whether a response is the description of a stream of MPEG-DASH, ISO/IEC 23009-1 Annex C.
  private static func isDASH(_ result: HTTPResult, at address: HTTPAddress) -> Bool {
    result.status == 200
      && (result.contentType == "application/dash+xml" || address.name.lowercased().hasSuffix(".mpd"))
  }

  private static let unplayedDASH = StreamVerdict(
    clients: Self.httpClients,
    findings: [StreamFinding(.playlist, .ok("playlist", "MPEG-DASH, which this check does not play"))],
    success: "not judged: it is MPEG-DASH")

  /// The request for a resource of unknown type, as of a page of another server.
  private func request(for address: HTTPAddress) -> HTTPExchange.Request {
    HTTPExchange.Request(
      address: address, isOfOtherOrigin: true, maximumLength: self.limits.responseLength,
      end: self.deadline - Self.reserve, responseTime: self.limits.response)
  }

  /// Plays HLS from the response to the request for its playlist.
  private func playHLS(
    _ first: HTTPResult, from place: HTTPAddress, _ visit: inout HTTPVisit, _ tls: TLSObservation?
  ) async -> StreamVerdict {
    var probe = HLSProbe(visit: visit, tls: tls, deadline: self.deadline)
    let observation = await probe.run(first, from: place)
    visit = probe.visit
    return observation.verdict
  }

  /// Opens a session for the page of a stream of this program; where the server has no WebRTC, the page plays HLS.
  private func playPage(_ page: HTTPAddress, _ visit: inout HTTPVisit, _ tls: TLSObservation?) async -> Play {
    var probe = WHEPProbe(visit: visit, deadline: self.deadline)
    let session = await probe.run(page.appending("whep"))
    visit = probe.visit
    guard case .success(let observation) = session, [404, 405].contains(observation.status),
      case .success(let (playlist, place)) = await visit.request(self.request(for: page.appending("index.m3u8"))),
      playlist.status != 404
    else { return Self.play(session) }
    var verdict = await self.playHLS(playlist, from: place, &visit, tls)
    let meaning = "off at this server (\(observation.status)), so that the page plays HLS"
    verdict.findings.insert(StreamFinding(.connection, .ok("WebRTC", meaning)), at: 0)
    return .verdict(verdict)
  }

  /// Time that is kept for the end of a check.
  private static let reserve = MediaDuration.milliseconds(700)

  /// Opens a session at a WHEP endpoint.
  private func openWHEP(_ endpoint: HTTPAddress, _ visit: inout HTTPVisit) async -> Play {
    var probe = WHEPProbe(visit: visit, deadline: self.deadline)
    let result = await probe.run(endpoint)
    visit = probe.visit
    return Self.play(result)
  }

  private static func play(_ session: Result<WHEPObservation, ConnectionFailure>) -> Play {
    switch session {
    case .failure(let failure): .failure(failure)
    case .success(let observation): observation.redirect.map { Play.redirect($0) } ?? .verdict(observation.verdict)
    }
  }

  /// Whether an address is one of WHEP by its path.
  private static func isWHEP(_ address: HTTPAddress) -> Bool { address.path.hasSuffix("/whep") }

  /// Whether a response is the page of a stream of this program.
  private static func isStreamPage(_ result: HTTPResult, at address: HTTPAddress) -> Bool {
    // The page without a path lists the streams.
    result.status == 200 && result.contentType == "text/html" && !address.path.allSatisfy({ $0 == "/" })
      && String(buffer: result.body).lowercased().contains("vidicon")
  }
}
