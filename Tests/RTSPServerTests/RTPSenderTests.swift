import Authentication
import CDatagrams
import Media
import NIOCore
import NIOEmbedded
import RTP
import RTSP
import Serving
import Synchronization
import Testing

@testable import RTSPServer

@Suite("Sending datagrams past a full send buffer")
struct RTPSenderTests {
  /// Sockets of which each call sends one datagram of one destination at most.
  private final class Sockets: DatagramSending {
    struct State {
      var room = 0
      var callCount = 0
      var sent: [MediaKind] = []
      var delays: [Bool] = []
      var resume: (@Sendable () -> Void)?
    }

    let state = Mutex(State())
    let lacksMemory: Bool

    init(lacksMemory: Bool = false) { self.lacksMemory = lacksMemory }

    func sendRTP(_ send: inout DatagramQueue.Send, route: Int) -> DatagramOutcome {
      self.state.withLock { state in
        state.callCount += 1
        var outcome = DatagramOutcome(lacksMemory: self.lacksMemory)
        while state.room > 0, !send.isComplete {
          send.position.destination += 1
          state.room -= 1
          state.sent.append(send.packets.kind)
          outcome.byteCount += 100
        }
        return outcome
      }
    }

    func resume(route: Int, afterDelay: Bool, on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Void) {
      self.state.withLock { state in
        state.delays.append(afterDelay)
        state.resume = body
      }
    }

    /// Reports that a number of datagrams have room.
    func fire(room: Int) {
      let body = self.state.withLock { state in
        state.room = room
        return state.resume.take()
      }
      body?()
    }
  }

  private let server: EmbeddedServer
  private let viewer: RTPViewer
  private var tracks = RTPStreamPacketizer(EmbeddedServer.descriptions)

  init() throws {
    self.server = try EmbeddedServer()
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 6000)
    let destinations = RTPViewer.DatagramDestinations(
      rtp: vidicon_destination(address), rtcp: vidicon_destination(address), route: 0)
    self.viewer = RTPViewer(
      transports: PerTrack(video: .datagrams(destinations), audio: .datagrams(destinations)),
      connection: self.server.makeHandler(), counters: self.server.output.counters)
  }

  private func sender(_ sockets: Sockets) -> RTPSender {
    RTPSender(
      eventLoop: self.server.loop, frameRate: 30, counters: self.server.output.counters, sockets: { sockets },
      requestKeyframe: {})
  }

  /// A keyframe, and an audio frame behind it.
  private mutating func deliveries() throws -> [RTPDelivery] {
    let packets = try [MediaKind.video, .audio].map { kind in
      let sample = EncodedSample(
        kind: kind, payload: ByteBuffer(bytes: [0, 0, 0, 2, 0x65, 0x80]), presentationTime: .zero,
        duration: .milliseconds(20), isKeyframe: true)
      let batch = try #require(self.tracks.packetize(sample).first)
      return SharedPackets(kind: kind, batch: batch, positions: self.tracks.positions(at: .zero))
    }
    return [
      RTPDelivery(number: 1, audio: [], video: packets[0]), RTPDelivery(number: 2, audio: [packets[1]], video: nil),
    ]
  }

  @Test mutating func `a viewer starts with the keyframe, and then the audio that is announced`() throws {
    let sockets = Sockets()
    sockets.state.withLock { $0.room = 10 }
    let deliveries = try self.deliveries()
    let audio = try #require(deliveries[1].audio.first)
    let sample = EncodedSample(
      kind: .video, payload: ByteBuffer(bytes: [0, 0, 0, 2, 0x65, 0x80]), presentationTime: .zero,
      duration: .milliseconds(20), isKeyframe: true)
    let batch = try #require(self.tracks.packetize(sample).first)
    let video = SharedPackets(
      kind: .video, batch: batch, positions: self.tracks.positions(at: .zero), leadingAudio: audio)
    // The earlier audio of the delivery is not announced.
    let delivery = RTPDelivery(number: 1, audio: deliveries[1].audio, video: video)
    let sender = self.sender(sockets)
    _ = sender.send([delivery], to: [[self.viewer]], at: .zero)
    #expect(sockets.state.withLock { $0.sent } == [.video])
    self.server.waitForSecondTrack()
    #expect(sockets.state.withLock { $0.sent } == [.video, .audio])
  }

  @Test mutating func `what waits is sent when the socket has room, and not tried before`() throws {
    let sockets = Sockets()
    let sender = self.sender(sockets)
    _ = sender.send(try self.deliveries(), to: [[self.viewer]], at: .zero)
    #expect(sockets.state.withLock { $0.callCount } == 1)
    self.server.loop.advanceTime(by: .seconds(1))
    #expect(sockets.state.withLock { $0.callCount } == 1)
    sockets.fire(room: 1)
    #expect(sockets.state.withLock { $0.sent } == [.video])
    sockets.fire(room: 1)
    #expect(sockets.state.withLock { $0.sent } == [.video, .audio])
    #expect(sockets.state.withLock { $0.resume } == nil && sockets.state.withLock { $0.delays } == [false, false])
  }

  @Test mutating func `what must not be shown is not sent when the socket has room`() throws {
    let sockets = Sockets()
    let sender = self.sender(sockets)
    _ = sender.send(try self.deliveries(), to: [[self.viewer]], at: .zero)
    sender.discardVideo()
    sockets.fire(room: 10)
    self.server.waitForSecondTrack()
    #expect(sockets.state.withLock { $0.sent } == [.audio])
  }

  @Test mutating func `a lack of memory is waited for, not the socket`() throws {
    let sockets = Sockets(lacksMemory: true)
    _ = self.sender(sockets).send(try self.deliveries(), to: [[self.viewer]], at: .zero)
    #expect(sockets.state.withLock { $0.delays } == [true])
  }
}
