import Media
import NIOCore
import RTP
import Testing
import WebRTC
import WebRTCServer

@Suite("Transport of a push, with real DTLS")
struct PushTransportTests {
  private static let own = OpenSSLSecurity()!
  private static let other = OpenSSLSecurity()!
  private static let credentials = ICECredentials(usernameFragment: "push", password: "pushing0password0pushing")!
  private static let serverCredentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")!
  private static let address = TransportAddress("198.51.100.1", port: 4000)!
  private static let server = TransportAddress("192.0.2.7", port: 8189)!
  private static let report = RTCPCompoundPacket([.receiverReport(RTCPReceiverReport(ssrc: 5))])

  private static func fingerprint(_ security: OpenSSLSecurity) -> CertificateFingerprint {
    CertificateFingerprint(algorithm: .sha256, digest: security.fingerprint)
  }

  private static func push(_ role: DTLSRole) -> WebRTCTransport {
    WebRTCTransport(
      WebRTCPushAnswer(
        credentials: self.serverCredentials, fingerprints: [self.fingerprint(self.other)], role: role,
        candidates: [ICECandidate(host: self.server, rank: 0)]),
      credentials: self.credentials, security: self.own, makeRandom: { .random(in: 0...UInt64.max) }, at: .zero)
  }

  /// The datagrams of outputs, and the others.
  private static func split(
    _ outputs: [WebRTCTransport.Output]
  ) -> (datagrams: [ByteBuffer], events: [WebRTCTransport.Output]) {
    var (datagrams, events): ([ByteBuffer], [WebRTCTransport.Output]) = ([], [])
    for output in outputs {
      switch output {
      case .send(let datagram, _): datagrams.append(datagram)
      case .checked: break
      default: events.append(output)
      }
    }
    return (datagrams, events)
  }

  @Test func `with a passive server it checks, nominates, starts DTLS, and both sides open what the other seals`()
    throws
  {
    var push = Self.push(.client)
    var server = WebRTCTransport(
      credentials: Self.serverCredentials, client: Self.credentials, number: 1,
      fingerprints: [Self.fingerprint(Self.own)], role: .server, security: Self.other, makeRandom: { 3 }, at: .zero)
    var (pushEvents, serverEvents): ([WebRTCTransport.Output], [WebRTCTransport.Output]) = ([], [])
    // The nomination is due at once behind the first check's success.
    for _ in 0..<2 {
      var toServer = Self.split(push.handleTimeout(at: .zero)).datagrams
      while !toServer.isEmpty {
        var toPush: [ByteBuffer] = []
        for datagram in toServer {
          let (datagrams, events) = Self.split(server.handle(datagram, from: Self.address, at: .zero))
          toPush += datagrams
          serverEvents += events
        }
        toServer = []
        for datagram in toPush {
          let (datagrams, events) = Self.split(push.handle(datagram, from: Self.server, at: .zero))
          toServer += datagrams
          pushEvents += events
        }
      }
    }
    #expect(pushEvents == [.selected(Self.server), .connected(.aeadAES128GCM)])
    #expect(serverEvents == [.valid(Self.address), .selected(Self.address), .connected(.aeadAES128GCM)])
    #expect(push.isReady && server.isReady)
    let fromPush = try push.seal(Self.report)
    #expect(server.handle(fromPush, from: Self.address, at: .zero) == [.received(Self.report)])
    let fromServer = try server.seal(Self.report)
    #expect(push.handle(fromServer, from: Self.server, at: .zero) == [.received(Self.report)])
    let farewell = Self.split(push.close())
    #expect(farewell.events == [.closed(.closedByServer)])
    let ends = farewell.datagrams.flatMap { Self.split(server.handle($0, from: Self.address, at: .zero)).events }
    #expect(ends == [.closed(.closedByClient)])
  }

  @Test func `with an active server it waits for the ClientHello, and seals with the server's half of the keys`() throws
  {
    var push = Self.push(.server)
    var agent = ICELiteAgent(credentials: Self.serverCredentials, client: Self.credentials, number: 1, at: .zero)
    let endpoint = try #require(Self.other.makeEndpoint(role: .client, timeout: .seconds(1)))
    var dtls = DTLSTransport(endpoint: endpoint)
    var events: [WebRTCTransport.Output] = []
    for _ in 0..<2 {
      for datagram in Self.split(push.handleTimeout(at: .zero)).datagrams {
        let message = try STUNMessage(parsing: datagram)
        let outputs = agent.handle(
          message, length: datagram.readableBytes, from: Self.address, at: .zero, makeRandom: { 3 })
        let responses = outputs.compactMap { output in
          if case .send(let response, _) = output { response } else { nil }
        }
        // The response, and at first the server's own check of the address.
        #expect(!responses.isEmpty)
        for response in responses { events += Self.split(push.handle(response, from: Self.server, at: .zero)).events }
      }
    }
    // No datagram of DTLS is sent before the server's.
    #expect(events == [.selected(Self.server)])
    var toPush = dtls.start(at: .zero)
    while !toPush.isEmpty {
      var toServer: [ByteBuffer] = []
      for bytes in toPush {
        let (datagrams, others) = Self.split(push.handle(ByteBuffer(bytes: bytes), from: Self.server, at: .zero))
        toServer += datagrams
        events += others
      }
      toPush = toServer.flatMap { dtls.receive($0, at: .zero) }
    }
    #expect(events == [.selected(Self.server), .connected(.aeadAES128GCM)])
    let keys = try #require(dtls.keys(peer: [Self.fingerprint(Self.own)]))
    var opener = try #require(SRTPOpener(master: keys.server, profile: keys.profile, security: Self.other))
    let sealed = try push.seal(Self.report)
    #expect(try RTCPCompoundPacket(parsing: opener.open(rtcp: sealed)) == Self.report)
  }
}
