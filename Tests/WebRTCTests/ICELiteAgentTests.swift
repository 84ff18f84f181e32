import Media
import NIOCore
import Testing
import WebRTC

@Suite("ICE-lite agent, RFC 8445 and RFC 7675")
struct ICELiteAgentTests {
  private static let credentials = ICECredentials(
    usernameFragment: "abcd", password: "0123456789012345678901")!
  private static let first = TransportAddress("192.0.2.1", port: 1000)!
  private static let second = TransportAddress("2001:db8::2", port: 2000)!

  private var agent = ICELiteAgent(credentials: credentials, at: .zero)
  private var transaction: UInt64 = 0

  /// A check as Chromium sends it.
  private mutating func check(
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

  private mutating func handle(
    _ datagram: ByteBuffer, from source: TransportAddress = first, at now: MediaTime = .zero
  ) throws -> ICELiteAgent.Outcome {
    try self.agent.handle(
      STUNMessage(parsing: datagram), length: datagram.readableBytes, from: source, at: now)
  }

  @Test mutating func `a check is answered with the address that it came from, and makes that valid`() throws {
    let check = self.check()
    for source in [Self.first, Self.second] {
      self.agent = ICELiteAgent(credentials: Self.credentials, at: .zero)
      #expect(!self.agent.isValid(source))
      guard case .valid(let datagram, didSelect: false) = try self.handle(check, from: source) else {
        Issue.record("refused")
        return
      }
      let response = try STUNMessage(parsing: datagram)
      #expect(response.messageClass == .success && response.mappedAddress == source)
      #expect(response.transactionID == STUNTransactionID(1, 1))
      #expect(response.isAuthentic(with: STUNKey(password: Self.credentials.password)) && response.hasFingerprint)
      #expect(self.agent.isValid(source) && self.agent.selectedAddress == nil)
    }
  }

  @Test mutating func `media goes where the last nomination came from`() throws {
    _ = try self.handle(self.check())
    for (source, didSelect) in [(Self.first, true), (Self.first, false), (Self.second, true), (Self.first, true)] {
      guard case .valid(_, didSelect) = try self.handle(self.check(nominates: true), from: source) else {
        Issue.record("\(source)")
        return
      }
      #expect(self.agent.selectedAddress == source)
    }
    // A check without a nomination moves nothing.
    _ = try self.handle(self.check(), from: Self.second)
    #expect(self.agent.selectedAddress == Self.first)
  }

  @Test mutating func `a check that is sent again from another address is ignored`() throws {
    let check = self.check(nominates: true)
    let outcome = try self.handle(check)
    #expect(try self.handle(check, from: Self.second) == .ignored)
    #expect(self.agent.selectedAddress == Self.first && !self.agent.isValid(Self.second))
    // From the same address it is a retransmission.
    guard case .valid(let response, _) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(try self.handle(check) == .valid(response: response, didSelect: false))
  }

  private mutating func error(_ datagram: ByteBuffer) throws -> UInt16? {
    guard case .refused(let response) = try self.handle(datagram) else { return nil }
    return try STUNMessage(parsing: response).errorCode
  }

  @Test mutating func `checks without the right credentials are refused, and make nothing valid`() throws {
    #expect(try self.error(self.check(password: nil)) == 400)
    #expect(try self.error(self.check(password: "another password 12345")) == 401)
    #expect(try self.error(self.check(username: "abcde:efgh")) == 401)
    #expect(try self.error(self.check(username: "")) == 401)
    #expect(!self.agent.isValid(Self.first) && self.agent.checkCount == 0 && self.agent.refusedCheckCount == 4)
  }

  @Test mutating func `a client that is not controlling must change its role`() throws {
    #expect(try self.error(self.check(role: .iceControlled(1))) == 487)
    #expect(!self.agent.isValid(Self.first))
  }

  @Test mutating func `unknown attributes that must be understood are refused by their types`() throws {
    let datagram = self.check(extra: [
      .other(type: 0x7001, value: ByteBuffer()), .other(type: 0xC057, value: ByteBuffer()),
    ])
    guard case .refused(let response) = try self.handle(datagram) else {
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
    #expect(try self.handle(empty) == .ignored)
    for length in 0..<100 {
      let datagram = self.check(username: String(repeating: "x", count: length), password: nil)
      guard case .refused(let response) = try self.handle(datagram) else { continue }
      #expect(response.readableBytes <= datagram.readableBytes)
    }
  }

  @Test mutating func `responses and indications are ignored`() throws {
    for messageClass in [STUNMessage.Class.indication, .success, .error] {
      var datagram = ByteBuffer()
      STUNMessage(messageClass, transactionID: .init(1, 1), attributes: [.username("abcd:efgh")])
        .serialize(into: &datagram, key: STUNKey(password: Self.credentials.password))
      #expect(try self.handle(datagram) == .ignored)
    }
    #expect(!self.agent.isValid(Self.first))
  }

  @Test mutating func `a session without a check ends after thirty seconds`() {
    #expect(self.agent.nextDeadline == .zero + .seconds(30))
    #expect(!self.agent.isExpired(at: .zero + .milliseconds(29_999)) && self.agent.isExpired(at: .zero + .seconds(30)))
  }

  @Test mutating func `consent ends twenty seconds after the last authentic datagram`() throws {
    _ = try self.handle(self.check(), at: .zero + .seconds(1))
    #expect(self.agent.nextDeadline == .zero + .seconds(21))
    self.agent.handleAuthenticDatagram(from: Self.first, at: .zero + .seconds(10))
    #expect(self.agent.nextDeadline == .zero + .seconds(30))
    // Datagrams of others do not count, nor checks that are refused.
    self.agent.handleAuthenticDatagram(from: Self.second, at: .zero + .seconds(20))
    _ = try self.handle(self.check(password: "another password 12345"), at: .zero + .seconds(20))
    #expect(self.agent.nextDeadline == .zero + .seconds(30) && self.agent.isExpired(at: .zero + .seconds(30)))
  }

  @Test mutating func `after a restart only the new credentials count, and media continues`() throws {
    _ = try self.handle(self.check(nominates: true))
    let credentials = try #require(
      ICECredentials(usernameFragment: "ijkl", password: "another-password-12345".replacing("-", with: "+")))
    self.agent.restart(credentials: credentials, at: .zero + .seconds(5))
    #expect(self.agent.selectedAddress == Self.first && self.agent.isValid(Self.first))
    #expect(try self.error(self.check()) == 401)
    let check = self.check(username: "ijkl:mnop", password: credentials.password, nominates: true)
    _ = try self.handle(check, from: Self.second)
    #expect(self.agent.selectedAddress == Self.second)
  }

  @Test mutating func `valid addresses are bounded, and the selected one is kept`() throws {
    _ = try self.handle(self.check(nominates: true))
    for port in 1...100 {
      _ = try self.handle(self.check(), from: TransportAddress(ip: Self.first.ip, port: UInt16(port)))
    }
    #expect(self.agent.isValid(Self.first))
    let valid = (1...100).filter { self.agent.isValid(TransportAddress(ip: Self.first.ip, port: UInt16($0))) }
    #expect(valid == Array(94...100))
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
