import Foundation
import Media
import NIOCore
import RTP
import TestSupport
import Testing
import WebRTC
import WebRTCServer

/// A client with real DTLS, which checks as a browser does.
private struct Client {
  static let security = OpenSSLSecurity()!
  let address: TransportAddress
  static let credentials = ICECredentials(usernameFragment: "clnt", password: "client0password0client")!
  /// Whether it answers checks of the server.
  var answersChecks = true
  private let key: STUNKey
  private let username: String
  private var transaction: UInt64 = 0
  private var dtls: DTLSTransport
  private(set) var sealer: SRTPSealer?
  private(set) var opener: SRTPOpener?

  init(_ address: String, port: UInt16, credentials: ICECredentials) {
    self.address = TransportAddress(address, port: port)!
    self.key = STUNKey(password: credentials.password)
    self.username = "\(credentials.usernameFragment):clnt"
    self.dtls = DTLSTransport(endpoint: Self.security.makeEndpoint(role: .client, timeout: .seconds(1))!)
  }

  mutating func check(nominates: Bool = false) -> ByteBuffer {
    self.transaction += 1
    var buffer = ByteBuffer()
    STUNMessage(
      .request, transactionID: .init(UInt32(self.address.port), self.transaction),
      attributes: [.username(self.username), .iceControlling(1), .priority(1)] + (nominates ? [.useCandidate] : [])
    ).serialize(into: &buffer, key: self.key)
    return buffer
  }

  /// The response to a check of the server; nil for other datagrams.
  func response(to datagram: ByteBuffer) -> ByteBuffer? {
    guard let message = try? STUNMessage(parsing: datagram), message.messageClass == .request else { return nil }
    var buffer = ByteBuffer()
    STUNMessage(.success, transactionID: message.transactionID, attributes: [.xorMappedAddress(self.address)])
      .serialize(into: &buffer, key: STUNKey(password: Self.credentials.password))
    return buffer
  }

  mutating func hello() -> [ByteBuffer] {
    self.dtls.start(at: .zero).map { ByteBuffer(bytes: $0) }
  }

  mutating func receive(_ datagram: ByteBuffer, server: OpenSSLSecurity) -> [ByteBuffer] {
    guard DatagramKind(datagram) == .dtls else { return [] }
    let answers = self.dtls.receive(datagram, at: .zero)
    let fingerprint = CertificateFingerprint(algorithm: .sha256, digest: server.fingerprint)
    if self.sealer == nil, let keys = self.dtls.keys(peer: [fingerprint]) {
      self.sealer = SRTPSealer(master: keys.client, profile: keys.profile, security: Self.security)
      self.opener = SRTPOpener(master: keys.server, profile: keys.profile, security: Self.security)
    }
    return answers.map { ByteBuffer(bytes: $0) }
  }

  mutating func seal(_ packet: RTCPCompoundPacket) throws -> ByteBuffer {
    var buffer = ByteBuffer()
    packet.serialize(into: &buffer)
    return try #require(try self.sealer?.seal(rtcp: buffer))
  }

  mutating func open(rtcp datagram: ByteBuffer) throws -> RTCPCompoundPacket {
    try RTCPCompoundPacket(parsing: #require(try self.opener?.open(rtcp: datagram)))
  }

  mutating func open(rtp datagram: ByteBuffer) throws -> RTPPacket {
    try RTPPacket(parsing: #require(try self.opener?.open(rtp: datagram)))
  }

  mutating func close() -> [ByteBuffer] {
    self.dtls.close().map { ByteBuffer(bytes: $0) }
  }
}

@Suite("Transport of a WebRTC session")
struct WebRTCTransportTests {
  private static let server = OpenSSLSecurity()!
  private static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")!
  private static let report = RTCPCompoundPacket([.receiverReport(RTCPReceiverReport(ssrc: 5))])

  private var client = Client("192.0.2.1", port: 1000, credentials: credentials)
  private var transport = transport(fingerprints: [
    CertificateFingerprint(algorithm: .sha256, digest: Client.security.fingerprint)
  ])

  private static func transport(fingerprints: [CertificateFingerprint]) -> WebRTCTransport {
    WebRTCTransport(
      credentials: credentials, client: Client.credentials, number: 1, fingerprints: fingerprints, role: .server,
      security: server, makeRandom: { .random(in: 0...UInt64.max) }, at: .zero)
  }

  /// Outputs of the transport for a datagram, without datagrams that it sends.
  private mutating func events(
    _ datagram: ByteBuffer, at now: MediaTime = .zero, sent: inout [ByteBuffer]
  ) -> [WebRTCTransport.Output] {
    var events: [WebRTCTransport.Output] = []
    var received = [datagram]
    while !received.isEmpty {
      for output in self.transport.handle(received.removeFirst(), from: self.client.address, at: now) {
        guard case .send(let datagram, let address) = output else {
          if case .checked = output { continue }
          events.append(output)
          continue
        }
        #expect(address == self.client.address)
        if let response = self.client.response(to: datagram) {
          if self.client.answersChecks { received.append(response) }
        } else {
          sent.append(datagram)
        }
      }
    }
    return events
  }

  /// Lets the client check from another address, and answer there.
  private mutating func check(from other: TransportAddress, nominates: Bool = false) -> [WebRTCTransport.Output] {
    var events: [WebRTCTransport.Output] = []
    for output in self.transport.handle(self.client.check(nominates: nominates), from: other, at: .zero) {
      guard case .send(let datagram, other) = output else {
        if case .checked = output { continue }
        events.append(output)
        continue
      }
      guard let response = self.client.response(to: datagram) else { continue }
      events += self.transport.handle(response, from: other, at: .zero)
    }
    return events
  }

  /// Runs the handshake to its end.
  ///
  /// - Parameter change: Changes the datagrams of each flight of the client on their way.
  private mutating func connect(change: ([ByteBuffer]) -> [ByteBuffer] = { $0 }) -> [WebRTCTransport.Output] {
    var events: [WebRTCTransport.Output] = []
    var datagrams = self.client.hello()
    while !datagrams.isEmpty {
      datagrams = change(datagrams)
      var answers: [ByteBuffer] = []
      for datagram in datagrams { events += self.events(datagram, sent: &answers) }
      datagrams = answers.flatMap { self.client.receive($0, server: Self.server) }
    }
    return events
  }

  private mutating func check(nominates: Bool = false, at now: MediaTime = .zero) -> [WebRTCTransport.Output] {
    var sent: [ByteBuffer] = []
    let events = self.events(self.client.check(nominates: nominates), at: now, sent: &sent)
    #expect(sent.count == 1)
    return events
  }

  @Test mutating func `checks, handshake before the nomination, media without waiting for that`() throws {
    #expect(self.check() == [.valid(self.client.address)])
    #expect(!self.transport.isReady)
    #expect(throws: SRTPError.notConnected) { try self.transport.seal(Self.report) }
    #expect(self.connect() == [.connected(.aeadAES128GCM), .selected(self.client.address)])
    #expect(self.transport.isReady)
    #expect(self.check(nominates: true) == [])
    // A nomination decides.
    let other = TransportAddress("198.51.100.2", port: 2000)!
    #expect(self.check(from: other, nominates: true) == [.valid(other), .selected(other)])
    #expect(self.check(nominates: true) == [.selected(self.client.address)])
    // Both directions.
    let sealed = try self.transport.seal(Self.report)
    #expect(try self.client.open(rtcp: sealed) == Self.report)
    var sent: [ByteBuffer] = []
    let fromClient = try self.client.seal(Self.report)
    #expect(self.events(fromClient, sent: &sent) == [.received(Self.report)])
    #expect(self.events(fromClient, sent: &sent) == [] && self.transport.dropCounts.control == 1)
    // RTP from header and payload.
    let header = RTPHeader(marker: true, payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3)
    var plain = ByteBuffer()
    header.serialize(into: &plain)
    var output = [UInt8](repeating: 0, count: 12 + 3 + (self.transport.overhead ?? 0))
    try plain.withUnsafeReadableBytes { header in
      try [7, 8, 9].withUnsafeBytes { payload in
        let payload = UnsafeRawBufferPointer(rebasing: payload[..<3])
        try output.withUnsafeMutableBytes { try self.transport.seal(header: header, payload: payload, into: $0) }
      }
    }
    #expect(try self.client.open(rtp: ByteBuffer(bytes: output)).header == header)
  }

  @Test mutating func `DTLS of an address without a check has no state and no answer`() {
    var sent: [ByteBuffer] = []
    for datagram in self.client.hello() { #expect(self.events(datagram, sent: &sent) == []) }
    #expect(sent.isEmpty && self.transport.dropCounts.invalidAddress >= 1)
    #expect(self.transport.nextDeadline == .zero + .seconds(30))
  }

  @Test mutating func `a session that is never checked ends, and says so`() {
    #expect(self.transport.handleTimeout(at: .zero + .seconds(29)) == [])
    #expect(self.transport.handleTimeout(at: .zero + .seconds(30)) == [.closed(.neverChecked)])
    #expect(self.transport.nextDeadline == nil)
    var sent: [ByteBuffer] = []
    let check = self.client.check()
    #expect(self.events(check, sent: &sent) == [] && sent.isEmpty)
  }

  @Test mutating func `a flight is not sent to an address that did not answer a check, and no datagram is lost for it`()
    throws
  {
    self.client.answersChecks = false
    var sent: [ByteBuffer] = []
    #expect(self.events(self.client.check(nominates: true), sent: &sent) == [])
    sent = []
    let hello = try #require(self.client.hello().first)
    #expect(self.events(hello, sent: &sent) == [] && sent.isEmpty)
    self.client.answersChecks = true
    // The hello that waited is answered with the proof.
    self.transport = Self.transport(fingerprints: [
      CertificateFingerprint(algorithm: .sha256, digest: Client.security.fingerprint)
    ])
    var check: ByteBuffer?
    for case .send(let datagram, _) in self.transport.handle(
      self.client.check(nominates: true), from: self.client.address, at: .zero)
    {
      check = self.client.response(to: datagram) ?? check
    }
    #expect(self.transport.handle(hello, from: self.client.address, at: .zero) == [])
    let outputs = self.transport.handle(try #require(check), from: self.client.address, at: .zero)
    let flights = outputs.filter { if case .send = $0 { true } else { false } }
    #expect(!flights.isEmpty && outputs.contains(.selected(self.client.address)))
  }

  @Test mutating func `a session that is not connected in thirty seconds ends, whatever its client checks`() {
    for second in 0..<30 { _ = self.check(at: .zero + .seconds(Int64(second))) }
    #expect(self.transport.handleTimeout(at: .zero + .seconds(30)) == [.closed(.setupTimedOut)])
  }

  @Test mutating func `a silent client's consent ends, control packets do not extend it`() throws {
    _ = self.check(nominates: true)
    _ = self.connect()
    var sent: [ByteBuffer] = []
    let fromClient = try self.client.seal(Self.report)
    #expect(self.events(fromClient, at: .zero + .seconds(15), sent: &sent) == [.received(Self.report)])
    let isClosed = self.transport.handleTimeout(at: .zero + .milliseconds(19_999)).contains(.closed(.consentExpired))
    #expect(!isClosed)
    let outputs = self.transport.handleTimeout(at: .zero + .seconds(20))
    #expect(outputs.last == .closed(.consentExpired))
    #expect(throws: SRTPError.notConnected) { try self.transport.seal(Self.report) }
  }

  @Test mutating func `another certificate than the offered one gets no media`() {
    self.transport = Self.transport(fingerprints: [
      CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 1, count: 32))
    ])
    _ = self.check(nominates: true)
    #expect(self.connect() == [.closed(.wrongFingerprint)])
    #expect(!self.transport.isReady && self.transport.overhead == nil)
  }

  /// The client's certificate, from the clear part of a handshake.
  private mutating func readCertificate() throws -> [UInt8] {
    _ = self.check(nominates: true)
    var records: [DTLSRecord] = []
    _ = self.connect { flight in
      records += flight.flatMap { DTLSRecord.all(in: Array($0.readableBytesView)) }
      return flight
    }
    return try #require(records.compactMap(\.certificate).first)
  }

  @Test(arguments: FingerprintAlgorithm.allCases)
  mutating func `the certificate is compared by each algorithm of fingerprints`(
    algorithm: FingerprintAlgorithm
  ) async throws {
    let certificate = Data(try self.readCertificate()).base64EncodedString()
    let sum = try await output(
      ofShell: #"base64 --decode <<<"$1" | "sha${2}sum""#, certificate, "\(algorithm.length * 8)")
    let digest = try #require(Hexadecimal.decode(String(decoding: sum, as: UTF8.self).prefix { $0 != " " }))
    if algorithm == .sha256 { #expect(digest == Client.security.fingerprint) }
    var wrong = digest
    wrong[wrong.count - 1] ^= 1
    let other = CertificateFingerprint(
      algorithm: algorithm, digest: [UInt8](repeating: 1, count: algorithm.length))
    for (fingerprints, isRight) in [
      ([digest], true), ([wrong], false), ([wrong, digest], true), ([], false),
    ] as [([[UInt8]], Bool)] {
      self.client = Client("192.0.2.1", port: 1000, credentials: Self.credentials)
      self.transport = Self.transport(
        fingerprints: [other] + fingerprints.map { CertificateFingerprint(algorithm: algorithm, digest: $0) })
      _ = self.check(nominates: true)
      #expect(self.connect() == [isRight ? .connected(.aeadAES128GCM) : .closed(.wrongFingerprint)])
      #expect(self.transport.isReady == isRight)
    }
  }

  @Test mutating func `a ClientHello in two datagrams, as browsers send it, is put together`() {
    _ = self.check()
    var flights = 0
    let events = self.connect { flight in
      flights += 1
      return flight.flatMap { datagram -> [ByteBuffer] in
        var records = DTLSRecord.all(in: Array(datagram.readableBytesView))
        guard flights > 1 else {
          return records.flatMap(\.halves).map { ByteBuffer(bytes: $0.bytes) }
        }
        // Numbers behind those of the two halves.
        for index in records.indices where records[index].epoch == 0 { records[index].sequenceNumber += 1 }
        return [ByteBuffer(bytes: records.flatMap(\.bytes))]
      }
    }
    #expect(events == [.connected(.aeadAES128GCM), .selected(self.client.address)] && flights == 2)
  }

  @Test mutating func `a handshake long after the proof of its address waits for a nomination`() {
    _ = self.check()
    var datagrams = self.client.hello()
    var events: [WebRTCTransport.Output] = []
    let late = MediaTime.zero + .seconds(6)
    while !datagrams.isEmpty {
      var answers: [ByteBuffer] = []
      for datagram in datagrams { events += self.events(datagram, at: late, sent: &answers) }
      datagrams = answers.flatMap { self.client.receive($0, server: Self.server) }
    }
    #expect(events == [.connected(.aeadAES128GCM)] && !self.transport.isReady)
    #expect(
      self.check(nominates: true, at: late) == [.valid(self.client.address), .selected(self.client.address)])
  }

  @Test mutating func `DTLS from another valid address is answered there`() {
    let other = TransportAddress("198.51.100.2", port: 2000)!
    _ = self.check()
    _ = self.check(from: other)
    var destinations: [[TransportAddress]] = []
    var events: [WebRTCTransport.Output] = []
    var datagrams = self.client.hello()
    for source in [self.client.address, other] {
      var answers: [ByteBuffer] = []
      var addresses: [TransportAddress] = []
      for datagram in datagrams {
        for output in self.transport.handle(datagram, from: source, at: .zero) {
          guard case .send(let answer, let address) = output else {
            events.append(output)
            continue
          }
          answers.append(answer)
          addresses.append(address)
        }
      }
      destinations.append(addresses)
      datagrams = answers.flatMap { self.client.receive($0, server: Self.server) }
    }
    #expect(events == [.connected(.aeadAES128GCM), .selected(other)])
    #expect(destinations.map { Set($0) } == [[self.client.address], [other]])
  }

  @Test mutating func `close_notify of the client ends the session at once`() {
    _ = self.check(nominates: true)
    _ = self.connect()
    var sent: [ByteBuffer] = []
    let events = self.client.close().flatMap { self.events($0, sent: &sent) }
    #expect(events == [.closed(.closedByClient)])
  }

  @Test mutating func `the client is notified when the server closes`() {
    _ = self.check(nominates: true)
    _ = self.connect()
    let outputs = self.transport.close()
    #expect(outputs.count == 2 && outputs.last == .closed(.closedByServer))
    guard case .send(let datagram, self.client.address)? = outputs.first else {
      Issue.record("\(outputs)")
      return
    }
    #expect(datagram.readableBytesView.first == 21)
    #expect(self.transport.close() == [])
  }

  @Test mutating func `a client that moves keeps its keys, and gets media where it nominates`() throws {
    _ = self.check(nominates: true)
    _ = self.connect()
    let other = TransportAddress("198.51.100.2", port: 2000)!
    let fromClient = try self.client.seal(Self.report)
    #expect(self.transport.handle(fromClient, from: other, at: .zero) == [])
    #expect(self.transport.dropCounts.invalidAddress == 1)
    #expect(self.check(from: other, nominates: true) == [.valid(other), .selected(other)])
    #expect(self.transport.selectedAddress == other && self.transport.isReady)
    #expect(self.transport.handle(fromClient, from: other, at: .zero) == [.received(Self.report)])
  }

  @Test mutating func `what belongs to no protocol is dropped and counted`() {
    var sent: [ByteBuffer] = []
    for bytes in [[], [4], [64, 1], [128, 96, 0, 0], [0, 1, 0, 0], [200]] as [[UInt8]] {
      #expect(self.events(ByteBuffer(bytes: bytes), sent: &sent) == [])
    }
    #expect(sent.isEmpty && self.transport.dropCounts.other == 5 && self.transport.dropCounts.checks == 1)
  }
}
