import Media
import NIOCore
import Testing
import WebRTC
import WebRTCServer

@Suite("DTLS with SRTP, RFC 6347 and RFC 5764")
struct DTLSTransportTests {
  private static let client = OpenSSLSecurity()!
  private static let server = OpenSSLSecurity()!

  private static func fingerprints(_ security: OpenSSLSecurity) -> [CertificateFingerprint] {
    [CertificateFingerprint(algorithm: .sha256, digest: security.fingerprint)]
  }

  private static func pair() -> DTLSPair {
    DTLSPair(client: Self.client, server: Self.server)
  }

  /// Checks that both sides have the same keys, and that they work.
  private static func expectMedia(_ pair: DTLSPair, _ comment: Comment? = nil) throws {
    let client = try #require(pair.client.keys(peer: fingerprints(server)), comment)
    let server = try #require(pair.server.keys(peer: fingerprints(Self.client)), comment)
    #expect(client.profile == .aeadAES128GCM && server.profile == .aeadAES128GCM, comment)
    #expect(client.client == server.client && client.server == server.server, comment)
    #expect(client.client != client.server, comment)
  }

  @Test func `both sides agree on AEAD_AES_128_GCM and on keys, in datagrams of at most 1200 bytes`() throws {
    var pair = Self.pair()
    pair.connect { _ in .delivered }
    #expect(pair.client.state == .connected && pair.server.state == .connected)
    #expect(pair.client.nextDeadline == nil && pair.server.nextDeadline == nil)
    #expect((200...1200).contains(pair.maximumLength))
    try Self.expectMedia(pair)
  }

  @Test(arguments: [DTLSPair.Fate.dropped, .duplicated, .delayed])
  func `each datagram in turn may be lost, duplicated or reordered`(fate: DTLSPair.Fate) throws {
    var undisturbed = Self.pair()
    undisturbed.connect { _ in .delivered }
    #expect(undisturbed.datagramCount >= 4)
    for number in 0..<undisturbed.datagramCount {
      var pair = Self.pair()
      pair.connect { $0 == number ? fate : .delivered }
      // A client that lost the last flight gets it again when it sends its own again.
      #expect(pair.client.state == .connected && pair.server.state == .connected, "datagram \(number)")
      try Self.expectMedia(pair, "datagram \(number)")
    }
  }

  @Test func `any two datagrams may be lost`() throws {
    for first in 0..<4 {
      for second in first + 1..<5 {
        var pair = Self.pair()
        pair.connect { $0 == first || $0 == second ? .dropped : .delivered }
        try Self.expectMedia(pair, "datagrams \(first) and \(second)")
      }
    }
  }

  /// A flight of five datagrams would be lost more often than one of one.
  @Test func `a flight that is sent again is one datagram, as the first time`() throws {
    for number in 0..<4 {
      var pair = Self.pair()
      pair.connect { $0 == number ? .dropped : .delivered }
      #expect(pair.datagramCount > 4 && pair.maximumCount == 1, "datagram \(number)")
      try Self.expectMedia(pair, "datagram \(number)")
    }
  }

  @Test func `a certificate that the session description does not name gets no keys`() throws {
    var pair = Self.pair()
    pair.connect { _ in .delivered }
    var digest = Self.server.fingerprint
    digest[31] ^= 1
    let wrong = CertificateFingerprint(algorithm: .sha256, digest: digest)
    #expect(pair.client.keys(peer: [wrong]) == nil)
    #expect(pair.client.keys(peer: []) == nil)
    #expect(pair.client.keys(peer: [wrong] + Self.fingerprints(Self.server)) != nil)
    #expect(pair.server.keys(peer: Self.fingerprints(Self.server)) == nil)
  }

  @Test func `there are no keys before the end of the handshake`() throws {
    let timeout = MediaDuration.seconds(300)
    var client = DTLSTransport(endpoint: try #require(Self.client.makeEndpoint(role: .client, timeout: timeout)))
    var server = DTLSTransport(endpoint: try #require(Self.server.makeEndpoint(role: .server, timeout: timeout)))
    let first = client.start(at: DTLSPair.now)
    let second = first.flatMap { server.receive(ByteBuffer(bytes: $0), at: DTLSPair.now) }
    #expect(!second.isEmpty && server.state == .handshaking)
    #expect(server.keys(peer: Self.fingerprints(Self.client)) == nil)
    // The client knows the server's certificate and the profile now, and sends what ends the handshake.
    let third = second.flatMap { client.receive(ByteBuffer(bytes: $0), at: DTLSPair.now) }
    #expect(!third.isEmpty && client.state == .handshaking && client.hasProfile)
    #expect(client.keys(peer: Self.fingerprints(Self.server)) == nil)
  }

  @Test func `close_notify ends the association of the peer`() {
    var pair = Self.pair()
    pair.connect { _ in .delivered }
    pair.closeClient()
    #expect(pair.client.state == .closed && pair.server.state == .closed)
    let count = pair.datagramCount
    pair.deliver([22, 254, 253], toServer: true)
    #expect(pair.datagramCount == count)
  }

  @Test func `garbage neither ends a handshake nor an association`() throws {
    // Numbers of Marsaglia's xorshift, the same in each run.
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    func next() -> UInt8 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state)
    }
    var pair = Self.pair()
    for connected in [false, true] {
      for length in 1..<200 {
        let garbage = (0..<length).map { _ in next() }
        pair.deliver([20 + UInt8(length % 44)] + garbage, toServer: true)
      }
      #expect(pair.server.state == (connected ? .connected : .handshaking))
      if !connected { pair.connect { _ in .delivered } }
    }
    try Self.expectMedia(pair)
  }

  @Test func `the time before a flight is sent again follows the round trip`() {
    #expect(DTLSTransport.timeout(roundTrip: nil) == .milliseconds(100))
    #expect(DTLSTransport.timeout(roundTrip: .milliseconds(20)) == .milliseconds(100))
    #expect(DTLSTransport.timeout(roundTrip: .milliseconds(150)) == .milliseconds(300))
    #expect(DTLSTransport.timeout(roundTrip: .seconds(9)) == .seconds(1))
  }
}
