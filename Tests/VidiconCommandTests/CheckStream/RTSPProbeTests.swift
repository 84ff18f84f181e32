import Media
import NIOCore
import RTP
import RTSP
import Synchronization
import Testing

@testable import VidiconCommand

@Suite("Probe of an RTSP stream", .timeLimit(.minutes(5)))
struct RTSPProbeTests {
  /// Stages of a probe as text.
  private final class Stages: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { self.texts.withLock { $0 } }

    func append(_ stage: RTSPProbe.Stage) {
      let text =
        switch stage {
        case .ready(let ports): "ready \(ports.map { "\($0.rtp)-\($0.rtcp)" } ?? "")"
        case .playing: "playing"
        }
      self.texts.withLock { $0.append(text) }
    }
  }

  /// A dialogue with a server that is played by the test, in virtual time.
  private final class Dialogue {
    let probe: RTSPProbe
    /// Stages that the probe has reported.
    let stages: Stages
    var now = MediaTime.zero
    private var parser = RTSPMessageParser()
    /// Requests of the probe that have no response yet.
    private(set) var requests: [RTSPRequest] = []

    init(
      credentials: RTSPClientSession.Credentials? = nil, delivery: RTSPClientSession.Delivery = .interleaved
    ) {
      let stages = Stages()
      self.stages = stages
      self.probe = RTSPProbe(
        .init(
          url: "rtsp://cam/live", credentials: credentials, delivery: delivery, clientNonce: "c0",
          deadline: MediaTime.zero + .seconds(11), playTime: .seconds(8))
      ) { stages.append($0) }
      self.read(self.probe.start(at: self.now))
    }

    private func read(_ bytes: ByteBuffer) {
      self.parser.append(bytes)
      while let message = self.parser.next() {
        if case .request(let request) = message { self.requests.append(request) }
      }
    }

    /// Answers the first request after some milliseconds.
    func answer(_ code: Int, _ headers: RTSPHeaders = [:], body: String = "", after milliseconds: Int64 = 10) {
      self.now += .milliseconds(milliseconds)
      var headers = headers
      headers["CSeq"] = self.requests.removeFirst().headers["CSeq"]
      var bytes = ByteBuffer()
      RTSPResponse(status: RTSPStatus(code: code), headers: headers, body: ByteBuffer(string: body)).serialize(
        into: &bytes)
      self.read(self.probe.receive(bytes, at: self.now))
    }

    /// Sends a packet of a channel at a time.
    func send(_ packet: ByteBuffer, channel: UInt8, at time: MediaTime) {
      self.now = time
      var bytes = ByteBuffer()
      bytes.writeMultipleIntegers(UInt8(ascii: "$"), channel, UInt16(packet.readableBytes))
      bytes.writeImmutableBuffer(packet)
      self.read(self.probe.receive(bytes, at: self.now))
    }

    /// Passes time up to the next deadline of the probe.
    func advance() {
      self.now = max(self.now, self.probe.nextDeadline)
      self.read(self.probe.handleTime(self.now))
    }

    /// Plays a stream of H.264 with its parameter sets, and G.711.
    func play() {
      self.answer(200, ["Public": "OPTIONS, DESCRIBE, GET_PARAMETER"])
      let description =
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n"
        + "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:0\r\nm=audio 0 RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n"
      self.answer(200, body: description)
      self.answer(200, ["Session": "s", "Transport": "RTP/AVP/TCP;unicast;interleaved=0-1"])
      self.answer(200, ["Session": "s"])
    }
  }

  @Test func `tracks of other codecs are noted by name, also those of fixed payload types`() {
    let dialogue = Dialogue()
    dialogue.answer(200)
    let media = "m=video 0 RTP/AVP 26\r\nm=audio 0 RTP/AVP 0\r\nm=video 0 RTP/AVP 97\r\na=rtpmap:97 H265/90000\r\n"
    dialogue.answer(200, body: "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n" + media)
    let facts = dialogue.probe.observation(at: dialogue.now)
    #expect(facts.failure == .unsupported && facts.announced.map(\.codec) == ["JPEG", "PCMU", "H265"])
  }

  @Test func `the ports of the server are known before the response to PLAY, and playing follows that`() {
    let dialogue = Dialogue(delivery: .datagrams(.init(rtp: 5000, rtcp: 5001)))
    dialogue.answer(200)
    dialogue.answer(
      200, body: "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
    )
    dialogue.answer(
      200, ["Session": "s", "Transport": "RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001"])
    #expect(dialogue.requests.map(\.method) == [.play] && dialogue.stages.all == ["ready 6000-6001"])
    dialogue.answer(200, ["Session": "s"])
    #expect(dialogue.stages.all == ["ready 6000-6001", "playing"])
  }

  /// A packet of H.264 with one NAL unit.
  private static func packet(_ number: UInt16, timestamp: UInt32, _ unit: [UInt8], marker: Bool = true) -> ByteBuffer {
    var bytes = ByteBuffer()
    RTPPacket(
      header: RTPHeader(marker: marker, payloadType: 96, sequenceNumber: number, timestamp: timestamp, ssrc: 7),
      payload: ByteBuffer(bytes: unit)
    ).serialize(into: &bytes)
    return bytes
  }

  @Test func `a stream is played for its time, kept alive once, and its responses noted`() {
    let dialogue = Dialogue()
    dialogue.play()
    #expect(!dialogue.probe.isComplete && dialogue.requests.isEmpty)
    dialogue.advance()
    #expect(dialogue.requests.map(\.method) == [.getParameter])
    dialogue.answer(200)
    dialogue.advance()
    #expect(dialogue.probe.isComplete)
    let facts = dialogue.probe.observation(at: dialogue.now)
    #expect(facts.exchanges.map(\.method) == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY", "GET_PARAMETER"])
    #expect(facts.isPlaying && facts.failure == nil && facts.keepAliveStatus == 200 && facts.pendingMethod == nil)
    #expect(facts.announced.map(\.codec) == ["H264", "PCMA"] && facts.tracks.map(\.kind) == [.video])
    #expect(facts.tracks[0].firstPacket == nil)
    #expect(String(buffer: dialogue.probe.finish()).hasPrefix("TEARDOWN rtsp://cam/live"))
  }

  @Test func `packets, sender reports and keyframes of a track are measured`() {
    let dialogue = Dialogue()
    dialogue.play()
    let start = dialogue.now
    for index in 0..<50 {
      // An IDR slice, then others; the parameter sets are missing.
      let unit: [UInt8] = index % 25 == 0 ? [0x65, 0x88, 0x84] : [0x41, 0x9A, 0x02]
      dialogue.send(
        Self.packet(UInt16(index), timestamp: UInt32(index * 3600), unit), channel: 0,
        at: start + .milliseconds(Int64(index) * 40 + 100))
    }
    var report = ByteBuffer()
    RTCPCompoundPacket([
      .senderReport(
        RTCPSenderReport(
          ssrc: 7, ntpTimestamp: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000), rtpTimestamp: 3600,
          packetCount: 9,
          octetCount: 9))
    ]).serialize(into: &report)
    dialogue.send(report, channel: 1, at: dialogue.now)
    let facts = dialogue.probe.observation(at: dialogue.now)
    #expect(facts.tracks[0].expectedCount == 50 && facts.tracks[0].lostCount == 0)
    #expect(facts.tracks[0].senderReportCount == 1 && facts.tracks[0].parameterSets == .missing)
    #expect(facts.tracks[0].firstPacket.map { $0 >= 0.1 && $0 < 0.2 } == true)
    #expect(facts.verdict.problems.contains { $0.hasPrefix("fault parameter sets") })
  }

  @Test func `a refusal, its login schemes and a wrong password are noted`() {
    let dialogue = Dialogue(credentials: .init(user: "u", password: "p"))
    dialogue.answer(200)
    let challenge: RTSPHeaders = ["WWW-Authenticate": #"Digest realm="r", nonce="n""#]
    dialogue.answer(401, challenge)
    #expect(dialogue.requests[0].headers["Authorization"]?.hasPrefix("Digest") == true)
    dialogue.answer(401, challenge)
    #expect(dialogue.probe.isComplete)
    let facts = dialogue.probe.observation(at: dialogue.now)
    #expect(facts.failure == .refused && facts.loginSchemes == ["Digest"])
    #expect(facts.verdict.problems == ["fault RTSP: the user name or password is wrong"])
  }

  @Test func `a server that does not respond, closes or speaks another protocol is noted`() {
    var dialogue = Dialogue()
    dialogue.answer(200)
    dialogue.advance()
    var facts = dialogue.probe.observation(at: dialogue.now)
    #expect(dialogue.probe.isComplete && facts.failure == nil && facts.pendingMethod == "DESCRIBE")
    dialogue = Dialogue()
    dialogue.probe.handleEnd(at: dialogue.now)
    facts = dialogue.probe.observation(at: dialogue.now)
    #expect(facts.failure == .closed && facts.pendingMethod == "OPTIONS")
    dialogue = Dialogue()
    dialogue.play()
    dialogue.now += .seconds(2)
    dialogue.probe.handleEnd(at: dialogue.now)
    #expect(dialogue.probe.observation(at: dialogue.now).closed == 2)
    dialogue = Dialogue()
    _ = dialogue.probe.receive(ByteBuffer(bytes: [0x15, 3, 3, 0, 2, 2, 40]), at: .zero)
    #expect(dialogue.probe.isComplete && dialogue.probe.observation(at: .zero).failure == .notRTSP)
  }
}
