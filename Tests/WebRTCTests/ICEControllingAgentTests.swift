import Media
import NIOCore
import TestSupport
import Testing
import WebRTC

@Suite("ICE agent that pushes, RFC 8445 and RFC 7675")
struct ICEControllingAgentTests {
  private static let local = ICECredentials(usernameFragment: "push", password: "0123456789012345678901")!
  private static let remote = ICECredentials(usernameFragment: "serv", password: "abcdefghijklmnopqrstuv")!
  private static let near = TransportAddress("192.0.2.1", port: 1000)!
  private static let far = TransportAddress("198.51.100.7", port: 2000)!
  private static let own = TransportAddress("203.0.113.9", port: 3000)!

  private var numbers = SplitMix(seed: 1)
  private var now = MediaTime.zero

  private static func agent(_ addresses: [TransportAddress] = [near, far]) -> ICEControllingAgent {
    ICEControllingAgent(
      local: local, remote: remote,
      candidates: addresses.enumerated().map { ICECandidate(host: $0.element, rank: $0.offset) }, tieBreaker: 9,
      at: .zero)
  }

  /// A check that the agent sent.
  private struct Sent: Equatable {
    var to: TransportAddress
    var milliseconds: Int64
    var nominates: Bool
  }

  /// Runs the agent with a lite server that some addresses reach, until a time.
  private mutating func run(
    _ agent: inout ICEControllingAgent, _ server: inout ICELiteAgent, until end: MediaTime,
    reachable: Set<TransportAddress>
  ) throws -> (sent: [Sent], events: [ICEControllingAgent.Output]) {
    var (sent, events): ([Sent], [ICEControllingAgent.Output]) = ([], [])
    while let deadline = agent.nextDeadline, deadline < end {
      self.now = max(self.now, deadline)
      var outputs = agent.handleTimeout(at: self.now) { self.numbers.next() }
      while !outputs.isEmpty {
        guard case .send(let datagram, let address) = outputs.removeFirst() else { continue }
        let message = try STUNMessage(parsing: datagram)
        sent.append(
          Sent(to: address, milliseconds: self.now.nanoseconds / 1_000_000, nominates: message.nominates))
        guard reachable.contains(address) else { continue }
        var toAgent = server.handle(
          message, length: datagram.readableBytes, from: Self.own, at: self.now, makeRandom: { self.numbers.next() })
        #expect(!toAgent.contains(.refused))
        while !toAgent.isEmpty {
          guard case .send(let datagram, Self.own) = toAgent.removeFirst() else { continue }
          for output in agent.handle(try STUNMessage(parsing: datagram), from: address, at: self.now) {
            guard case .send(let reply, address) = output else {
              events.append(output)
              continue
            }
            // Its response to the server's check.
            toAgent += server.handle(
              try STUNMessage(parsing: reply), length: reply.readableBytes, from: Self.own, at: self.now,
              makeRandom: { self.numbers.next() })
          }
        }
      }
      if agent.nextDeadline == nil { events.append(.failed) }
    }
    self.now = max(self.now, end)
    return (sent, events)
  }

  private static func server() -> ICELiteAgent {
    ICELiteAgent(credentials: remote, client: local, number: 1, at: .zero)
  }

  @Test mutating func `the first candidate that answers is nominated and selected, and checked every five seconds`()
    throws
  {
    var (agent, server) = (Self.agent(), Self.server())
    let first = try self.run(&agent, &server, until: .zero + .seconds(1), reachable: [Self.near, Self.far])
    #expect(
      first.sent == [
        Sent(to: Self.near, milliseconds: 0, nominates: false), Sent(to: Self.near, milliseconds: 0, nominates: true),
      ])
    #expect(first.events == [.selected(Self.near)] && agent.selectedAddress == Self.near)
    #expect(server.selectedAddress == Self.own)
    let later = try self.run(&agent, &server, until: .zero + .seconds(60), reachable: [Self.near])
    #expect((10...15).contains(later.sent.count) && later.sent.allSatisfy { $0.to == Self.near })
    for (one, next) in zip(later.sent, later.sent.dropFirst()) {
      #expect((4000...6000).contains(next.milliseconds - one.milliseconds))
    }
    #expect(later.events.isEmpty)
  }

  @Test mutating func `checks are paced by 50 ms, sent again after 0_5, 1, 2 and 4 s, and the one that works is taken`()
    throws
  {
    var (agent, server) = (Self.agent(), Self.server())
    let result = try self.run(&agent, &server, until: .zero + .milliseconds(40), reachable: [])
    #expect(result.sent == [Sent(to: Self.near, milliseconds: 0, nominates: false)])
    let second = try self.run(&agent, &server, until: .zero + .seconds(1), reachable: [Self.far])
    #expect(
      second.sent.prefix(2) == [
        Sent(to: Self.far, milliseconds: 50, nominates: false), Sent(to: Self.far, milliseconds: 50, nominates: true),
      ])
    #expect(second.events == [.selected(Self.far)] && !second.sent.contains { $0.to == Self.near })
  }

  @Test mutating func `without any answer it fails after 15 s, with five checks for each candidate`() throws {
    var (agent, server) = (Self.agent(), Self.server())
    let result = try self.run(&agent, &server, until: .zero + .seconds(60), reachable: [])
    #expect(result.sent.filter { $0.to == Self.near }.map(\.milliseconds) == [0, 500, 1500, 3500, 7500])
    #expect(result.sent.filter { $0.to == Self.far }.map(\.milliseconds) == [50, 550, 1550, 3550, 7550])
    #expect(result.events == [.failed] && agent.nextDeadline == nil)
  }

  @Test mutating func `consent ends 30 s after the last answer`() throws {
    var (agent, server) = (Self.agent(), Self.server())
    _ = try self.run(&agent, &server, until: .zero + .seconds(1), reachable: [Self.near])
    let result = try self.run(&agent, &server, until: .zero + .seconds(60), reachable: [])
    #expect(result.events == [.failed] && (5...10).contains(result.sent.count))
    #expect(result.sent.allSatisfy { $0.milliseconds < 30_000 })
  }

  /// Runs the agent for ten seconds with a server that answers nominations of the near candidate with an error first.
  ///
  /// - Returns: The nominations until a pair was selected, and that pair.
  private mutating func run(
    answering code: UInt16, times: Int
  ) throws -> (nominations: [Sent], selected: TransportAddress?) {
    var agent = Self.agent()
    var (nominations, left) = ([Sent](), times)
    while agent.selectedAddress == nil, let deadline = agent.nextDeadline, deadline < .zero + .seconds(10) {
      self.now = max(self.now, deadline)
      for case .send(let datagram, let address) in agent.handleTimeout(
        at: self.now, makeRandom: { self.numbers.next() })
      {
        let message = try STUNMessage(parsing: datagram)
        let milliseconds = self.now.nanoseconds / 1_000_000
        if message.nominates { nominations.append(Sent(to: address, milliseconds: milliseconds, nominates: true)) }
        let fails = message.nominates && address == Self.near && left > 0
        if fails { left -= 1 }
        var buffer = ByteBuffer()
        STUNMessage(
          fails ? .error : .success, transactionID: message.transactionID,
          attributes: fails ? [.errorCode(code, reason: "no")] : [.xorMappedAddress(Self.own)]
        ).serialize(into: &buffer, key: STUNKey(password: Self.remote.password))
        _ = agent.handle(try STUNMessage(parsing: buffer), from: address, at: self.now)
      }
    }
    return (nominations, agent.selectedAddress)
  }

  @Test(arguments: [487, 500] as [UInt16])
  mutating func `a nomination that a server may take later is sent again`(code: UInt16) throws {
    let result = try self.run(answering: code, times: 1)
    #expect(
      result.nominations == [0, 500].map { Sent(to: Self.near, milliseconds: $0, nominates: true) }
        && result.selected == Self.near)
  }

  @Test(arguments: [(400, 1, 1), (487, 100, 5)] as [(UInt16, Int, Int)])
  mutating func `after errors to the nomination another pair is nominated`(
    code: UInt16, times: Int, nominations: Int
  ) throws {
    let result = try self.run(answering: code, times: times)
    #expect(result.nominations.count { $0.to == Self.near } == nominations)
    #expect(result.selected == Self.far && self.now < .zero + .seconds(3))
  }

  /// A check of a server that is a full agent.
  private static func check(
    username: String = "push:serv", key: String = local.password, role: STUNAttribute = .iceControlled(1)
  ) throws -> STUNMessage {
    var buffer = ByteBuffer()
    STUNMessage(.request, transactionID: .init(1, 2), attributes: [.username(username), role, .priority(7)])
      .serialize(into: &buffer, key: STUNKey(password: key))
    return try STUNMessage(parsing: buffer)
  }

  @Test mutating func `a server's check is answered, and its address is checked although no candidate has it`() throws {
    var (agent, server) = (Self.agent([]), Self.server())
    #expect(agent.nextDeadline == MediaTime.zero + ICEControllingAgent.selectionTimeout)
    let outputs = agent.handle(try Self.check(), from: Self.far, at: .zero + .seconds(1))
    guard case .send(let datagram, Self.far) = outputs.first, outputs.count == 1 else {
      Issue.record("\(outputs)")
      return
    }
    let response = try STUNMessage(parsing: datagram)
    #expect(response.messageClass == .success && response.mappedAddress == Self.far)
    #expect(response.isAuthentic(with: STUNKey(password: Self.local.password)))
    let result = try self.run(&agent, &server, until: .zero + .seconds(2), reachable: [Self.far])
    #expect(result.events == [.selected(Self.far)])
  }

  @Test func `checks without our password, or of a server that wants to control, change nothing`() throws {
    var agent = Self.agent([])
    for check in [try Self.check(username: "other:serv"), try Self.check(key: "xxxxxxxxxxxxxxxxxxxxxxxx")] {
      #expect(agent.handle(check, from: Self.far, at: .zero).isEmpty)
    }
    #expect(agent.refusedCount == 2)
    let outputs = agent.handle(try Self.check(role: .iceControlling(1)), from: Self.far, at: .zero)
    guard case .send(let datagram, Self.far) = outputs.first else {
      Issue.record("\(outputs)")
      return
    }
    let response = try STUNMessage(parsing: datagram)
    #expect(response.messageClass == .error && response.attributes.contains(.errorCode(487, reason: "Role Conflict")))
    #expect(agent.nextDeadline == MediaTime.zero + ICEControllingAgent.selectionTimeout)
  }

  @Test mutating func `a response from elsewhere, of another transaction, or forged is refused`() throws {
    var agent = Self.agent([Self.near])
    guard case .send(let datagram, _) = agent.handleTimeout(at: .zero, makeRandom: { self.numbers.next() }).first else {
      Issue.record("no check")
      return
    }
    let transaction = try STUNMessage(parsing: datagram).transactionID
    func response(_ transaction: STUNTransactionID, key: String = Self.remote.password) throws -> STUNMessage {
      var buffer = ByteBuffer()
      STUNMessage(.success, transactionID: transaction, attributes: [.xorMappedAddress(Self.own)])
        .serialize(into: &buffer, key: STUNKey(password: key))
      return try STUNMessage(parsing: buffer)
    }
    _ = agent.handle(try response(transaction), from: Self.far, at: .zero)
    _ = agent.handle(try response(.init(5, 5)), from: Self.near, at: .zero)
    _ = agent.handle(try response(transaction, key: Self.local.password), from: Self.near, at: .zero)
    #expect(agent.refusedCount == 3 && agent.nextDeadline == MediaTime.zero + .milliseconds(500))
    _ = agent.handle(try response(transaction), from: Self.near, at: .zero)
    #expect(agent.nextDeadline == .zero)
  }
}
