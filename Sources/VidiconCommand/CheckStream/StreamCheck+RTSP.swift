import Media
import MediaInput
import RTSP
import Threading

extension StreamCheck {
  private static let rtspClients: [StreamClient] = [.players, .webRTC]
  /// Maximum number of redirects of a stream.
  private static let maximumRedirectCount = 3

  /// A stream of an RTSP server.
  private struct RTSPPlace {
    /// The absolute URL without user and password.
    var url: String
    var host: String
    var port: Int
    var isEncrypted: Bool

    init(_ specification: NetworkSpecification) {
      self.url = specification.access.url
      self.host = specification.host
      self.isEncrypted = specification.scheme == "rtsps"
      self.port = specification.port ?? (self.isEncrypted ? 322 : 554)
    }

    /// Host and port for messages.
    var authority: String { ProbeConnector(host: self.host, port: self.port).place }

    /// Whether a password for another place may go to this one: to that of the same server, and to that of the same host over TLS in
    /// place of none.
    func getsPassword(of other: RTSPPlace) -> Bool {
      guard self.host.lowercased() == other.host.lowercased() else { return false }
      return self.isEncrypted == other.isEncrypted ? self.port == other.port : self.isEncrypted
    }

    /// The place that a redirect of this one leads to.
    func redirected(to location: String?) -> Result<RTSPPlace, ConnectionFailure.Redirect> {
      guard let specification = location.flatMap({ try? NetworkSpecification(parsing: $0) }),
        ["rtsp", "rtsps"].contains(specification.scheme)
      else { return .failure(.invalid) }
      let next = RTSPPlace(specification)
      return next.isEncrypted || !self.isEncrypted ? .success(next) : .failure(.insecure)
    }
  }

  /// Checks a stream over RTSP, at the address that the server redirects to where it does.
  func checkRTSP() async -> StreamVerdict {
    let origin = RTSPPlace(self.specification)
    var place = origin
    var redirects: [StreamFinding] = []
    while true {
      let (verdict, target) = await self.checkRTSP(
        at: place, place.getsPassword(of: origin) ? self.specification.access.credentials : nil,
        follows: redirects.count < Self.maximumRedirectCount)
      guard let next = target else {
        var whole = verdict
        whole.findings.insert(contentsOf: redirects, at: 0)
        return whole
      }
      redirects.append(
        StreamFinding(.connection, .ok("redirect", "from \(place.authority) to \(next.authority)")))
      place = next
    }
  }

  /// Checks a stream at one place.
  ///
  /// - Parameter follows: Whether a redirect is followed.
  /// - Returns: The verdict, and the place that the server redirects to; nil where there is none to follow.
  private func checkRTSP(
    at place: RTSPPlace, _ credentials: (user: String, password: String)?, follows: Bool
  ) async -> (StreamVerdict, RTSPPlace?) {
    let clients = Self.rtspClients
    let (connector, inspected, end) = await self.open(
      host: place.host, port: place.port, isEncrypted: place.isEncrypted, hasCredentials: credentials != nil,
      clients: clients)
    if let end { return (end, nil) }
    let request = RTSPProbe.Request(
      url: place.url,
      credentials: credentials.map { RTSPClientSession.Credentials(user: $0.user, password: $0.password) },
      isEncrypted: place.isEncrypted,
      clientNonce: Self.makeNonce(), deadline: self.deadline, playTime: self.limits.play)
    let result = await self.playRTSP(request, over: connector)
    let isUnanswered =
      switch result {
      case .failure(let failure): failure == .closed
      case .success(let observation): observation.exchanges.isEmpty && observation.failure != nil
      }
    if isUnanswered, await self.speaksTLS(connector) {
      return (self.verdict(.isTLS("rtsps"), connector, clients: clients), nil)
    }
    switch result {
    case .failure(let failure): return (self.verdict(failure, connector, clients: clients), nil)
    case .success(var observation):
      if observation.redirectStatus != nil {
        switch place.redirected(to: observation.location) {
        case .success(let next) where follows: return (observation.verdict, next)
        case .success: observation.redirectProblem = .tooMany
        case .failure(let problem): observation.redirectProblem = problem
        }
      }
      var verdict = observation.verdict
      if let finding = inspected?.finding { verdict.findings.insert(finding, at: 0) }
      return (verdict, nil)
    }
  }

  /// Plays a stream over TCP, and beside that over UDP; not where the connection has TLS, since datagrams would have none.
  private func playRTSP(
    _ main: RTSPProbe.Request, over connector: ProbeConnector
  ) async -> Result<RTSPObservation, ConnectionFailure> {
    guard !main.isEncrypted else { return await connector.run(until: self.deadline) { RTSPProbe(main) } }
    var request = main
    (request.playTime, request.clientNonce) = (self.limits.datagrams, Self.makeNonce())
    let second = request
    let (playing, continuation) = AsyncStream.makeStream(of: Void.self)
    async let datagrams = DatagramProbe.run(second, over: connector, when: playing)
    let result = await connector.run(until: self.deadline) {
      RTSPProbe(main) { stage in
        if case .playing = stage { continuation.yield() }
      }
    }
    continuation.finish()
    let session = await datagrams
    guard case .success(var observation) = result else { return result }
    guard !observation.refusesTCP else {
      observation.datagrams = await self.playDatagrams(second, over: connector)
      return .success(observation)
    }
    let outcome = session.map { DatagramProbe.outcome(of: $0, beside: observation) } ?? .unknown
    let rest = self.deadline - StreamClock.system.now()
    if observation.closed != nil, session?.observation.isPlaying == true, rest > self.limits.play / 2 {
      // A camera with one session may end the first one for the second.
      let retry = await connector.run(until: self.deadline) { RTSPProbe(main) }
      if case .success(let again) = retry, again.isPlaying { observation = again }
    }
    observation.datagrams = outcome
    return .success(observation)
  }

  /// Whether the first track of a server arrives over UDP that does not send over TCP.
  private func playDatagrams(
    _ request: RTSPProbe.Request, over connector: ProbeConnector
  ) async -> RTSPObservation.Datagrams {
    let (start, continuation) = AsyncStream.makeStream(of: Void.self)
    continuation.yield()
    continuation.finish()
    let session = await DatagramProbe.run(request, over: connector, when: start)
    return session.map { $0.packetCount > 0 } == true ? .received : .unknown
  }
}
