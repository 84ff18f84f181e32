import Authentication
import Media
import NIOCore
import NIOEmbedded
import Streaming
import Synchronization
import TestSupport
import Testing

@testable import Serving

@Suite("Connections of a protocol that serves media", .timeLimit(.minutes(5)))
struct MediaConnectionTests {
  /// Answers bytes with as many, and has a deadline one second after each.
  private final class Echo: MediaConnection {
    var deadline: MediaTime?
    var isWaiting = false
    private(set) var calls: [String] = []

    init(on loop: EmbeddedEventLoop, _ connections: MediaConnections) {
      let access = AccessControl(settings: .init(), makeRandom: { 1 })
      super.init(
        .init(access: access, passwords: PasswordChecker(access: access), connections: connections, eventLoop: loop),
        maximumUnsentResponses: 10)
    }

    override func receive(_ bytes: ByteBuffer) {
      self.calls.append("\(bytes.readableBytes) bytes")
      self.writing { self.writeResponse(bytes) }
    }

    override var isDeciding: Bool { self.isWaiting }
    override var nextDeadline: MediaTime? { self.deadline }

    override func handleTimer() {
      self.calls.append("timer")
      self.deadline = nil
    }

    override func responsesSent() { self.calls.append("sent") }
    override func ended() { self.calls.append("ended") }
    override func renditionEnded(_ rendition: Rendition) { self.calls.append("\(rendition.name) ended") }
  }

  /// A viewer that makes no progress.
  private final class Viewer: ConnectedViewer {
    var state = ViewerState(startsAtKeyframe: true, skipsToKeyframe: true)
    let counters = ViewerCounters(refusals: RefusalCounters())
    private(set) var calls: [String] = []

    func sendQueued() { self.calls.append("queued") }
    func removeQueued() { self.calls.append("removed") }
    func queueIsSent(at now: MediaTime) { self.calls.append("sent") }
    func requestKeyframe() { self.calls.append("keyframe") }
  }

  private let loop = EmbeddedEventLoop()
  private let connections = MediaConnections()
  private let channel: EmbeddedChannel
  private let connection: Echo
  private let reads = ReadCounter()

  init() throws {
    self.connection = Echo(on: self.loop, self.connections)
    self.channel = EmbeddedChannel(loop: self.loop)
    try self.channel.pipeline.syncOperations.addHandlers([self.reads, self.connection])
    try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).wait()
  }

  private func receive(_ byteCount: Int) throws {
    try self.channel.writeInbound(ByteBuffer(repeating: 1, count: byteCount))
  }

  private func setWritable(_ isWritable: Bool) {
    self.channel.isWritable = isWritable
    self.channel.pipeline.fireChannelWritabilityChanged()
  }

  /// Whether a read reaches the socket.
  private func reads(_ body: () throws -> Void) rethrows -> Bool {
    let count = self.reads.count
    try body()
    return self.reads.count > count
  }

  @Test func `nothing is read while too many responses are unsent, and reading goes on when they are sent`() throws {
    self.setWritable(false)
    try self.receive(10)
    #expect(!self.connection.hasTooManyResponses && self.reads { self.channel.read() })
    try self.receive(1)
    #expect(self.connection.hasTooManyResponses && !self.reads { self.channel.read() })
    #expect(self.reads { self.setWritable(true) })
    #expect(self.connection.calls == ["10 bytes", "1 bytes", "sent"])
  }

  @Test func `nothing is read while a request waits, or a publisher is held back`() throws {
    self.connection.isWaiting = true
    #expect(!self.reads { self.channel.read() })
    self.connection.isWaiting = false
    #expect(self.reads { self.connection.resumeReading() })
    self.connection.holdBack(for: nil)
    #expect(self.reads { self.channel.read() })
    self.connection.holdBack(for: .milliseconds(100))
    self.connection.holdBack(for: .seconds(100))
    #expect(!self.reads { self.channel.read() } && !self.reads { self.loop.advanceTime(by: .milliseconds(99)) })
    #expect(self.reads { self.loop.advanceTime(by: .milliseconds(1)) })
  }

  @Test func `the timer is at the earliest deadline, and ends with the connection`() throws {
    self.connection.deadline = self.connection.now + .seconds(2)
    self.connection.scheduleTimer()
    self.connection.deadline = self.connection.now + .seconds(1)
    self.connection.scheduleTimer()
    self.loop.advanceTime(by: .seconds(1))
    #expect(self.connection.calls == ["timer"])
    self.loop.advanceTime(by: .seconds(10))
    #expect(self.connection.calls.count == 1)
    self.connection.deadline = self.connection.now + .seconds(1)
    self.connection.scheduleTimer()
    _ = try self.channel.finish()
    self.loop.advanceTime(by: .seconds(10))
    #expect(self.connection.calls == ["timer", "ended"] && self.connection.context == nil)
  }

  @Test func `a viewer is notified of unsent bytes, and its connection is closed when it makes no progress`() throws {
    let viewer = Viewer()
    self.connection.viewer = viewer
    self.setWritable(false)
    self.setWritable(false)
    #expect(viewer.isBlocked && viewer.calls == [])
    self.setWritable(true)
    #expect(!viewer.isBlocked && viewer.calls == ["sent"])
    self.setWritable(false)
    self.loop.advanceTime(by: .seconds(9))
    #expect(self.channel.isActive && viewer.counters.viewersClosedAsSlow.load(ordering: .relaxed) == 0)
    self.loop.advanceTime(by: .seconds(1))
    #expect(!self.channel.isActive && viewer.counters.viewersClosedAsSlow.load(ordering: .relaxed) == 1)
    #expect(self.connection.calls.last == "ended")
  }

  @Test func `a viewer is sent what waits when the connection has sent everything, or a keyframe when that is too old`()
  {
    let viewer = Viewer()
    self.connection.viewer = viewer
    let frame = ViewerState.Delivery(video: .keyframe)
    #expect(viewer.state.handle(frame, at: self.connection.now) == .start)
    self.setWritable(false)
    for _ in 0..<2 { #expect(viewer.state.handle(frame, at: self.connection.now) == .enqueue) }
    self.setWritable(true)
    #expect(viewer.calls == ["queued", "queued", "sent"])
    self.setWritable(false)
    for _ in 0..<2 { #expect(viewer.state.handle(frame, at: self.connection.now) == .enqueue) }
    self.loop.advanceTime(by: .seconds(1))
    self.setWritable(true)
    #expect(viewer.calls.suffix(2) == ["removed", "keyframe"])
    #expect(viewer.counters.framesSkipped.load(ordering: .relaxed) == 2)
  }

  @Test func `a connection that is closed after its writes reads nothing more`() throws {
    self.connection.closeAfterWrites()
    #expect(self.connection.isClosing && !self.reads { self.channel.read() })
    self.loop.run()
    #expect(!self.channel.isActive)
  }

  @Test func `a connection hears of a rendition that has ended, and is closed when its server stops`() throws {
    #expect(self.connections.count == 1)
    let rendition = LiveStream("a").main
    self.connections.forEach { $0.renditionEnded(rendition) }
    self.loop.run()
    #expect(self.connection.calls == ["main ended"])
    self.connections.forEach { $0.serverStops() }
    self.loop.run()
    #expect(!self.channel.isActive && self.connections.count == 0)
    #expect(self.connection.calls == ["main ended", "ended"])
  }

  @Test func `a connection that has ended forgets its viewer, and one that is added to a stopped server ends`()
    async throws
  {
    self.connection.viewer = Viewer()
    _ = try self.channel.finish()
    #expect(self.connection.viewer == nil)
    await self.connections.close()
    let late = EmbeddedChannel(loop: self.loop)
    try late.pipeline.syncOperations.addHandler(Echo(on: self.loop, self.connections))
    try await late.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).get()
    self.loop.run()
    #expect(!late.isActive && self.connections.count == 0)
  }

  @Test func `a connection with unsent data is closed when that must not be shown`() throws {
    self.connection.discardEarlier()
    #expect(self.channel.isActive)
    self.setWritable(false)
    self.connection.discardEarlier()
    self.loop.run()
    #expect(!self.channel.isActive)
  }
}
