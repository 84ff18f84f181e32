import Authentication
import Media
import MediaInput
import NIOCore
import RTMP
import RTSP
import Threading

/// Plays a stream by its address as clients do, for some seconds, and judges what happens.
struct StreamCheck {
  /// Times and sizes of a check.
  struct Limits: Sendable {
    /// Maximum time of a check, but for the start and end of the program.
    var whole = MediaDuration.seconds(11)
    /// Maximum time to find out the certificate of a server.
    var inspection = MediaDuration.seconds(4)
    /// Maximum time of each step of a session up to the stream.
    var step = MediaDuration.seconds(4)
    /// Time for which a stream is played.
    var play = MediaDuration.seconds(8)
    /// Time for which datagrams are waited for, beside the play.
    var datagrams = MediaDuration.seconds(5)
    /// Time for which the response to a request for an unknown resource is received.
    var response = MediaDuration.seconds(5)
    /// Maximum length of that response in bytes.
    var responseLength = 16 << 20
  }

  let specification: NetworkSpecification
  let limits: Limits
  let deadline: MediaTime

  /// - Throws: ``VidiconError`` for an address of another scheme than those that are checked.
  init(_ specification: NetworkSpecification, limits: Limits = Limits()) throws(VidiconError) {
    let schemes = ["rtsp", "rtsps", "http", "https", "rtmp", "rtmps"]
    guard schemes.contains(specification.scheme) else {
      throw .usage(
        specification.description, "\(specification.scheme) is not checked",
        "use one of \(schemes.map { "\($0)://" }.joined(separator: ", "))")
    }
    self.specification = specification
    self.limits = limits
    self.deadline = StreamClock.system.now() + limits.whole
  }

  /// Checks the stream.
  func run() async -> StreamVerdict {
    switch self.specification.scheme {
    case "rtsp", "rtsps": await self.checkRTSP()
    case "rtmp", "rtmps": await self.checkRTMP()
    default: await self.checkHTTP()
    }
  }

  /// Random hexadecimal digits, for proofs of a password.
  static func makeNonce() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 16) }

  /// A server with TLS, whose certificate was judged.
  struct Inspected {
    var observation: TLSObservation
    var finding: StreamFinding
    /// Whether the check ends here: a password of the address is not sent to a server that is not trusted.
    var isEnd: Bool
  }

  /// Judges the TLS of the server.
  private func inspect(
    host: String, port: Int, protocols: [String], hasCredentials: Bool, clients: [StreamClient]
  ) async -> Result<Inspected, ConnectionFailure> {
    let result = await TLSInspection.run(
      host: host, port: port, protocols: protocols, isInsecure: self.specification.isInsecure,
      until: min(StreamClock.system.now() + self.limits.inspection, self.deadline))
    return result.map { observation in
      let finding = observation.finding(port: port, clients: clients)
      return Inspected(
        observation: observation, finding: finding,
        isEnd: finding.finding.verdict == .fault && hasCredentials)
    }
  }

  /// A verdict where no more is known than why there is no connection.
  func verdict(
    _ failure: ConnectionFailure, _ connector: ProbeConnector, clients: [StreamClient]
  ) -> StreamVerdict {
    StreamVerdict(
      clients: clients, findings: [failure.finding(place: connector.place, clients: clients)],
      observations: ["connection \(failure)"])
  }

  /// Whether the certificates of connections behind an inspection are verified by the library.
  static func isVerifying(_ inspected: Inspected?) -> Bool {
    inspected.map { $0.observation.isTrusted && !$0.observation.isInsecure } ?? true
  }

  /// A connector, with the inspection of its TLS; or the verdict where the check ends there.
  ///
  /// - Parameter host: Nil for that of the address of the check.
  func open(
    host: String? = nil, port: Int, isEncrypted: Bool, protocols: [String] = [], hasCredentials: Bool? = nil,
    clients: [StreamClient]
  ) async -> (connector: ProbeConnector, inspected: Inspected?, end: StreamVerdict?) {
    let host = host ?? self.specification.host
    var connector = ProbeConnector(host: host, port: port)
    guard isEncrypted else { return (connector, nil, nil) }
    let inspection = await self.inspect(
      host: host, port: port, protocols: protocols,
      hasCredentials: hasCredentials ?? self.specification.hasCredentials, clients: clients)
    switch inspection {
    case .failure(let failure): return (connector, nil, self.verdict(failure, connector, clients: clients))
    case .success(let inspected):
      if inspected.isEnd {
        return (connector, inspected, StreamVerdict(clients: clients, findings: [inspected.finding]))
      }
      do throws(ConnectionFailure) {
        connector.tls = try ProbeConnector.tlsContext(isVerifying: Self.isVerifying(inspected))
      } catch {
        return (connector, inspected, self.verdict(error, connector, clients: clients))
      }
      return (connector, inspected, nil)
    }
  }

  /// Whether a server that did not respond to a request in clear speaks TLS at the port.
  func speaksTLS(_ connector: ProbeConnector) async -> Bool {
    guard connector.tls == nil else { return false }
    let result = await TLSInspection.run(
      host: connector.host, port: connector.port, protocols: [], isInsecure: true,
      until: min(StreamClock.system.now() + self.limits.inspection, self.deadline))
    if case .success = result { return true }
    return false
  }

  // MARK: RTMP

  private func checkRTMP() async -> StreamVerdict {
    let clients: [StreamClient] = [.players, .webRTC]
    let (text, _) = self.specification.access
    let url: RTMPURL
    do throws(ParsingError) {
      url = try RTMPURL(parsing: self.specification.hasCredentials ? self.specification.url : text)
    } catch {
      let advice = CheckFinding.Remedy.advice(
        "write rtmp://HOST/APP/NAME, with USER:PASSWORD@ before the host if it asks")
      return StreamVerdict(
        clients: clients,
        findings: [
          StreamFinding(
            .connection, .fault("address", "its \(error.field) is wrong or missing", advice), blocks: Set(clients))
        ])
    }
    let (connector, inspected, end) = await self.open(
      port: Int(url.port), isEncrypted: url.isEncrypted, clients: clients)
    if let end { return end }
    var result = await self.playRTMP(url, over: connector)
    // A server that wants a password ends the connection, and gets the answer in the next one.
    if case .success(let observation) = result, let answer = observation.failure?.authentication, url.login != nil {
      result = await self.playRTMP(url.authenticated(with: answer), over: connector)
    }
    let isUnanswered =
      switch result {
      case .failure(let failure): failure == .closed
      case .success(let observation): observation.started == nil && observation.failure?.step == .handshake
      }
    if isUnanswered, await self.speaksTLS(connector) {
      return self.verdict(.isTLS("rtmps"), connector, clients: clients)
    }
    switch result {
    case .failure(let failure): return self.verdict(failure, connector, clients: clients)
    case .success(let observation):
      var verdict = observation.verdict
      if let finding = inspected?.finding { verdict.findings.insert(finding, at: 0) }
      return verdict
    }
  }

  private func playRTMP(
    _ url: RTMPURL, over connector: ProbeConnector
  ) async -> Result<RTMPObservation, ConnectionFailure> {
    let (limits, deadline) = (self.limits, self.deadline)
    return await connector.run(until: deadline) {
      RTMPProbe(
        url: url, random: .random(in: 0...UInt64.max), stepTimeout: limits.step, playTime: limits.play,
        deadline: deadline)
    }
  }
}

/// Text of a check of a stream for the tracker of a project: findings and observations, without secrets.
struct StreamCheckReport {
  /// The address without user, password and query.
  var address: String
  var report: CheckReport
  /// Lines about what was observed.
  var observations: [String]

  /// The text in Markdown.
  var text: String {
    let lines =
      [
        "vidicon check \(self.address)", "vidicon \(ProgramVersion.text)", "", "## Findings", "", "```",
      ] + self.report.lines + ["```", "", "## Observations", "", "```"] + self.observations + ["```"]
    return lines.map { Terminal.oneLine($0) }.joined(separator: "\n") + "\n"
  }
}
