import Bitstreams
import Foundation
import Media
import NIOCore
import RTP
import Synchronization
import TestSupport
import Testing
import Threading

@testable import MediaInput

@Suite("RTSP sources over one connection", .timeLimit(.minutes(5)))
struct RTSPConnectionTests {
  /// Bytes that a server sends after its response to PLAY.
  private enum Ending {
    /// Waits for the end of the connection.
    case silence
    /// Closes.
    case close
  }

  /// Two access units of a moving test pattern.
  private static func stream() throws -> (description: H264Description, samples: [EncodedSample]) {
    let path = try TestMedia.path(
      "rtsp.h264",
      ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=0.08", "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p"])
    let bytes = try ByteBuffer(bytes: Data(contentsOf: URL(filePath: path)))
    let unit = H264AccessUnit(parsingAnnexB: bytes)
    let description = try H264Description(
      parsing: Array(#require(unit.sequenceParameterSets.first).readableBytesView),
      pictureParameterSet: Array(#require(unit.pictureParameterSets.first).readableBytesView), frameRate: FrameRate(25))
    // The first slice of the stream is the first frame, the last one the second.
    let units = try AVCCNALUnits(parsing: unit.payload).filter {
      ($0.getInteger(at: $0.readerIndex) ?? UInt8(0)) & 31 != 6
    }
    return (
      description,
      [units[0], units[units.count - 1]].enumerated().map { index, unit in
        var payload = ByteBuffer(integer: UInt32(unit.readableBytes))
        payload.writeImmutableBuffer(unit)
        return EncodedSample(
          kind: .video, payload: payload, presentationTime: .init(nanoseconds: Int64(index) * 40_000_000),
          decodeTime: .init(nanoseconds: Int64(index) * 40_000_000), duration: .milliseconds(40), isKeyframe: index == 0
        )
      }
    )
  }

  /// A server of the samples, whose responses to the requests can be replaced.
  ///
  /// - Parameter keepAlives: Number of requests after PLAY, upon which it sends the second sample.
  private static func server(
    sending count: Int, ending: Ending = .silence, flood: Bool = false, media: String? = nil,
    requests: RequestLog = RequestLog(),
    keepAlives: Int? = nil, respond: @escaping @Sendable (_ request: String) -> String? = { _ in nil },
    beforeKeyframe: (@Sendable () -> Void)? = nil
  ) throws -> LocalServer {
    let (description, samples) = try Self.stream()
    let media =
      media ?? "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:0\r\n"
    let sdp = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n" + media
    return try LocalServer { connection in
      var packetizer = H264Packetizer(
        description: description,
        sequence: RTPSenderState(
          ssrc: 7, payloadType: 96, clockRate: H264Packetizer.clockRate, timestampOffset: 1, firstSequenceNumber: 1))
      var requestCount: Int?
      while true {
        let head = connection.readHead()
        guard let method = head.split(separator: " ").first else { return }
        requests.append(head)
        let cSeq = head.split(separator: "\r\n").first { $0.hasPrefix("CSeq:") } ?? "CSeq: 0"
        if let response = respond(head) {
          connection.write(response.replacing("CSEQ", with: cSeq))
          continue
        }
        var headers = "RTSP/1.0 200 OK\r\n\(cSeq)\r\nSession: 1\r\n"
        if method == "DESCRIBE" { headers += "Content-Type: application/sdp\r\nContent-Length: \(sdp.utf8.count)\r\n" }
        if method == "SETUP" {
          headers +=
            "Transport: RTP/AVP/TCP;unicast;interleaved=\(head.contains("interleaved=2-3") ? "2-3" : "0-1")\r\n"
        }
        connection.write(headers + "\r\n" + (method == "DESCRIBE" ? sdp : ""))
        if let count = requestCount, method != "PLAY" {
          requestCount = count + 1
          if count + 1 == keepAlives, let batch = try? packetizer.packetize(samples[1]) {
            connection.write(batch.interleaved(channel: 0).readableBytesView)
          }
        }
        guard method == "PLAY" else { continue }
        requestCount = 0
        if let beforeKeyframe {
          guard let batch = try? packetizer.packetize(samples[1]) else { return }
          connection.write(batch.interleaved(channel: 0).readableBytesView)
          beforeKeyframe()
        }
        for sample in samples.prefix(count) {
          guard let batch = try? packetizer.packetize(sample) else { return }
          connection.write(batch.interleaved(channel: 0).readableBytesView)
        }
        if ending == .close { return }
        // One access unit of 8000 bytes in each packet, RFC 3640 §3.2.
        var audio: [UInt8] = [UInt8(ascii: "$"), 2, 0x1F, 0x50, 0x80, 97, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 16, 250, 0]
        audio += Array(repeating: 0, count: 8000)
        var number = UInt16(0)
        while flood {
          (audio[6], audio[7]) = (UInt8(number >> 8), UInt8(truncatingIfNeeded: number))
          number &+= 1
          guard connection.write(audio) else { return }
        }
      }
    }
  }

  private final class RequestLog: Sendable {
    private let heads = Mutex<[String]>([])
    func append(_ head: String) { self.heads.withLock { $0.append(head) } }
    var all: [String] { self.heads.withLock { $0 } }
    var methods: [String] { self.all.map { String($0.prefix { $0 != " " }) } }
  }

  private static func open(_ server: LocalServer, _ user: String = "") throws -> any NetworkConnection {
    try NetworkConnections.open(
      NetworkSpecification(parsing: "rtsp://\(user)127.0.0.1:\(server.port)/live"), interrupt: LibavInterrupt())
  }

  private static func packet(_ connection: any NetworkConnection) throws -> NetworkPacket {
    while true {
      if case .packet(let packet)? = try connection.read() { return packet }
    }
  }

  @Test func `a frame is read with its last packet, before anything of the next one has arrived`() throws {
    let log = RequestLog()
    let server = try Self.server(sending: 1, requests: log)
    let begin = StreamClock.system.now()
    let connection = try Self.open(server)
    let packet = try Self.packet(connection)
    #expect(packet.isKeyframe && packet.kind == .video && packet.byteCount > 100)
    #expect(connection.tracks.video?.format.width == 320)
    // A reader that waits for the next frame would give up after 10 s.
    #expect(onQuietMachine(StreamClock.system.now() - begin < .seconds(5)))
    #expect(log.methods.prefix(4) == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
  }

  @Test func `frames follow each other, and the end of the connection is the end of the source`() throws {
    let connection = try Self.open(Self.server(sending: 2, ending: .close))
    let packets = [try Self.packet(connection), try Self.packet(connection)]
    #expect(packets.map(\.isKeyframe) == [true, false])
    let times = packets.compactMap(\.decodeTime)
    #expect(times.count == 2 && abs(times[1] - times[0] - 40_000_000) < 1000)
    let error = #expect(throws: VidiconError.self) { try Self.packet(connection) }
    #expect(error?.description.contains("has ended") == true)
  }

  @Test func `user and password are proved and never sent as they are`() throws {
    let log = RequestLog()
    let server = try Self.server(sending: 1, requests: log) { request in
      request.contains("Authorization: Digest username=\"a@b\"")
        ? nil : "RTSP/1.0 401 Unauthorized\r\nCSEQ\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n\r\n"
    }
    _ = try Self.packet(Self.open(server, "a%40b:s%3Aecret@"))
    #expect(log.methods.prefix(5) == ["OPTIONS", "OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
    #expect(!log.all.joined().contains("secret"))
    #expect(log.all.allSatisfy { $0.contains(" rtsp://127.0.0.1:\(server.port)/live") })
  }

  @Test(arguments: [(401, "asks for a user name"), (403, "denies access"), (404, "no such stream")])
  func `a refusal is the error of the source, without a second try`(code: Int, cause: String) throws {
    let log = RequestLog()
    let server = try Self.server(sending: 1, requests: log) {
      $0.hasPrefix("DESCRIBE") ? "RTSP/1.0 \(code) No\r\nCSEQ\r\n\r\n" : nil
    }
    let error = #expect(throws: VidiconError.self) { try Self.open(server) }
    #expect(error?.description.contains(cause) == true)
    #expect(log.methods == ["OPTIONS", "DESCRIBE"])
  }

  @Test func `streams of other codecs are left to libavformat`() throws {
    let log = RequestLog()
    let media = "m=video 0 RTP/AVP 26\r\na=control:0\r\n"
    let server = try Self.server(sending: 0, ending: .close, media: media, requests: log)
    // Without a packet it is waited for there, or has ended.
    _ = try? Self.open(server)
    // The stream is described again, and played by the second connection alone.
    #expect(log.methods.filter { $0 == "DESCRIBE" }.count == 2)
    #expect(log.methods.filter { $0 == "PLAY" }.count == 1)
  }

  @Test func `audio that a camera receives is not set up by libavformat where there is no other`() throws {
    let log = RequestLog()
    let media =
      "m=audio 0 RTP/AVP 0\r\na=sendonly\r\na=control:back\r\n" + "m=video 0 RTP/AVP 26\r\na=control:0\r\n"
    let server = try Self.server(sending: 0, ending: .close, media: media, requests: log)
    _ = try? Self.open(server)
    let requested = log.all.filter { $0.hasPrefix("SETUP") }
    #expect(requested.count == 1 && !log.all.contains { $0.contains("/back") })
  }

  @Test(arguments: ["$\u{0}", "garbage without an end of line\r\n\r\n", "RTSP/2.0 200 OK\r\nCSeq: 1\r\n\r\n"])
  func `a server that answers nonsense, and nothing, ends in an error`(answer: String) throws {
    let server = try LocalServer { connection in
      _ = connection.readHead()
      connection.write(answer)
    }
    #expect(throws: VidiconError.self) { try Self.open(server) }
  }

  @Test func `a server that accepts and says nothing is given up after 10 s`() throws {
    let server = try LocalServer { $0.waitForEnd() }
    let begin = StreamClock.system.now()
    let error = #expect(throws: VidiconError.self) { try Self.open(server) }
    #expect(error?.description.contains("no data arrived in time") == true)
    let duration = StreamClock.system.now() - begin
    #expect(duration >= .seconds(9))
    #expect(onQuietMachine(duration < .seconds(20)))
  }

  @Test func `a flood of audio before the first video is given up, not kept`() throws {
    let media =
      "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:0\r\n"
      + "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n"
      + "a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1190\r\na=control:1\r\n"
    let server = try Self.server(sending: 0, flood: true, media: media)
    let specification = try NetworkSpecification(parsing: "rtsp://127.0.0.1:\(server.port)/live")
    let begin = StreamClock.system.now()
    #expect(throws: RTSPTransfer.Failure.self) { try RTSPConnection(specification, interrupt: LibavInterrupt()) }
    // Without a bound, it waits for the parameter sets for 3 s.
    #expect(onQuietMachine(StreamClock.system.now() - begin < .milliseconds(2_500)))
  }

  @Test func `video whose parameter sets have not come is waited for, over the same connection`() throws {
    let (log, gate) = (RequestLog(), Gate())
    let server = try Self.server(sending: 2, requests: log, beforeKeyframe: { gate.pass() })
    let connection = try Self.open(server)
    #expect(connection.tracks.video == nil && connection.tracks.audio == nil)
    #expect(connection.tracks.videoFormat?.width == 1280)
    gate.open()
    var codecs: TrackCodecs?
    var packet: NetworkPacket?
    while packet == nil {
      switch try connection.read() {
      case .changedCodecs(let changed): codecs = changed
      case .ended: continue
      case .packet(let first): packet = first
      case .videoWaits, .changedPace, .changedVideo, .changedAudio, nil: break
      }
    }
    #expect(codecs?.video == .h264(try Self.stream().description) && codecs?.audio == nil)
    #expect(packet?.isKeyframe == true)
    #expect(log.methods.filter { $0 == "PLAY" }.count == 1)
  }

  /// Opens a server's stream and reads up to its loss.
  ///
  /// - Returns: The packets before it, and its cause.
  private static func readAll(
    _ server: LocalServer, limits: SourceLife.Limits
  ) async throws -> (packets: [Bool], cause: String) {
    try await onThread {
      let connection = try RTSPConnection(
        NetworkSpecification(parsing: "rtsp://127.0.0.1:\(server.port)/live"), interrupt: LibavInterrupt(),
        limits: limits
      )
      var packets: [Bool] = []
      while packets.count < 2 {
        do throws(VidiconError) {
          if case .packet(let packet)? = try connection.read() { packets.append(packet.isKeyframe) }
        } catch {
          return (packets, error.cause)
        }
      }
      return (packets, "")
    }
  }

  @Test func `a server that sends nothing is asked for signs of life, and waited for while it responds`() async throws {
    let log = RequestLog()
    let server = try Self.server(sending: 1, requests: log, keepAlives: 3)
    var limits = SourceLife.Limits()
    // Without these requests, the third of the session's own would come after 90 s.
    (limits.request, limits.connection, limits.media) = (.milliseconds(20), .seconds(300), .seconds(300))
    let (packets, cause) = try await Self.readAll(server, limits: limits)
    #expect(packets == [true, false], "\(cause)")
    #expect(log.methods.filter { $0 == "PLAY" }.count == 1)
  }

  @Test(arguments: [false, true])
  func `a server is lost that neither sends nor responds, or responds and sends no media for long`(
    responds: Bool
  ) async throws {
    let log = RequestLog()
    let server = try Self.server(sending: 1, requests: log) { request in
      responds || request.hasPrefix("PLAY") || !log.methods.contains("PLAY") ? nil : ""
    }
    var limits = SourceLife.Limits()
    limits.request = .milliseconds(50)
    if responds {
      (limits.connection, limits.media, limits.maximumMedia) = (.seconds(600), .seconds(2), .seconds(2))
    } else {
      (limits.connection, limits.media) = (.seconds(2), .seconds(600))
      limits.maximumMedia = .seconds(600)
    }
    let (packets, cause) = try await Self.readAll(server, limits: limits)
    #expect(packets == [true] && cause == "no data arrived in time")
  }

  @Test func `a stop ends a wait at once`() throws {
    let server = try LocalServer { $0.waitForEnd() }
    let silent = try NetworkSpecification(parsing: "rtsp://127.0.0.1:\(server.port)/live")
    let interrupt = LibavInterrupt()
    let stopper = WorkerThread(name: "stop")
    try stopper.start { signal in
      _ = signal.wait(until: StreamClock.system.now() + .milliseconds(300))
      interrupt.cancel()
    }
    let begin = StreamClock.system.now()
    #expect(throws: VidiconError.self) { try NetworkConnections.open(silent, interrupt: interrupt) }
    #expect(onQuietMachine(StreamClock.system.now() - begin < .seconds(3)))
    stopper.stop()
  }
}
