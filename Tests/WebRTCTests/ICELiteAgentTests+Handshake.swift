import Media
import TestSupport
import Testing
import WebRTC

extension ICELiteAgentTests {
  /// The client ends its handshake of DTLS at an address.
  private mutating func endHandshake(at address: TransportAddress) -> [ICELiteAgent.Output] {
    self.agent.handleHandshake(at: address, at: self.now) { self.numbers.next() }
  }

  @Test mutating func `the end of the handshake selects its proved address, and a nomination another one`() throws {
    _ = try self.handle(self.check())
    _ = try self.handle(self.check(), from: Self.second)
    #expect(self.endHandshake(at: Self.second) == [.selected(Self.second)])
    #expect(self.agent.selectedAddress == Self.second)
    // Once.
    #expect(self.endHandshake(at: Self.first) == [] && self.agent.selectedAddress == Self.second)
    #expect(self.events(try self.handle(self.check(nominates: true))) == [.selected(Self.first)])
    // Consent is asked for there, and its end ends the session.
    self.reachable = [Self.second]
    #expect(try self.advance(.seconds(20)).last == .expired)
  }

  @Test mutating func `the end of the handshake does not displace a nomination that is being proved`() throws {
    _ = try self.handle(self.check())
    self.reachable = [Self.first]
    #expect(self.events(try self.handle(self.check(nominates: true), from: Self.second)) == [])
    #expect(self.endHandshake(at: Self.first) == [] && self.agent.selectedAddress == nil)
    // The check that was lost is sent again.
    self.reachable = [Self.first, Self.second]
    #expect(try self.advance(.milliseconds(100)) == [.valid(Self.second), .selected(Self.second)])
  }

  @Test mutating func `the end of the handshake at an address without a recent proof selects nothing`() throws {
    #expect(self.endHandshake(at: Self.first) == [] && !self.agent.isKnown(Self.first))
    // Checked from, and not proved.
    _ = try self.handle(self.check(), from: Self.victim)
    #expect(self.endHandshake(at: Self.victim) == [] && self.agent.isKnown(Self.victim))
    // Proved five seconds ago, also by a connection of TCP.
    var stream = Self.first
    stream.isTCP = true
    _ = try self.handle(self.check())
    _ = try self.handle(self.check(), from: stream)
    self.now += .seconds(5)
    for address in [Self.first, stream] {
      #expect(self.endHandshake(at: address) == [] && self.agent.isValid(address, at: self.now))
    }
    #expect(self.agent.selectedAddress == nil)
  }

  @Test mutating func `the end of the handshake selects an address of TCP, which its connection has proved`() throws {
    self.reachable = []
    var stream = Self.first
    stream.isTCP = true
    #expect(self.events(try self.handle(self.check(), from: stream)) == [.valid(stream)])
    #expect(self.endHandshake(at: stream) == [.selected(stream)] && self.agent.selectedAddress == stream)
  }

  @Test mutating func `after consent ended, the end of the handshake selects a new proof only`() throws {
    _ = try self.handle(self.check(nominates: true))
    self.reachable = []
    _ = try self.advance(.seconds(15))
    self.agent.restart(credentials: Self.credentials, client: Self.client, at: self.now)
    _ = try self.advance(.seconds(5))
    #expect(self.agent.selectedAddress == nil)
    #expect(self.endHandshake(at: Self.first) == [] && self.agent.selectedAddress == nil)
    self.reachable = [Self.second]
    #expect(self.events(try self.handle(self.check(), from: Self.second)) == [.valid(Self.second)])
    #expect(self.endHandshake(at: Self.second) == [.selected(Self.second)])
    #expect(try self.advance(.seconds(60)).last == .valid(Self.second))
  }

  @Test mutating func `a nomination from before a restart is not waited for, and selects nothing any more`() throws {
    _ = try self.handle(self.check())
    self.reachable = [Self.first]
    _ = try self.handle(self.check(nominates: true), from: Self.second)
    self.agent.restart(credentials: Self.credentials, client: Self.client, at: self.now)
    self.reachable = [Self.first, Self.second]
    #expect(self.events(try self.handle(self.check(), from: Self.second)) == [.valid(Self.second)])
    #expect(self.endHandshake(at: Self.first) == [.selected(Self.first)])
    #expect(self.agent.selectedAddress == Self.first)
  }
}
