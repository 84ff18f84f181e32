import Authentication
import Media
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import Connections

@Suite("Connections of a protocol that serves media", .timeLimit(.minutes(5)))
struct MediaConnectionTests {
  /// Answers bytes with as many, and has a deadline one second after each.
  private final class Echo: MediaConnection {
    var deadline: MediaTime?
    var isWaiting = false
    private(set) var calls: [String] = []

    init(on loop: EmbeddedEventLoop) {
      let access = AccessControl(settings: .init(), makeRandom: { 1 })
      super.init(
        access: access, passwords: PasswordChecker(access: access), eventLoop: loop, registration: nil,
        isEncrypted: false, maximumUnsentResponses: 10)
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
    override func opened(_ channel: any Channel) { self.calls.append("opened") }
    override func ended(_ channel: any Channel) { self.calls.append("ended") }
  }

  /// A viewer that makes no progress.
  private final class Viewer: ConnectedViewer {
    private(set) var calls: [String] = []
    var isBlocked = false
    var nextDeadline: MediaTime?

    func connectionBlocked(byteCount: Int, at now: MediaTime) {
      self.calls.append("blocked")
      self.isBlocked = true
      self.nextDeadline = now + .seconds(5)
    }

    func connectionDrained(at now: MediaTime) {
      self.calls.append("drained")
      self.isBlocked = false
    }

    func checkProgress(byteCount: Int, at now: MediaTime) -> Bool {
      self.calls.append("check")
      return self.isBlocked
    }
  }

  private let loop = EmbeddedEventLoop()
  private let channel: EmbeddedChannel
  private let connection: Echo
  private let reads = ReadCounter()

  init() throws {
    self.connection = Echo(on: self.loop)
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
    #expect(self.connection.calls == ["opened", "10 bytes", "1 bytes", "sent"])
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
    #expect(self.connection.calls == ["opened", "timer"])
    self.loop.advanceTime(by: .seconds(10))
    #expect(self.connection.calls.count == 2)
    self.connection.deadline = self.connection.now + .seconds(1)
    self.connection.scheduleTimer()
    _ = try self.channel.finish()
    self.loop.advanceTime(by: .seconds(10))
    #expect(self.connection.calls == ["opened", "timer", "ended"] && self.connection.context == nil)
  }

  @Test func `a viewer is notified of unsent bytes, and its connection is closed when it makes no progress`() throws {
    let viewer = Viewer()
    self.connection.viewer = viewer
    self.setWritable(false)
    self.setWritable(false)
    #expect(viewer.calls == ["blocked"])
    self.setWritable(true)
    #expect(viewer.calls == ["blocked", "drained"])
    self.setWritable(false)
    self.loop.advanceTime(by: .seconds(5))
    #expect(viewer.calls.last == "check" && !self.channel.isActive)
    #expect(self.connection.calls.last == "ended")
  }

  @Test func `a connection that is closed after its writes reads nothing more`() throws {
    self.connection.closeAfterWrites()
    #expect(self.connection.isClosing && !self.reads { self.channel.read() })
    self.loop.run()
    #expect(!self.channel.isActive)
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
