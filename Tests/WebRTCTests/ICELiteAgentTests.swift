import Authentication
import Media
import NIOCore
import TestSupport
import Testing
import WebRTC

@Suite("ICE-lite agent, RFC 8445 and RFC 7675")
struct ICELiteAgentTests {
  static let credentials = ICECredentials(
    usernameFragment: "abcd", password: "0123456789012345678901")!
  static let client = ICECredentials(usernameFragment: "efgh", password: "client0password0client")!
  static let first = TransportAddress("192.0.2.1", port: 1000)!
  static let second = TransportAddress("2001:db8::2", port: 2000)!
  /// Address of another machine, which answers nothing.
  static let victim = TransportAddress("203.0.113.9", port: 53)!

  var agent = Self.agent()
  private var transaction: UInt64 = 0
  var numbers = SplitMix(seed: 1)
  var now = MediaTime.zero
  /// Bytes that were sent to each address.
  private var sentByteCounts: [TransportAddress: Int] = [:]
  /// Addresses at which the client receives.
  var reachable: Set<TransportAddress> = [first, second]

  private static func agent() -> ICELiteAgent {
    ICELiteAgent(credentials: credentials, client: client, number: 7, at: .zero)
  }

  /// A check as Chromium sends it.
  mutating func check(
    username: String = "abcd:efgh", password: String? = credentials.password, nominates: Bool = false,
    role: STUNAttribute = .iceControlling(5), extra: [STUNAttribute] = []
  ) -> ByteBuffer {
    self.transaction += 1
    var attributes: [STUNAttribute] = [.username(username), role, .priority(1)] + extra
    if nominates { attributes.append(.useCandidate) }
    var buffer = ByteBuffer()
    STUNMessage(.request, transactionID: .init(1, self.transaction), attributes: attributes)
      .serialize(into: &buffer, key: password.map(STUNKey.init(password:)))
    return buffer
  }

  /// The response of a client to a check.
  private static func response(to message: STUNMessage, password: String = client.password) -> ByteBuffer {
    var buffer = ByteBuffer()
    STUNMessage(.success, transactionID: message.transactionID, attributes: [.xorMappedAddress(Self.first)])
      .serialize(into: &buffer, key: STUNKey(password: password))
    return buffer
  }

  /// Delivers a datagram, and lets the client answer checks at addresses where it receives.
  ///
  /// - Returns: All outputs, in their order.
  mutating func handle(
    _ datagram: ByteBuffer, from source: TransportAddress = first
  ) throws -> [ICELiteAgent.Output] {
    let outputs = try self.agent.handle(
      STUNMessage(parsing: datagram), length: datagram.readableBytes, from: source, at: self.now,
      makeRandom: { self.numbers.next() })
    return try (outputs + self.answer(outputs)).filter { if case .checked = $0 { false } else { true } }
  }

  private mutating func answer(_ outputs: [ICELiteAgent.Output]) throws -> [ICELiteAgent.Output] {
    var others: [ICELiteAgent.Output] = []
    for case .send(let datagram, let address) in outputs {
      self.sentByteCounts[address, default: 0] += datagram.readableBytes
      let message = try STUNMessage(parsing: datagram)
      guard message.messageClass == .request, self.reachable.contains(address) else { continue }
      #expect(message.username == "efgh:abcd" && message.isAuthentic(with: STUNKey(password: Self.client.password)))
      others += try self.handle(Self.response(to: message), from: address)
    }
    return others
  }

  /// Time passes; what is due is done. Returns what is not sent.
  mutating func advance(_ duration: MediaDuration) throws -> [ICELiteAgent.Output] {
    let end = self.now + duration
    var events: [ICELiteAgent.Output] = []
    while self.agent.nextDeadline <= end, events.last != .expired {
      self.now = max(self.now, self.agent.nextDeadline)
      let outputs = self.agent.handleTimeout(at: self.now) { self.numbers.next() }
      events += try (outputs + self.answer(outputs)).filter { if case .send = $0 { false } else { true } }
    }
    self.now = end
    return events
  }

  /// Outputs that are not sent.
  func events(_ outputs: [ICELiteAgent.Output]) -> [ICELiteAgent.Output] {
    outputs.filter { if case .send = $0 { false } else { true } }
  }

  @Test mutating func `a check is answered with the address that it came from, and answered by a check that proves it`()
    throws
  {
    for source in [Self.first, Self.second] {
      (self.agent, self.transaction) = (Self.agent(), 0)
      #expect(!self.agent.isKnown(source))
      let outputs = try self.handle(self.check(), from: source)
      guard case .send(let datagram, source) = outputs[0], case .send(let check, source) = outputs[1] else {
        Issue.record("\(outputs)")
        return
      }
      let response = try STUNMessage(parsing: datagram)
      #expect(response.messageClass == .success && response.mappedAddress == source)
      #expect(response.transactionID == STUNTransactionID(1, 1))
      #expect(response.isAuthentic(with: STUNKey(password: Self.credentials.password)) && response.hasFingerprint)
      let attributes = try STUNMessage(parsing: check).attributes
      #expect(attributes.contains { if case .iceControlled = $0 { true } else { false } })
      #expect(outputs.count == 3 && outputs[2] == .valid(source))
      #expect(self.agent.isValid(source, at: self.now) && self.agent.selectedAddress == nil)
    }
  }

  @Test mutating func `media goes where the last nomination came from that was proved`() throws {
    _ = try self.handle(self.check())
    for (source, isNew) in [(Self.first, true), (Self.first, false), (Self.second, true), (Self.first, true)] {
      let events = self.events(try self.handle(self.check(nominates: true), from: source))
      #expect(events.contains(.selected(source)) == isNew && self.agent.selectedAddress == source)
    }
    // A check without a nomination moves nothing.
    _ = try self.handle(self.check(), from: Self.second)
    #expect(self.agent.selectedAddress == Self.first)
  }

  @Test
  mutating func `a nomination from an address that does not answer selects nothing, and gets three bytes for one`()
    throws
  {
    _ = try self.handle(self.check(nominates: true))
    #expect(self.agent.selectedAddress == Self.first)
    var received = 0
    for _ in 0..<50 {
      self.now += .milliseconds(300)
      let forged = self.check(nominates: true)
      received += forged.readableBytes
      #expect(self.events(try self.handle(forged, from: Self.victim)) == [])
      #expect(self.agent.selectedAddress == Self.first && !self.agent.isValid(Self.victim, at: self.now))
      #expect(self.sentByteCounts[Self.victim, default: 0] <= received * 3)
    }
    // Nor does the session go on without the selected address.
    self.reachable = []
    #expect(try self.advance(.seconds(30)).last == .expired)
  }

  @Test mutating func `responses that were not asked for, of others, or with another password prove nothing`() throws {
    self.reachable = []
    let outputs = try self.handle(self.check())
    guard case .send(let datagram, Self.first) = outputs[1] else {
      Issue.record("\(outputs)")
      return
    }
    let check = try STUNMessage(parsing: datagram)
    var guess = check
    guess = STUNMessage(.request, transactionID: .init(7, 12345), attributes: guess.attributes)
    for (response, source) in [
      (Self.response(to: check), Self.victim), (Self.response(to: guess), Self.first),
      (Self.response(to: check, password: Self.credentials.password), Self.first),
    ] {
      #expect(try self.handle(response, from: source) == [.refused])
    }
    #expect(!self.agent.isValid(Self.first, at: self.now))
    #expect(try self.handle(Self.response(to: check)) == [.valid(Self.first)])
    // Once.
    #expect(try self.handle(Self.response(to: check)) == [.refused])
  }

  @Test mutating func `an address of TCP is proved by its connection`() throws {
    self.reachable = []
    var stream = Self.first
    stream.isTCP = true
    let events = self.events(try self.handle(self.check(nominates: true), from: stream))
    #expect(events == [.valid(stream), .selected(stream)])
  }

  @Test mutating func `a check that is sent again from another address is ignored`() throws {
    let check = self.check(nominates: true)
    let outputs = try self.handle(check)
    #expect(try self.handle(check, from: Self.second) == [.refused])
    #expect(self.agent.selectedAddress == Self.first && !self.agent.isKnown(Self.second))
    // From the same address it is a retransmission.
    #expect(try self.handle(check) == [outputs[0]])
  }

  @Test mutating func `an old nomination that is sent again proves nothing any more`() throws {
    let captured = self.check(nominates: true)
    _ = try self.handle(captured, from: Self.second)
    _ = try self.handle(self.check(nominates: true))
    for _ in 0..<70 {
      self.now += .milliseconds(500)
      _ = try self.handle(self.check(nominates: true))
    }
    self.reachable = [Self.first]
    _ = try self.handle(captured, from: Self.second)
    #expect(self.agent.selectedAddress == Self.first && !self.agent.isValid(Self.second, at: self.now))
  }

  private mutating func error(_ datagram: ByteBuffer) throws -> UInt16? {
    let outputs = try self.handle(datagram)
    guard outputs.first == .refused, case .send(let response, Self.first)? = outputs.last else { return nil }
    return try STUNMessage(parsing: response).errorCode
  }

  @Test mutating func `checks without the right credentials are refused, and make nothing known`() throws {
    #expect(try self.error(self.check(password: nil)) == 400)
    #expect(try self.error(self.check(password: "another password 12345")) == 401)
    #expect(try self.error(self.check(username: "abcde:efgh")) == 401)
    #expect(try self.error(self.check(username: "")) == 401)
    #expect(!self.agent.isKnown(Self.first) && self.agent.checkCount == 0 && self.agent.refusedCheckCount == 4)
  }

  @Test mutating func `a client that is not controlling must change its role`() throws {
    #expect(try self.error(self.check(role: .iceControlled(1))) == 487)
    #expect(!self.agent.isKnown(Self.first))
  }

  @Test mutating func `unknown attributes that must be understood are refused by their types`() throws {
    let datagram = self.check(extra: [
      .other(type: 0x7001, value: ByteBuffer()), .other(type: 0xC057, value: ByteBuffer()),
    ])
    guard case .send(let response, _)? = try self.handle(datagram).last else {
      Issue.record("not refused")
      return
    }
    #expect(
      try STUNMessage(parsing: response).attributes == [
        .errorCode(420, reason: "Unknown Attribute"), .unknownAttributes([0x7001]),
      ])
  }

  @Test mutating func `no response to a request without credentials is longer than it`() throws {
    var empty = ByteBuffer()
    STUNMessage(.request, transactionID: .init(1, 1), attributes: []).serialize(into: &empty, hasFingerprint: false)
    #expect(try self.handle(empty) == [.refused])
    var count = 0
    for length in 0..<100 {
      let datagram = self.check(username: String(repeating: "x", count: length), password: nil)
      guard case .send(let response, _)? = try self.handle(datagram).last else { continue }
      #expect(response.readableBytes <= datagram.readableBytes)
      count += 1
    }
    #expect(count > 50)
  }

  @Test mutating func `responses without a check and indications are ignored`() throws {
    for messageClass in [STUNMessage.Class.indication, .success, .error] {
      var datagram = ByteBuffer()
      STUNMessage(messageClass, transactionID: .init(1, 1), attributes: [.username("abcd:efgh")])
        .serialize(into: &datagram, key: STUNKey(password: Self.credentials.password))
      #expect(try self.handle(datagram) == [.refused])
    }
    #expect(!self.agent.isKnown(Self.first))
  }

  @Test mutating func `a session without a check ends after thirty seconds`() throws {
    #expect(self.agent.nextDeadline == .zero + .seconds(30))
    #expect(try self.advance(.milliseconds(29_999)) == [])
    #expect(try self.advance(.milliseconds(1)) == [.expired])
  }

  @Test mutating func `consent is asked for each five seconds, and ends twenty after the selected address was silent`()
    throws
  {
    _ = try self.handle(self.check(nominates: true))
    _ = try self.handle(self.check(), from: Self.second)
    let proofs = try self.advance(.seconds(60))
    #expect((10...15).contains(proofs.count) && proofs.allSatisfy { $0 == .valid(Self.first) })
    // Checks from elsewhere, or in the name of the selected address without an answer, prolongs nothing.
    self.reachable = [Self.second]
    var seconds = 0
    while self.agent.nextDeadline > self.now, seconds < 60 {
      if try self.advance(.seconds(1)).contains(.expired) { break }
      _ = try self.handle(self.check(nominates: false), from: Self.second)
      _ = try self.handle(self.check(nominates: false))
      seconds += 1
    }
    #expect((14...20).contains(seconds))
  }

  @Test mutating func `after a restart only the new credentials count, and media continues`() throws {
    _ = try self.handle(self.check(nominates: true))
    let credentials = try #require(
      ICECredentials(usernameFragment: "ijkl", password: "another-password-12345".replacing("-", with: "+")))
    let client = try #require(ICECredentials(usernameFragment: "mnop", password: "another0client0password"))
    self.now += .seconds(5)
    self.agent.restart(credentials: credentials, client: client, at: self.now)
    #expect(self.agent.selectedAddress == Self.first && self.agent.isValid(Self.first, at: self.now))
    #expect(try self.error(self.check()) == 401)
    self.reachable = []
    let outputs = try self.handle(
      self.check(username: "ijkl:mnop", password: credentials.password, nominates: true), from: Self.second)
    guard case .send(let datagram, Self.second)? = outputs.last else {
      Issue.record("\(outputs)")
      return
    }
    let check = try STUNMessage(parsing: datagram)
    #expect(check.username == "mnop:ijkl" && self.agent.selectedAddress == Self.first)
    _ = try self.handle(Self.response(to: check, password: client.password), from: Self.second)
    #expect(self.agent.selectedAddress == Self.second)
  }

  @Test mutating func `a check that is lost is sent again, without one of the client's`() throws {
    self.reachable = []
    let check = self.check(nominates: true)
    let outputs = try self.handle(check)
    #expect(!outputs.contains(.valid(Self.first)))
    #expect(self.agent.nextDeadline == .zero + .milliseconds(100))
    // The network is back.
    self.reachable = [Self.first]
    #expect(try self.advance(.milliseconds(100)) == [.valid(Self.first), .selected(Self.first)])
  }

  @Test mutating func `checks are repeated within three bytes for one, and other datagrams allow more of them`() throws
  {
    self.reachable = []
    let check = self.check()
    _ = try self.handle(check)
    _ = try self.advance(.seconds(5))
    let sent = try #require(self.sentByteCounts[Self.first])
    #expect(sent > check.readableBytes && sent <= check.readableBytes * 3)
    let outputs = self.agent.handleUnproven(byteCount: 1200, from: Self.first, at: self.now) { self.numbers.next() }
    _ = try self.answer(outputs)
    _ = try self.advance(.seconds(5))
    let checks = (try #require(self.sentByteCounts[Self.first]) - sent) / 100
    #expect((3...4).contains(checks))
    let others = self.agent.handleUnproven(byteCount: 1200, from: Self.victim, at: self.now) { 1 }
    #expect(others == [])
  }

  @Test mutating func `media of a publisher from the selected address is consent, from others it is not`() throws {
    _ = try self.handle(self.check(nominates: true))
    _ = try self.handle(self.check(), from: Self.second)
    self.reachable = []
    for _ in 0..<60 {
      #expect(try self.advance(.seconds(1)) == [])
      self.agent.handleMedia(from: Self.first, at: self.now)
    }
    #expect(self.agent.selectedAddress == Self.first)
    var seconds = 0
    while try !self.advance(.seconds(1)).contains(.expired), seconds < 60 {
      seconds += 1
      self.agent.handleMedia(from: Self.second, at: self.now)
    }
    #expect((18...20).contains(seconds))
  }

  @Test mutating func `without consent media goes nowhere, and a restart has time to find another address`() throws {
    _ = try self.handle(self.check(nominates: true))
    self.reachable = [Self.second]
    _ = try self.advance(.seconds(15))
    self.agent.restart(credentials: Self.credentials, client: Self.client, at: self.now)
    _ = try self.advance(.milliseconds(4_999))
    #expect(self.agent.selectedAddress == Self.first)
    #expect(try self.advance(.milliseconds(1)) == [])
    #expect(self.agent.selectedAddress == nil)
    #expect(try self.advance(.seconds(10)) == [])
    let outputs = try self.handle(self.check(nominates: true), from: Self.second)
    #expect(self.events(outputs) == [.valid(Self.second), .selected(Self.second)])
    #expect(try self.advance(.seconds(60)).last == .valid(Self.second))
  }

  @Test mutating func `a nomination of the selected address holds, where consent ends before the answer to our check`()
    throws
  {
    _ = try self.handle(self.check(nominates: true))
    self.reachable = []
    _ = try self.advance(.seconds(15))
    self.agent.restart(credentials: Self.credentials, client: Self.client, at: self.now)
    _ = try self.advance(.milliseconds(4_990))
    _ = try self.handle(self.check(nominates: true))
    _ = try self.advance(.milliseconds(20))
    #expect(self.agent.selectedAddress == nil)
    // The client checks as long as the restart is not done.
    self.reachable = [Self.first]
    let outputs = try self.handle(self.check())
    #expect(self.events(outputs) == [.valid(Self.first), .selected(Self.first)])
  }

  @Test mutating func `restarts do not add up`() throws {
    _ = try self.handle(self.check(nominates: true))
    self.reachable = []
    var seconds = 0
    while try !self.advance(.seconds(5)).contains(.expired), seconds < 200 {
      seconds += 5
      #expect((self.agent.selectedAddress != nil) == (seconds < 20))
      self.agent.restart(credentials: Self.credentials, client: Self.client, at: self.now)
    }
    // Thirty seconds from the first one, five seconds after the proof.
    #expect((30...35).contains(seconds))
  }

  @Test
  mutating func
    `a port of the client that checks two addresses of the machine is two pairs, each answered from its own`()
    throws
  {
    let pairs = [UInt32(0xC633_6401), 0xC633_6402].map { ip in
      var pair = Self.first
      pair.localIP = .v4(ip)
      return pair
    }
    self.reachable = Set(pairs)
    for pair in pairs {
      let outputs = try self.handle(self.check(), from: pair)
      let destinations = outputs.compactMap { if case .send(_, let address) = $0 { address } else { nil } }
      #expect(destinations == [pair, pair])
      #expect(self.agent.isValid(pair, at: self.now))
    }
    // The pair without an address of the machine is another one.
    #expect(!self.agent.isKnown(Self.first))
    _ = try self.handle(self.check(nominates: true), from: pairs[1])
    #expect(self.agent.selectedAddress == pairs[1])
  }

  @Test mutating func `addresses are bounded, and the selected one is kept`() throws {
    _ = try self.handle(self.check(nominates: true))
    var invalid: [ICELiteAgent.Output] = []
    for port in 1...100 {
      let address = TransportAddress(ip: Self.first.ip, port: UInt16(port))
      self.reachable.insert(address)
      invalid += try self.handle(self.check(), from: address).filter { if case .invalid = $0 { true } else { false } }
    }
    #expect(self.agent.isValid(Self.first, at: self.now) && invalid.count == 69)
    let valid = (1...100).filter {
      self.agent.isValid(TransportAddress(ip: Self.first.ip, port: UInt16($0)), at: self.now)
    }
    #expect(valid == Array(70...100))
  }

  @Test func `credentials are made of ice characters, and not shown`() {
    var bits: UInt64 = 1
    let made = ICECredentials {
      bits = bits &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return bits
    }
    #expect(made.usernameFragment.utf8.count == 8 && made.password.utf8.count == 24)
    #expect(ICECredentials(usernameFragment: made.usernameFragment, password: made.password) == made)
    var text = ""
    dump(made, to: &text)
    #expect(!"\(made)\(text)".contains(made.password))
    let password = made.password
    for fragment in ["abc", String(repeating: "a", count: 257), "abc:", "abc d"] {
      #expect(ICECredentials(usernameFragment: fragment, password: password) == nil)
    }
    #expect(ICECredentials(usernameFragment: "abcd", password: String(repeating: "a", count: 21)) == nil)
  }
}
