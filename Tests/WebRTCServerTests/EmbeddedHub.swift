import Authentication
import Connections
import Media
import NIOCore
import NIOEmbedded
import RTP
import Streaming
import Synchronization
import Testing
import WebRTC
import WebRTCPeers

@testable import WebRTCServer

/// A hub without a socket: one published stream, and the virtual time of an embedded event loop.
final class EmbeddedHub {
  static let h264 = H264Description(
    sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1F], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
    frameRate: 30)
  static let candidate = TransportAddress("192.0.2.7", port: 8189)!
  static let digest = [UInt8](repeating: 0xCD, count: 32)
  static let unixTimeAtZero: Int64 = 1_700_000_000_000_000_000

  let loop = EmbeddedEventLoop()
  let stream = LiveStream("hello")
  let refusals = RefusalCounters()
  let hub: WebRTCHub
  let directory: WebRTCStreamDirectory
  let broadcaster: WebRTCBroadcaster
  /// Clients, by their addresses.
  var clients: [TransportAddress: SessionClient] = [:]
  /// Datagrams to addresses of no client.
  private(set) var strays: [(TransportAddress, ByteBuffer)] = []
  /// Number of calls that sent datagrams, and of their messages.
  private(set) var batches: [Int] = []

  init(_ descriptions: [CodecDescription] = [.h264(h264)], settings: WebRTCServerSettings = .init()) throws {
    let (loop, reports) = (self.loop, Lines())
    self.hub = WebRTCHub(
      eventLoop: loop, security: PlainSecurity(clientDigest: Self.digest), settings: settings,
      refusals: self.refusals,
      readClock: { MediaTime(nanoseconds: Int64(clamping: loop.now.uptimeNanoseconds)) },
      unixTime: { Self.unixTimeAtZero + $0.nanoseconds }, report: { reports.append($0) })
    self.directory = WebRTCStreamDirectory(hub: self.hub, refusals: self.refusals)
    self.directory.publish(self.stream, descriptions: descriptions)
    self.broadcaster = try #require(self.directory.broadcaster(of: self.stream))
    self.lines = reports
    self.hub.setTransmit(
      { [weak self] batch in
        self?.handle(batch)
        return 0
      }, discardWaiting: { [weak self] in self?.discardCount += 1 })
  }

  /// Number of times that the port was to drop the datagrams that wait.
  private(set) var discardCount = 0

  private let lines: Lines

  /// Lines for the owner.
  var reported: [String] { self.lines.all }

  private func handle(_ batch: DatagramBatch) {
    self.batches.append(batch.messages.count)
    for (address, datagram) in batch.datagrams {
      guard self.clients[address] != nil else {
        self.strays.append((address, datagram))
        continue
      }
      do {
        try self.clients[address]?.receive(datagram)
      } catch {
        Issue.record("a datagram that the client cannot open: \(error)")
      }
    }
  }

  static func offer(_ fragment: String = "clnt") throws -> WebRTCOffer {
    let lines = [
      "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 96 97",
      "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=ice-ufrag:\(fragment)",
      "a=ice-pwd:client0password0client", "a=setup:actpass",
      "a=fingerprint:sha-256 " + Array(repeating: "CD", count: 32).joined(separator: ":"), "a=rtpmap:96 H264/90000",
      "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", "a=rtpmap:97 rtx/90000",
      "a=fmtp:97 apt=96", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
    ]
    return try WebRTCOffer(parsing: ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n"))
  }

  /// Opens a session, without a datagram.
  func open(_ number: UInt8 = 1) throws -> (session: WHEPSession, client: SessionClient) {
    let session = try self.hub.open(
      Self.offer(), of: self.broadcaster, path: "hello", candidates: [Self.candidate],
      client: .v4(0xC633_6400 | UInt32(number)))
    let text = String(buffer: session.answer)
    func value(_ name: String) throws -> String {
      let line = try #require(text.split(separator: "\r\n").first { $0.hasPrefix("a=\(name):") })
      return String(line.dropFirst(name.utf8.count + 3))
    }
    let credentials = try #require(
      ICECredentials(usernameFragment: value("ice-ufrag"), password: value("ice-pwd")))
    let ssrcs = try #require(text.split(separator: "\r\n").first { $0.hasPrefix("a=ssrc-group:FID ") }).split(
      separator: " ")
    let answer = try WebRTCAnswer(
      Self.offer(),
      WebRTCAnswer.Configuration(
        sessionID: 1, credentials: credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: PlainSecurity().fingerprint),
        candidates: [Self.candidate], video: H264ProfileLevel(parsing: "42c01f"), hasAudio: false,
        ssrcs: (#require(UInt32(ssrcs[1])), #require(UInt32(ssrcs[2])), 1)))
    let address = TransportAddress(ip: .v4(0xC633_6400 | UInt32(number)), port: 4000)
    return (session, SessionClient(address, answer: answer, credentials: credentials))
  }

  /// Opens a session and connects its client.
  func connect(_ number: UInt8 = 1) throws -> (session: WHEPSession, address: TransportAddress) {
    var (session, client) = try self.open(number)
    let datagrams = [client.check(nominates: false), SessionClient.hello, client.check()]
    self.clients[client.address] = client
    for datagram in datagrams { self.deliver(datagram, from: client.address) }
    return (session, client.address)
  }

  func deliver(_ datagram: ByteBuffer, from address: TransportAddress) {
    self.hub.receive(datagram, from: address)
    self.hub.flush()
  }

  /// Feedback of a client.
  func feedback(_ message: RTCPFeedback.Message, of viewer: TransportAddress) throws -> ByteBuffer {
    var client = try #require(self.clients[viewer])
    defer { self.clients[viewer] = client }
    return client.feedback(message)
  }

  /// The stream has a frame.
  func sendVideo(isKeyframe: Bool = false, length: Int = 3000) {
    let unit = [isKeyframe ? 0x65 : 0x41] + [UInt8](repeating: 0x55, count: length - 1)
    var payload = ByteBuffer(integer: UInt32(length))
    payload.writeBytes(unit)
    self.broadcaster.consume(
      EncodedSample(
        kind: .video, payload: payload, presentationTime: self.hub.now, duration: .milliseconds(33),
        isKeyframe: isKeyframe))
    self.loop.run()
  }

  /// Number of times that the encoder was asked for a keyframe.
  var keyframeRequests: Int { self.stream.statistics.keyframeRequests }

  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { self.lines.withLock { $0 } }
    func append(_ line: String) { self.lines.withLock { $0.append(line) } }
  }
}
