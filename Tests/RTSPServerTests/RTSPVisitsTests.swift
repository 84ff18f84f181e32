import Authentication
import Media
import NIOCore
import NIOEmbedded
import Serving
import Synchronization
import Testing

@testable import RTSPServer

@Suite("Visits of RTSP viewers, for the log")
struct RTSPVisitsTests {
  /// Beginnings and ends of visits in words, with cause and duration.
  private final class Visits: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { self.lines.withLock { $0 } }

    func append(_ event: ServerEvent) {
      switch event {
      case .viewerJoined(let visit):
        self.lines.withLock { $0.append("joined \(visit.protocolName) \(visit.stream) \(visit.rendition)") }
      case .viewerLeft(let visit, let duration):
        self.lines.withLock { $0.append("left \(visit.end) after \(duration.seconds)") }
      case .line, .refused, .viewerFailed, .controlled: break
      }
    }
  }

  private static let joined = "joined rtsp live main"
  private let visits: Visits
  private let registry: ConnectionRegistry
  private let server: EmbeddedServer

  init() throws {
    let visits = Visits()
    self.visits = visits
    self.registry = ConnectionRegistry(maximumCount: 2, log: { visits.append($0) })
    self.server = try EmbeddedServer(registry: self.registry)
  }

  @Test func `a visit begins with the first packet, and ends with PAUSE or TEARDOWN`() throws {
    let client = try self.server.connectAndPlay()
    self.server.loop.advanceTime(by: .seconds(1))
    #expect(self.visits.all == [])
    self.server.sendKeyframe()
    #expect(self.visits.all == [Self.joined])
    self.server.loop.advanceTime(by: .seconds(2))
    try client.send("PAUSE rtsp://h/live RTSP/1.0\r\nCSeq: 10\r\n\r\n")
    #expect(self.visits.all == [Self.joined, "left client after 2.0"])
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 11\r\n\r\n")
    self.server.sendKeyframe()
    self.server.loop.advanceTime(by: .seconds(3))
    try client.send("TEARDOWN rtsp://h/live RTSP/1.0\r\nCSeq: 12\r\n\r\n")
    #expect(self.visits.all == [Self.joined, "left client after 2.0", Self.joined, "left client after 3.0"])
  }

  @Test func `PLAY that gets no keyframe is no visit`() throws {
    let client = try self.server.connectAndPlay()
    self.server.loop.advanceTime(by: .seconds(10))
    #expect(try client.received() == ["503"])
    try client.channel.close().wait()
    self.server.loop.run()
    #expect(self.visits.all == [])
  }

  @Test func `a visit with audio only begins with its first packet`() throws {
    let client = try self.server.connect()
    try client.setUp(track: 1, channels: "4-5")
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
    #expect(self.visits.all == [])
    self.server.sendAudio()
    #expect(self.visits.all == [Self.joined])
    try client.channel.close().wait()
    self.server.loop.run()
    #expect(self.visits.all.last?.hasPrefix("left client") == true)
  }

  @Test func `a client without a keep-alive is silent`() throws {
    let client = try self.server.connectAndStart()
    self.server.loop.advanceTime(by: .seconds(61))
    #expect(!client.isOpen)
    #expect(self.visits.all.count == 2 && self.visits.all.last?.hasPrefix("left silent") == true)
  }

  @Test func `a viewer that has unsent frames when privacy is switched on leaves for it`() throws {
    let client = try self.server.connectAndStart()
    client.setWritable(false)
    self.server.queueFrame()
    self.server.output.discardEarlier()
    self.server.loop.run()
    #expect(!client.isOpen)
    #expect(self.visits.all.count == 2 && self.visits.all.last?.hasPrefix("left privacy") == true)
  }

  @Test func `a viewer that is displaced by a connection of another network leaves for the limit`() throws {
    let clients = [try self.server.connectAndStart(), try self.server.connectAndPlay()]
    self.server.sendKeyframe()
    #expect(self.visits.all == [Self.joined, Self.joined])
    let registration = self.registry.register(from: IPAddress.v4(0xC000_0207)) {}
    self.server.loop.run()
    #expect(registration != nil && clients.map(\.isOpen) == [false, true])
    #expect(self.visits.all.count == 3 && self.visits.all.last?.hasPrefix("left limit") == true)
  }

  @Test func `the end of the stream is the cause of the end of its visits`() throws {
    _ = try self.server.connectAndStart()
    self.server.output.streamEnded()
    self.server.loop.run()
    #expect(self.visits.all.count == 2 && self.visits.all.last?.hasPrefix("left stream") == true)
  }
}
