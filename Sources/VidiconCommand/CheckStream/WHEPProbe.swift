import Media
import NIOCore
import Threading
import WebRTC

/// Opens a session at a WHEP endpoint as browsers do, draft-ietf-wish-whep, checks whether its candidates are reached, and ends it.
struct WHEPProbe {
  /// Time that is kept for the end of the session.
  private static let reserve = MediaDuration.milliseconds(700)

  private(set) var visit: HTTPVisit
  private let deadline: MediaTime

  /// - Parameters:
  ///   - visit: Requests to the server.
  ///   - deadline: Time by which the probe has ended.
  init(visit: HTTPVisit, deadline: MediaTime) {
    self.visit = visit
    self.deadline = deadline
  }

  /// Opens a session at an endpoint.
  ///
  /// - Returns: What was observed, or the reason why there was no response.
  mutating func run(_ address: HTTPAddress) async -> Result<WHEPObservation, ConnectionFailure> {
    var facts = WHEPObservation()
    let local = ICECredentials { .random(in: 0...UInt64.max) }
    let digest = (0..<FingerprintAlgorithm.sha256.length).map { _ in UInt8.random(in: 0...UInt8.max) }
    let offer = WHEPOffer.text(
      credentials: local, fingerprint: CertificateFingerprint(algorithm: .sha256, digest: digest),
      sessionID: .random(in: 1...UInt64(Int64.max)))
    let request = HTTPExchange.Request(
      address: address, method: "POST", body: (type: "application/sdp", bytes: offer), end: self.deadline - Self.reserve
    )
    let response: HTTPVisit.Response
    switch await self.visit.request(request, stopsAtTLS: true) {
    case .failure(let failure): return .failure(failure)
    case .success(let value): response = value
    }
    let (result, place) = response
    if place.isEncrypted, !address.isEncrypted {
      facts.redirect = place
      return .success(facts)
    }
    (facts.status, facts.seconds) = (result.status, result.endTime)
    let session = result.header("location").flatMap { place.resolved($0) }
    facts.hasLocation = session != nil
    if result.status == 201, let answer = try? WebRTCOffer(parsing: result.body) {
      facts.handle(answer)
      let transport = answer.media.first { !$0.isRejected && $0.transport.credentials != nil }?.transport
      if let remote = transport?.credentials {
        let reached = await ICEProbe.run(
          local: local, remote: remote, candidates: answer.media.flatMap(\.candidates),
          until: self.deadline - Self.reserve)
        facts.reached = reached.map { "\($0)" }
      }
    }
    if let session {
      _ = await self.visit.request(HTTPExchange.Request(address: session, method: "DELETE", end: self.deadline))
    }
    return .success(facts)
  }
}
