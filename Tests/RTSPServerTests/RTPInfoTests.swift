import Media
import NIOCore
import NIOEmbedded
import RTP
import RTSP
import Testing

@testable import RTSPServer

/// The announcement is compared with the packets: players line up the tracks by it, and wait for the numbers in it.
@Suite("RTP-Info, RFC 2326 §12.33")
struct RTPInfoTests {
  private let server: EmbeddedServer

  init() throws { self.server = try EmbeddedServer() }

  /// A sample at a time in milliseconds.
  private func sample(_ kind: MediaKind, at milliseconds: Int64, isKeyframe: Bool = false) {
    let payload: [UInt8] = kind == .audio ? [1, 2, 3] : [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]
    self.server.output.consume(
      EncodedSample(
        kind: kind, payload: ByteBuffer(bytes: payload), presentationTime: .zero + .milliseconds(milliseconds),
        duration: .milliseconds(20), isKeyframe: isKeyframe || kind == .audio))
  }

  /// A client that has sent PLAY.
  private func play(isCached: Bool) throws -> EmbeddedClient {
    guard isCached else { return try self.server.connectAndPlay() }
    let client = try self.server.connect()
    try client.send("DESCRIBE rtsp://h/live?start=cached RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    try client.setUp(track: 0, channels: "0-1")
    try client.setUp(track: 1, channels: "2-3")
    #expect(try client.received() == ["200", "200", "200"])
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 9\r\n\r\n")
    return client
  }

  /// The messages to a client after PLAY, until the second track has begun.
  private func messagesOfStart(isCached: Bool) throws -> [RTSPMessage] {
    let client = try self.play(isCached: isCached)
    let first = try client.messages()
    #expect(Self.packetCount(2, in: first) == 0)
    self.server.waitForSecondTrack()
    return first + (try client.messages())
  }

  /// Number and time of the first packet on a channel.
  private func first(_ channel: UInt8, in messages: [RTSPMessage]) throws -> (UInt16, UInt32) {
    let packets = try messages.compactMap { message -> RTPPacket? in
      guard case .interleaved(channel, let payload) = message else { return nil }
      return try RTPPacket(parsing: payload)
    }
    let header = try #require(packets.first).header
    return (header.sequenceNumber, header.timestamp)
  }

  /// Number of packets on a channel.
  private static func packetCount(_ channel: UInt8, in messages: [RTSPMessage]) -> Int {
    messages.count { if case .interleaved(channel, _) = $0 { true } else { false } }
  }

  private func expectAgreement(_ messages: [RTSPMessage]) throws {
    guard case .response(let response) = messages.first, let information = response.headers["RTP-Info"] else {
      Issue.record("no RTP-Info")
      return
    }
    for (index, channel) in [(0, UInt8(0)), (1, UInt8(2))] {
      let (number, time) = try self.first(channel, in: messages)
      #expect(information.contains("trackID=\(index);seq=\(number);rtptime=\(time)"), "\(information)")
    }
  }

  /// Time of the last audio beside that of the keyframe: audio that lags behind, and audio that is ahead.
  @Test(arguments: [-400, -13, 0, 7, 400] as [Int64])
  func `both tracks are announced as they begin, whatever lies between them`(distance: Int64) throws {
    let client = try self.play(isCached: false)
    self.sample(.audio, at: 1000 + distance - 20)
    self.sample(.video, at: 970)
    self.sample(.audio, at: 1000 + distance)
    self.sample(.video, at: 1000, isKeyframe: true)
    self.sample(.audio, at: 1000 + distance + 20)
    self.sample(.video, at: 1033)
    self.server.loop.run()
    let first = try client.messages()
    self.server.waitForSecondTrack()
    let messages = first + (try client.messages())
    try self.expectAgreement(messages)
    // Audio is one packet before the keyframe and one behind it; in the first moment it is none.
    #expect(Self.packetCount(2, in: messages) == 2)
    #expect(Self.packetCount(2, in: first) == 0)
    #expect(Self.packetCount(0, in: first) == 2)
    #expect(Self.packetCount(0, in: messages) == 3)
  }

  @Test func `a viewer of the last keyframe starts with the audio behind it, where that before it was not packetized`()
    throws
  {
    self.sample(.audio, at: 980)
    self.sample(.video, at: 1000, isKeyframe: true)
    self.sample(.audio, at: 1011)
    self.sample(.video, at: 1033)
    let messages = try self.messagesOfStart(isCached: true)
    try self.expectAgreement(messages)
    // The next one has the same packets.
    self.sample(.video, at: 1067)
    self.server.loop.run()
    let others = try self.messagesOfStart(isCached: true)
    try self.expectAgreement(others)
    let (number, time) = try self.first(2, in: messages)
    let (otherNumber, otherTime) = try self.first(2, in: others)
    #expect(number == otherNumber && time == otherTime)
  }

  @Test
  func `audio that has paused is not sent again: the number of the next packet is announced with the keyframe's time`()
    throws
  {
    let client = try self.play(isCached: false)
    self.sample(.audio, at: 0)
    self.sample(.video, at: 600, isKeyframe: true)
    self.server.loop.advanceTime(by: EmbeddedServer.audioWait)
    self.sample(.audio, at: 600)
    self.server.loop.advanceTime(by: EmbeddedServer.audioWait)
    let messages = try client.messages()
    try self.expectAgreement(messages)
    #expect(Self.packetCount(2, in: messages) == 1)
  }

  @Test func `a viewer after PAUSE is announced where it goes on`() throws {
    let client = try self.play(isCached: false)
    self.sample(.audio, at: 990)
    self.sample(.video, at: 1000, isKeyframe: true)
    self.server.waitForSecondTrack()
    try self.expectAgreement(try client.messages())
    try client.send("PAUSE rtsp://h/live RTSP/1.0\r\nCSeq: 10\r\n\r\n")
    #expect(try client.received() == ["200"])
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 11\r\n\r\n")
    self.sample(.audio, at: 3011)
    self.sample(.video, at: 3000, isKeyframe: true)
    self.server.waitForSecondTrack()
    try self.expectAgreement(try client.messages())
  }
}
