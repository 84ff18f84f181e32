import Media
import NIOCore
import Testing
import WebRTC
import WebRTCPeers

/// DTLS of a server that sends its only flight for the ClientHello, and again whenever its timer expires, until the client's flight.
private final class TimedEndpoint: DTLSEndpoint {
  private var state = DTLSState.handshaking
  private var timeout: MediaDuration
  private var hasFlight = false

  init(timeout: MediaDuration) { self.timeout = timeout }

  func receive(_ datagram: UnsafeRawBufferPointer) -> (state: DTLSState, datagrams: [[UInt8]]) {
    if self.hasFlight { self.state = .connected }
    self.hasFlight = true
    return (self.state, self.state == .handshaking ? [[22, 2]] : [])
  }

  var timeUntilTimeout: MediaDuration? { self.state == .handshaking && self.hasFlight ? self.timeout : nil }

  func handleTimeout() -> (state: DTLSState, datagrams: [[UInt8]]) {
    // RFC 6347 §4.2.4.1.
    self.timeout = self.timeout * 2
    return (self.state, [[22, 2]])
  }

  func close() -> [[UInt8]] { [] }
  var profile: SRTPProfile? { .aeadAES128GCM }
  func exportKeys(length: Int) -> [UInt8]? { [UInt8](repeating: 7, count: length) }
  func peerFingerprint(_ algorithm: FingerprintAlgorithm) -> [UInt8]? { [UInt8](repeating: 1, count: algorithm.length) }
}

private struct TimedSecurity: DatagramSecurity {
  var fingerprint: [UInt8] { PlainSecurity().fingerprint }

  func makeEndpoint(role: DTLSRole, timeout: MediaDuration) -> (any DTLSEndpoint)? { TimedEndpoint(timeout: timeout) }

  func makeCipher(profile: SRTPProfile, keys: SRTPSessionKeys, seals: Bool) -> (any SRTPCipher)? {
    PlainSecurity().makeCipher(profile: profile, keys: keys, seals: seals)
  }
}

@Suite("Timer of DTLS on paths of different lengths")
struct DTLSTimerTests {
  private static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")!
  private static let clientCredentials = ICECredentials(usernameFragment: "clnt", password: "client0password0client")!
  private static let client = TransportAddress("192.0.2.1", port: 1000)!

  private static func check() -> ByteBuffer {
    var buffer = ByteBuffer()
    STUNMessage(
      .request, transactionID: .init(1, 1), attributes: [.username("serv:clnt"), .iceControlling(1), .priority(1)]
    ).serialize(into: &buffer, key: STUNKey(password: Self.credentials.password))
    return buffer
  }

  /// Runs a handshake whose client answers each datagram at once, behind a path.
  ///
  /// - Returns: How often the server's flight was sent, and whether the handshake came to its end.
  private func handshake(roundTrip: MediaDuration) -> (flights: Int, isConnected: Bool) {
    var transport = WebRTCTransport(
      credentials: Self.credentials, client: Self.clientCredentials, number: 1,
      fingerprints: [CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 1, count: 32))],
      role: .server, security: TimedSecurity(), makeRandom: { 1 }, at: .zero)
    for case .send(let datagram, _) in transport.handle(Self.check(), from: Self.client, at: .zero) {
      guard let message = try? STUNMessage(parsing: datagram), message.messageClass == .request else { continue }
      var response = ByteBuffer()
      STUNMessage(.success, transactionID: message.transactionID, attributes: [.xorMappedAddress(Self.client)])
        .serialize(into: &response, key: STUNKey(password: Self.clientCredentials.password))
      _ = transport.handle(response, from: Self.client, at: .zero + roundTrip)
    }
    let (hello, end) = (MediaTime.zero + roundTrip, MediaTime.zero + roundTrip * 2)
    var flights = 0
    func count(_ outputs: [WebRTCTransport.Output]) {
      for output in outputs { if case .send = output { flights += 1 } }
    }
    count(transport.handle(ByteBuffer(bytes: [22, 1]), from: Self.client, at: hello))
    while let deadline = transport.nextDeadline, deadline < end { count(transport.handleTimeout(at: deadline)) }
    let outputs = transport.handle(ByteBuffer(bytes: [22, 3]), from: Self.client, at: end)
    return (flights, outputs == [.connected(.aeadAES128GCM), .selected(Self.client)])
  }

  @Test(arguments: [0, 1, 30, 100, 300, 900])
  func `the server's flight is sent once where nothing is lost`(
    milliseconds: Int64
  ) {
    let (flights, isConnected) = self.handshake(roundTrip: .milliseconds(milliseconds))
    #expect(flights == 1 && isConnected)
  }

  @Test func `a path of more than the maximum has a flight sent again, at intervals that double`() {
    let (flights, isConnected) = self.handshake(roundTrip: .milliseconds(2500))
    // After 1 s, and not again before 3 s.
    #expect(flights == 2 && isConnected)
  }
}
