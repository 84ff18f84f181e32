import Testing

@testable import Authentication

@Suite("Table of connections")
struct ConnectionTableTests {
  /// A table whose connections have names, and its answers as text.
  private final class Dialogue {
    private var table: ConnectionTable
    private var ids: [String: ConnectionTable.ID] = [:]

    init(maximumCount: Int) {
      self.table = ConnectionTable(maximumCount: maximumCount)
    }

    var count: Int { self.table.count }

    /// Registers a connection of a host; "" when there is room, otherwise "closes NAME" or "refused".
    func connect(_ name: String, from host: UInt32) -> String {
      switch self.table.add(.v4(host)) {
      case .admitted(let id, let closing):
        self.ids[name] = id
        return closing.map { "closes \(self.name(of: $0))" } ?? ""
      case .refused: return "refused"
      }
    }

    func use(_ name: String, for use: ConnectionTable.Use) {
      if let id = self.ids[name] { self.table.setUse(use, of: id) }
    }

    func count(_ name: String, for host: UInt32) {
      if let id = self.ids[name] { self.table.setNetwork(.v4(host), of: id) }
    }

    func disconnect(_ name: String) -> Bool {
      self.ids[name].map { self.table.remove($0) } ?? false
    }

    func evict() -> String? { self.table.evict().map(self.name) }

    func count(from host: UInt32) -> Int { self.table.count(of: .v4(host)) }

    private func name(of id: ConnectionTable.ID) -> String { self.ids.first { $0.value == id }?.key ?? "?" }
  }

  @Test func `an address that fills the table loses its own connections, and no other address does`() {
    let dialogue = Dialogue(maximumCount: 5)
    #expect(dialogue.connect("owner", from: 1) == "")
    dialogue.use("owner", for: .idle)
    for name in ["a", "b", "c", "d"] { #expect(dialogue.connect(name, from: 2) == "") }
    #expect(dialogue.connect("e", from: 2) == "closes a")
    #expect(dialogue.connect("second", from: 1) == "closes b")
    #expect(dialogue.connect("guest", from: 3) == "closes c")
    #expect(dialogue.count == 5)
    #expect(dialogue.count(from: 2) == 2)
  }

  @Test func `the least useful connection is closed, among equals the oldest`() {
    let dialogue = Dialogue(maximumCount: 7)
    let uses: [(String, ConnectionTable.Use)] = [
      ("session", .session), ("request", .request), ("jpeg", .motionJPEG), ("events", .events), ("idle", .idle),
      ("later", .idle), ("unused", .unused),
    ]
    for (name, use) in uses {
      #expect(dialogue.connect(name, from: 2) == "")
      dialogue.use(name, for: use)
    }
    var closed: [String] = []
    for number in 0..<7 {
      let answer = dialogue.connect("\(number)", from: 1)
      dialogue.use("\(number)", for: .session)
      closed.append(answer)
    }
    // After four, the other host has the most; its connections are all in use, so that its next ones are refused.
    #expect(
      closed == [
        "closes unused", "closes idle", "closes later", "closes events", "refused", "refused", "refused",
      ])
  }

  @Test func `connections in use of the largest network are closed for another one`() {
    let dialogue = Dialogue(maximumCount: 3)
    for name in ["a", "b", "c"] {
      _ = dialogue.connect(name, from: 2)
      dialogue.use(name, for: .session)
    }
    #expect(dialogue.connect("d", from: 2) == "refused")
    #expect(dialogue.connect("owner", from: 1) == "closes a")
    #expect(dialogue.connect("e", from: 2) == "refused")
  }

  @Test func `event streams and motion JPEG make room for newcomers of their own network`() {
    let dialogue = Dialogue(maximumCount: 2)
    _ = dialogue.connect("jpeg", from: 2)
    dialogue.use("jpeg", for: .motionJPEG)
    _ = dialogue.connect("events", from: 2)
    dialogue.use("events", for: .events)
    #expect(dialogue.connect("page", from: 2) == "closes events")
    dialogue.use("page", for: .request)
    #expect(dialogue.connect("other", from: 2) == "closes jpeg")
    dialogue.use("other", for: .request)
    #expect(dialogue.connect("third", from: 2) == "refused")
  }

  @Test func `many networks with one connection each lose the oldest that is not in use`() {
    let dialogue = Dialogue(maximumCount: 4)
    for host in UInt32(1)...4 { #expect(dialogue.connect("\(host)", from: host) == "") }
    dialogue.use("1", for: .request)
    dialogue.use("2", for: .idle)
    #expect(dialogue.connect("5", from: 5) == "closes 3")
    #expect(dialogue.connect("6", from: 6) == "closes 4")
    #expect(dialogue.connect("7", from: 7) == "closes 5")
  }

  @Test func `a connection that was used again is closed after the others`() {
    let dialogue = Dialogue(maximumCount: 2)
    for name in ["a", "b"] {
      _ = dialogue.connect(name, from: 1)
      dialogue.use(name, for: .idle)
    }
    dialogue.use("a", for: .request)
    dialogue.use("a", for: .idle)
    #expect(dialogue.connect("c", from: 1) == "closes b")
  }

  @Test func `connections of a proxy count for the clients that it names`() {
    let (proxy, owner, stranger): (UInt32, UInt32, UInt32) = (1, 2, 3)
    let dialogue = Dialogue(maximumCount: 4)
    #expect(dialogue.connect("owner", from: proxy) == "")
    dialogue.count("owner", for: owner)
    dialogue.use("owner", for: .motionJPEG)
    for name in ["a", "b", "c"] {
      #expect(dialogue.connect(name, from: proxy) == "")
      dialogue.count(name, for: stranger)
      dialogue.use(name, for: .motionJPEG)
    }
    #expect([proxy, owner, stranger].map { dialogue.count(from: $0) } == [0, 1, 3])
    #expect(dialogue.connect("d", from: proxy) == "closes a")
    // A further request on the same connection may be another client's.
    dialogue.count("b", for: owner)
    dialogue.count("b", for: owner)
    dialogue.count("a", for: owner)
    #expect([proxy, owner, stranger].map { dialogue.count(from: $0) } == [1, 2, 1])
    for name in ["owner", "b", "c", "d"] { #expect(dialogue.disconnect(name)) }
    #expect(dialogue.count == 0 && [proxy, owner, stranger].allSatisfy { dialogue.count(from: $0) == 0 })
  }

  @Test func `a closed connection leaves its place once`() {
    let dialogue = Dialogue(maximumCount: 2)
    _ = dialogue.connect("a", from: 1)
    _ = dialogue.connect("b", from: 1)
    #expect(dialogue.disconnect("a"))
    #expect(!dialogue.disconnect("a"))
    #expect(dialogue.connect("c", from: 2) == "")
    // Its place has another connection now.
    #expect(!dialogue.disconnect("a"))
    dialogue.use("a", for: .session)
    #expect(dialogue.count == 2)
    #expect(dialogue.connect("d", from: 2) == "closes c")
    #expect(!dialogue.disconnect("c"))
  }

  @Test func `a lack of descriptors closes what is not in use`() {
    let dialogue = Dialogue(maximumCount: 10)
    #expect(dialogue.evict() == nil)
    _ = dialogue.connect("owner", from: 1)
    for name in ["a", "b"] { _ = dialogue.connect(name, from: 2) }
    dialogue.use("a", for: .session)
    #expect(dialogue.evict() == "b")
    dialogue.use("owner", for: .session)
    #expect(dialogue.evict() == nil)
  }

  @Test func `counts stay right in ten thousand steps`() {
    var table = ConnectionTable(maximumCount: 50)
    var open: [(id: ConnectionTable.ID, host: UInt32)] = []
    var number: UInt32 = 1
    for _ in 0..<10_000 {
      number = number &* 1_664_525 &+ 1_013_904_223
      let host = (number >> 16) % 7
      if number >> 30 == 0, !open.isEmpty {
        let isRemoved = table.remove(open.remove(at: Int(number >> 8) % open.count).id)
        #expect(isRemoved)
      } else if number >> 30 == 1, !open.isEmpty {
        table.setUse(
          ConnectionTable.Use.allCases[Int(number >> 8) % 6], of: open[Int(number >> 12) % open.count].id)
      } else if case .admitted(let id, let closing) = table.add(.v4(host)) {
        if let closing {
          let index = open.firstIndex { $0.id == closing }
          let largest = (UInt32(0)..<7).map { host in open.count { $0.host == host } }.max() ?? 0
          if let index {
            let lost = open.remove(at: index)
            let ownCount = open.count { $0.host == lost.host } + (lost.host == host ? 2 : 1)
            #expect(ownCount >= largest)
          } else {
            Issue.record("an unknown connection was closed")
          }
        }
        open.append((id, host))
      }
      #expect(table.count == open.count)
    }
    for host in UInt32(0)..<7 { #expect(table.count(of: .v4(host)) == open.count { $0.host == host }) }
  }

  @Test func `ten thousand connections of one host cost each other only`() {
    var table = ConnectionTable(maximumCount: 1000)
    guard case .admitted(let owner, _) = table.add(.v4(1)) else {
      Issue.record("the table is empty")
      return
    }
    table.setUse(.idle, of: owner)
    for _ in 0..<10_000 { _ = table.add(.v4(2)) }
    #expect(table.use(of: owner) == .idle)
    #expect(table.count == 1000)
  }
}
