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

  @Test func `STUN finds its session by the fragment, all else by the address`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    try table.add(1, usernameFragment: "aaaa", client: Self.client)
    try table.add(2, usernameFragment: "bbbb", client: Self.client)
    #expect(table.session(for: Self.check("bbbb:xxxx"), from: Self.address) == 2)
    #expect(table.session(for: Self.check("bbbb"), from: Self.address) == 2)
    #expect(table.session(for: Self.check("bbb:xxxx"), from: Self.address) == nil)
    #expect(table.session(at: Self.address) == nil)
    table.bind(Self.address, to: 2)
    #expect(table.session(at: Self.address) == 2)
    #expect(table.session(for: Self.check(nil), from: Self.address) == 2)
    // A client that takes over the port of another one.
    table.bind(Self.address, to: 1)
    #expect(table.session(at: Self.address) == 1)
    table.remove(2)
    #expect(table.session(at: Self.address) == 1 && table.session(for: Self.check("bbbb:x"), from: Self.address) == nil)
    table.remove(1)
    #expect(table.session(at: Self.address) == nil && table.count == 0)
    table.bind(Self.address, to: 1)
    #expect(table.session(at: Self.address) == nil)
  }

  @Test func `sessions are bounded in total, by client and by fragment`() throws {
    var table = ICESessionTable<Int>(maximumCount: 3, maximumCountPerClient: 2)
    let network = try ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map { try #require(IPAddress(parsing: $0)) }
    try table.add(1, usernameFragment: "aaaa", client: network[0])
    #expect(throws: ICESessionTable<Int>.Refusal.usernameFragmentInUse) {
      try table.add(2, usernameFragment: "aaaa", client: network[0])
    }
    try table.add(2, usernameFragment: "bbbb", client: network[1])
    #expect(throws: ICESessionTable<Int>.Refusal.tooManySessionsOfClient) {
      try table.add(3, usernameFragment: "cccc", client: network[2])
    }
    try table.add(3, usernameFragment: "cccc", client: Self.client)
    #expect(throws: ICESessionTable<Int>.Refusal.tooManySessions) {
      try table.add(4, usernameFragment: "dddd", client: Self.client)
    }
    table.remove(1)
    try table.add(4, usernameFragment: "aaaa", client: network[2])
  }

  @Test func `10,000 requests without a check stay within the bounds`() {
    var table = ICESessionTable<Int>(maximumCount: 1000, maximumCountPerClient: 32)
    for id in 0..<10_000 {
      try? table.add(id, usernameFragment: "frag\(id)", client: .v4(UInt32(id % 100)))
    }
    #expect(table.count == 1000)
    for id in 0..<10_000 { table.remove(id) }
    #expect(table.count == 0)
  }

  @Test func `a restart keeps the previous fragment until the next one`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    try table.add(1, usernameFragment: "aaaa", client: Self.client)
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

  @Test func `addresses of a session are bounded`() throws {
    var table = ICESessionTable<Int>(maximumCount: 4, maximumCountPerClient: 4)
    try table.add(1, usernameFragment: "aaaa", client: Self.client)
    for port in 1...100 { table.bind(TransportAddress(ip: Self.client, port: UInt16(port)), to: 1) }
    let known = (1...100).filter { table.session(at: TransportAddress(ip: Self.client, port: UInt16($0))) == 1 }
    #expect(known == Array(93...100))
  }
}
