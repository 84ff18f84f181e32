import Authentication
import Media
import NIOCore
import Testing
import WebRTC

@Suite("Sessions of one port")
struct ICESessionTableTests {
  private static let client = IPAddress(parsing: "192.0.2.9")!
  private static let address = TransportAddress("192.0.2.1", port: 1000)!

  private static func check(_ username: String?) -> STUNMessage {
    STUNMessage(
      .request, transactionID: .init(0, 0), attributes: username.map { [.username($0)] } ?? [])
  }

  private static let start = MediaTime.zero + .seconds(1)

  @Test func `checks find their session by the fragment, responses by the number, all else by the address`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    func bind(to id: Int, second: Int64 = 0) -> Bool {
      table.bind(Self.address, to: id, at: Self.start + .seconds(second))
    }
    _ = try table.add(1, usernameFragment: "aaaa", client: Self.client)
    let number = try table.add(2, usernameFragment: "bbbb", client: Self.client).number
    #expect(table.session(for: Self.check("bbbb:xxxx"), from: Self.address) == 2)
    #expect(table.session(for: Self.check("bbbb"), from: Self.address) == 2)
    #expect(table.session(for: Self.check("bbb:xxxx"), from: Self.address) == nil)
    for messageClass in [STUNMessage.Class.success, .error] {
      let response = STUNMessage(messageClass, transactionID: .init(number, 9), attributes: [])
      #expect(table.session(for: response, from: Self.address) == 2)
      let other = STUNMessage(messageClass, transactionID: .init(number + 1, 9), attributes: [])
      #expect(table.session(for: other, from: Self.address) == nil)
    }
    #expect(table.session(at: Self.address) == nil)
    #expect(bind(to: 2))
    #expect(table.session(at: Self.address) == 2)
    #expect(table.session(for: Self.check(nil), from: Self.address) == 2)
    table.remove(2)
    #expect(
      table.session(at: Self.address) == nil && table.session(for: Self.check("bbbb:x"), from: Self.address) == nil)
    table.remove(1)
    #expect(table.count == 0 && !bind(to: 1))
  }

  @Test func `no session takes the address of another one that has proved it within ten seconds`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    func bind(to id: Int, second: Int64 = 0) -> Bool {
      table.bind(Self.address, to: id, at: Self.start + .seconds(second))
    }
    for id in 1...2 { _ = try table.add(id, usernameFragment: "aaa\(id)", client: Self.client) }
    #expect(bind(to: 1))
    for second: Int64 in 0..<10 { #expect(!bind(to: 2, second: second)) }
    #expect(bind(to: 1, second: 5))
    #expect(!bind(to: 2, second: 14))
    #expect(table.session(at: Self.address) == 1)
    // A client behind a NAT has got the port that another one had.
    #expect(bind(to: 2, second: 15) && table.session(at: Self.address) == 2)
    table.unbind(Self.address, from: 1)
    table.remove(1)
    #expect(table.session(at: Self.address) == 2)
    table.unbind(Self.address, from: 2)
    #expect(table.session(at: Self.address) == nil)
  }

  @Test func `an address that a check names belongs to the session until another one proves it`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    func bind(to id: Int, second: Int64 = 0) -> Bool {
      table.bind(Self.address, to: id, at: Self.start + .seconds(second))
    }
    for id in 1...2 { _ = try table.add(id, usernameFragment: "aaa\(id)", client: Self.client) }
    table.expect(Self.address, of: 1)
    #expect(table.session(at: Self.address) == 1)
    #expect(bind(to: 2) && table.session(at: Self.address) == 2)
    table.expect(Self.address, of: 1)
    table.remove(1)
    #expect(table.session(at: Self.address) == 2)
  }

  @Test func `the newest of two sessions that name an address has it until one proves it`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    for id in 1...2 { _ = try table.add(id, usernameFragment: "aaa\(id)", client: Self.client) }
    for id in [1, 2, 1, 2] { table.expect(Self.address, of: id) }
    #expect(table.session(at: Self.address) == 2)
    table.remove(1)
    #expect(table.session(at: Self.address) == 2)
  }

  @Test(arguments: [true, false])
  func `an address that two sessions have proved goes to the second when the first one ends`(isRemoved: Bool) throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    for id in 1...3 { _ = try table.add(id, usernameFragment: "aaa\(id)", client: Self.client) }
    func bind(to id: Int, second: Int64 = 0) -> Bool {
      table.bind(Self.address, to: id, at: Self.start + .seconds(second))
    }
    #expect(bind(to: 1))
    // A client that reconnects from its port.
    for id in [3, 2] { #expect(!bind(to: id, second: 1)) }
    #expect(bind(to: 1, second: 2))
    if isRemoved { table.remove(1) } else { table.unbind(Self.address, from: 1) }
    #expect(table.session(at: Self.address) == 2)
    table.remove(2)
    #expect(table.session(at: Self.address) == nil)
  }

  @Test func `a claim ends with the claimant's address`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    for id in 1...2 { _ = try table.add(id, usernameFragment: "aaa\(id)", client: Self.client) }
    for id in 1...2 { table.bind(Self.address, to: id, at: Self.start) }
    table.unbind(Self.address, from: 2)
    #expect(table.session(at: Self.address) == 1)
    table.unbind(Self.address, from: 1)
    #expect(table.session(at: Self.address) == nil)
  }

  @Test func `publishers are not counted, and not displaced`() throws {
    var table = ICESessionTable<Int>(maximumCount: 2, maximumCountPerClient: 2)
    let number = try table.addPublisher(9, usernameFragment: "pppp")
    for id in 1...2 { _ = try table.add(id, usernameFragment: "aaa\(id)", client: Self.client) }
    #expect(throws: ICESessionTable<Int>.Refusal.tooManySessionsOfClient) {
      _ = try table.add(3, usernameFragment: "aaa3", client: Self.client)
    }
    #expect(try table.add(4, usernameFragment: "aaa4", client: .v4(7)).displaced != 9)
    #expect(throws: ICESessionTable<Int>.Refusal.usernameFragmentInUse) {
      _ = try table.addPublisher(10, usernameFragment: "pppp")
    }
    let response = STUNMessage(.success, transactionID: .init(number, 9), attributes: [])
    #expect(table.session(for: response, from: Self.address) == 9)
    table.remove(9)
    #expect(table.session(for: response, from: Self.address) == nil)
  }

  @Test func `sessions are bounded by client and by fragment`() throws {
    var table = ICESessionTable<Int>(maximumCount: 3, maximumCountPerClient: 2)
    let network = try ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map { try #require(IPAddress(parsing: $0)) }
    _ = try table.add(1, usernameFragment: "aaaa", client: network[0])
    #expect(throws: ICESessionTable<Int>.Refusal.usernameFragmentInUse) {
      _ = try table.add(2, usernameFragment: "aaaa", client: network[0])
    }
    _ = try table.add(2, usernameFragment: "bbbb", client: network[1])
    #expect(throws: ICESessionTable<Int>.Refusal.tooManySessionsOfClient) {
      _ = try table.add(3, usernameFragment: "cccc", client: network[2])
    }
    table.remove(1)
    _ = try table.add(4, usernameFragment: "aaaa", client: network[2])
  }

  @Test func `when it is full, the network with the most sessions loses its least useful one`() throws {
    var table = ICESessionTable<Int>(maximumCount: 10, maximumCountPerClient: 100)
    let (many, one) = (IPAddress.v4(1), IPAddress.v4(2))
    for id in 1...10 { _ = try table.add(id, usernameFragment: "frag\(id)", client: many) }
    table.setUse(.session, of: 1)
    table.setUse(.idle, of: 2)
    let addition = try table.add(11, usernameFragment: "frag11", client: one)
    #expect(addition.displaced == 3)
    table.remove(3)
    // Its own sessions that are connected stay, and further ones of it are refused.
    for id in 1...10 { table.setUse(.session, of: id) }
    #expect(throws: ICESessionTable<Int>.Refusal.tooManySessions) {
      _ = try table.add(12, usernameFragment: "frag12", client: many)
    }
    #expect(try table.add(13, usernameFragment: "frag13", client: .v4(3)).displaced == 1)
  }

  @Test func `10,000 requests without a check stay within the bounds`() throws {
    var table = ICESessionTable<Int>(maximumCount: 1000, maximumCountPerClient: 32)
    for id in 0..<10_000 {
      let addition = try? table.add(id, usernameFragment: "frag\(id)", client: .v4(UInt32(id % 100)))
      if let displaced = addition?.displaced { table.remove(displaced) }
    }
    #expect(table.count == 1000)
    for id in 0..<10_000 { table.remove(id) }
    #expect(table.count == 0)
  }

  @Test func `a restart keeps the previous fragment until the next one`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    _ = try table.add(1, usernameFragment: "aaaa", client: Self.client)
    try table.restart(1, usernameFragment: "bbbb")
    #expect(table.session(for: Self.check("aaaa:x"), from: Self.address) == 1)
    #expect(throws: ICESessionTable<Int>.Refusal.usernameFragmentInUse) {
      try table.restart(1, usernameFragment: "aaaa")
    }
    try table.restart(1, usernameFragment: "cccc")
    #expect(table.session(for: Self.check("aaaa:x"), from: Self.address) == nil)
    #expect(table.session(for: Self.check("bbbb:x"), from: Self.address) == 1)
    table.remove(1)
    for fragment in ["bbbb", "cccc"] {
      #expect(table.session(for: Self.check(fragment), from: Self.address) == nil)
    }
  }
}
