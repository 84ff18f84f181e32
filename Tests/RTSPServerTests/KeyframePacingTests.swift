import Authentication
import CDatagrams
import Foundation
import Media
import NIOCore
import NIOEmbedded
import NIOPosix
import RTP
import RTSP
import Serving
import Testing

@testable import RTSPServer

@Suite("Keyframes that are spread for viewers over UDP")
struct KeyframePacingTests {
  private func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  @Test func `keyframes are spread for ten seconds after a report of more than one percent lost`() {
    var pacing = KeyframePacing()
    #expect(!pacing.isNeeded(at: self.time(0)))
    // 2 / 256 are 0.8%.
    pacing.handleReport(fractionLost: 2, at: self.time(0))
    #expect(!pacing.isNeeded(at: self.time(1)))
    pacing.handleReport(fractionLost: 3, at: self.time(5000))
    #expect(pacing.isNeeded(at: self.time(5000)) && pacing.isNeeded(at: self.time(14_999)))
    #expect(!pacing.isNeeded(at: self.time(15_000)))
    pacing.handleReport(fractionLost: 255, at: self.time(20_000))
    pacing.handleReport(fractionLost: 0, at: self.time(25_000))
    #expect(pacing.isNeeded(at: self.time(29_999)) && !pacing.isNeeded(at: self.time(30_000)))
  }

  /// A keyframe of 20 kB as the encoder makes it.
  private static let keyframe = EncodedSample(
    kind: .video, payload: Self.accessUnit(type: 0x65, length: 20_000), presentationTime: .zero,
    duration: .milliseconds(33), isKeyframe: true)

  private static func accessUnit(type: UInt8, length: Int) -> ByteBuffer {
    var payload = ByteBuffer(integer: UInt32(length))
    payload.writeInteger(type)
    payload.writeRepeatingByte(0x80, count: length - 1)
    return payload
  }

  @Test func `the bursts of a keyframe are a few packets each, and spread evenly`() throws {
    var tracks = RTPStreamPacketizer(EmbeddedServer.descriptions)
    let packets = try #require(tracks.packets(of: Self.keyframe).first)
    var keyframe = PacedKeyframe(packets, to: [], route: 0, over: .milliseconds(16), from: self.time(100))
    let all = packets.bursts()
    try #require(all.count >= 4)
    #expect(all.allSatisfy { (1...4).contains($0.packetCount) })
    #expect(all.reduce(0) { $0 + $1.length } == packets.datagrams().buffer.readableBytes)
    var taken: [RTPPacketBatch.DatagramRun] = []
    for index in all.indices {
      let deadline = self.time(100) + MediaDuration(nanoseconds: 16_000_000 * Int64(index) / Int64(all.count))
      #expect(keyframe.nextDeadline == deadline)
      let early = keyframe.takeBurst(at: MediaTime(nanoseconds: deadline.nanoseconds - 1))
      #expect(early == nil)
      if index == all.count - 1 {
        taken += keyframe.takeRest()
      } else if let burst = keyframe.takeBurst(at: deadline) {
        taken.append(burst)
      }
    }
    #expect(taken == all && keyframe.isComplete && keyframe.nextDeadline == nil)
  }

  @Test func `a viewer that has left is sent no further burst`() throws {
    var tracks = RTPStreamPacketizer(EmbeddedServer.descriptions)
    let packets = try #require(tracks.packets(of: Self.keyframe).first)
    let viewers = try [6000, 6002].map { vidicon_destination(try SocketAddress(ipAddress: "127.0.0.1", port: $0)) }
    var keyframe = PacedKeyframe(packets, to: viewers, route: 0, over: .milliseconds(16), from: .zero)
    keyframe.remove(viewers[0])
    #expect(keyframe.destinations.map { $0.length > 0 } == [false, true])
  }

  /// A viewer over UDP of a server in virtual time, with sockets of the system.
  private final class Viewer {
    let server: EmbeddedServer
    let handler: RTSPConnectionHandler
    private let client: EmbeddedClient
    private let sockets: [Int32]
    /// Bytes of the packets that have arrived.
    private var byteCount = 0

    init(_ datagrams: DatagramSockets) throws {
      var (sockets, ports): ([Int32], [UInt16]) = ([-1, -1], [0, 0])
      #expect(vidicon_datagrams_open_pair("127.0.0.1", &sockets, &ports) == 0)
      self.sockets = sockets
      self.server = try EmbeddedServer()
      self.server.directory.sockets = datagrams
      self.client = try self.server.connect(
        udpPorts: .init(rtp: UInt16(datagrams.ports.rtp), rtcp: UInt16(datagrams.ports.rtcp)))
      self.handler = try self.client.channel.pipeline.syncOperations.handler(type: RTSPConnectionHandler.self)
      try self.client.send(
        "SETUP rtsp://h/live/trackID=0 RTSP/1.0\r\nCSeq: 1\r\n"
          + "Transport: RTP/AVP;unicast;client_port=\(ports[0])-\(ports[1])\r\n\r\n")
      try self.client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
      self.server.sendKeyframe()
      #expect(try self.client.received() == ["200", "200"])
      #expect(self.receive().count == 2)
    }

    deinit { for socket in self.sockets { close(socket) } }

    /// Sequence numbers of the packets that have arrived, once all that were sent have: the system may deliver them later than the
    /// call that sends them returns.
    func receive() -> [UInt16] {
      var numbers: [UInt16] = []
      var bytes = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = recv(self.sockets[0], &bytes, bytes.count, Int32(MSG_DONTWAIT))
        if count >= 12 {
          self.byteCount += count
          numbers.append(UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
          continue
        }
        var interest = pollfd(fd: self.sockets[0], events: Int16(POLLIN), revents: 0)
        guard self.byteCount < self.server.statistics.bytesSent else { return numbers }
        guard poll(&interest, 1, 300_000) == 1 || errno == EINTR else { return numbers }
      }
    }

    func consume(_ sample: EncodedSample) {
      self.server.output.consume(sample)
      self.server.loop.run()
    }

    /// Reports a fraction of lost packets, in 1 / 256.
    func report(fractionLost: UInt8) throws {
      let ssrc = try #require(self.server.output.senderStates.video).ssrc
      let block = RTCPReportBlock(
        ssrc: ssrc, fractionLost: fractionLost, cumulativeLost: 0, extendedHighestSequenceNumber: 0, jitter: 0)
      var report = ByteBuffer()
      RTCPCompoundPacket([.receiverReport(RTCPReceiverReport(ssrc: 1, reportBlocks: [block]))]).serialize(into: &report)
      // Before more than is looked at, as from a client whose address is forged.
      let receive = self.handler.makeDatagramReceiver(on: self.server.loop)
      let dropped = self.server.directory.refusals[.datagramDropped]
      receive(report)
      for _ in 0..<10_000 {
        receive(ByteBuffer(bytes: [0x80, 201]))
        self.server.loop.run()
      }
      self.server.loop.advanceTime(by: .milliseconds(20))
      #expect(self.server.directory.refusals[.datagramDropped] == dropped + 10_001 - 256)
    }
  }

  private func isConsecutive(_ numbers: [UInt16]) -> Bool {
    zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 }
  }

  @Test func `a keyframe is spread over half a frame interval for a viewer that reports loss`() async throws {
    let sockets = try await DatagramSockets.open(address: "127.0.0.1", group: MultiThreadedEventLoopGroup.singleton)
    try self.spread(to: Viewer(sockets))
    await sockets.close()
  }

  private func spread(to viewer: Viewer) throws {
    viewer.consume(Self.keyframe)
    let whole = viewer.receive()
    #expect(whole.count > 12 && self.isConsecutive(whole), "without loss it leaves at once")

    try viewer.report(fractionLost: 13)
    viewer.consume(Self.keyframe)
    var received = viewer.receive()
    #expect((1...4).contains(received.count))
    viewer.server.loop.advanceTime(by: .milliseconds(8))
    received += viewer.receive()
    #expect(received.count > 4 && received.count < whole.count)
    viewer.server.loop.advanceTime(by: .microseconds(8667))
    received += viewer.receive()
    #expect(received.count == whole.count && self.isConsecutive(whole + received))

    // The next access unit follows all of it.
    viewer.consume(Self.keyframe)
    viewer.server.sendFrame()
    received = viewer.receive()
    #expect(received.count == whole.count + 1 && self.isConsecutive(received))

    // Video that must not be shown is dropped with the bursts that wait.
    viewer.consume(Self.keyframe)
    viewer.server.output.discardEarlier()
    viewer.server.loop.advanceTime(by: .milliseconds(20))
    #expect((1...4).contains(viewer.receive().count))

    viewer.server.loop.advanceTime(by: .seconds(10))
    viewer.consume(Self.keyframe)
    #expect(viewer.receive().count == whole.count, "the reports of loss are old")
  }

  @Test func `packets that are no receiver report change nothing`() async throws {
    let sockets = try await DatagramSockets.open(address: "127.0.0.1", group: MultiThreadedEventLoopGroup.singleton)
    try self.ignore(at: Viewer(sockets))
    await sockets.close()
  }

  private func ignore(at viewer: Viewer) throws {
    viewer.consume(Self.keyframe)
    let count = viewer.receive().count
    for bytes in [[], [0], [0x80, 201], [UInt8](repeating: 0xFF, count: 100)] as [[UInt8]] {
      viewer.handler.handleReports(in: ByteBuffer(bytes: bytes))
    }
    // The source of the report is another one.
    var report = ByteBuffer()
    let block = RTCPReportBlock(
      ssrc: 1, fractionLost: 255, cumulativeLost: 0, extendedHighestSequenceNumber: 0, jitter: 0)
    RTCPCompoundPacket([.receiverReport(RTCPReceiverReport(ssrc: 1, reportBlocks: [block]))]).serialize(into: &report)
    if viewer.server.output.senderStates.video?.ssrc != 1 { viewer.handler.handleReports(in: report) }
    viewer.consume(Self.keyframe)
    #expect(count > 12 && viewer.receive().count == count)
  }
}
