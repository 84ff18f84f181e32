import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTP
import Serving
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
  /// The same in High, which the clients here do not decode.
  static let high = H264Description(
    sequenceParameterSet: [0x67, 0x64, 0x00, 0x1F], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
    frameRate: 30)
  static let aac = AACDescription(
    audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))
  static let candidate = TransportAddress("192.0.2.7", port: 8189)!
  static let digest = [UInt8](repeating: 0xCD, count: 32)
  static let unixTimeAtZero: Int64 = 1_700_000_000_000_000_000

  let loop = EmbeddedEventLoop()
  let stream: LiveStream
  let refusals = RefusalCounters()
  let hub: WebRTCHub
  let security: PlainSecurity
  let outputs: WebRTCDirectory
  let output: WebRTCOutput
  /// Clients, by their addresses.
  var clients: [TransportAddress: SessionClient] = [:]
  /// Publishers, by their addresses.
  var publishers: [TransportAddress: PublisherClient] = [:]
  /// Browsers behind simulated paths, by their addresses.
  var receivers: [TransportAddress: SimulatedReceiver] = [:]
  /// Datagrams to addresses of no client.
  private(set) var strays: [(TransportAddress, ByteBuffer)] = []
  /// Number of calls that sent datagrams, and of their messages.
  private(set) var batches: [Int] = []

  /// The stream's smaller rendition, where it has one: a stream of its own here, whose frames the test makes.
  let low: WebRTCOutput?
  let lowStream = LiveStream("hello/low", video: VideoSettings(width: 64, height: 48, bitrate: 450_000))

  /// Transcodings of the main rendition and of the smaller one, where those are High: streams of their own as well.
  let transcodings: (main: WebRTCOutput?, low: WebRTCOutput?)
  let transcodedStreams = (
    main: LiveStream("hello/transcoded"),
    low: LiveStream("hello/low/transcoded", video: VideoSettings(width: 64, height: 48, bitrate: 450_000))
  )

  /// - Parameters:
  ///   - video: Settings of the stream.
  ///   - hasLow: Whether there is a smaller rendition.
  ///   - digest: SHA-256 of the clients' certificates, ``digest`` in their offers.
  ///   - isHigh: Whether the main rendition and the smaller one are High, where there is a smaller one.
  init(
    _ descriptions: [CodecDescription] = [.h264(h264)], settings: WebRTCServerSettings = .init(),
    video: VideoSettings = VideoSettings(), digest: [UInt8] = EmbeddedHub.digest, hasLow: Bool = false,
    isHigh: (main: Bool, low: Bool) = (false, false)
  ) throws {
    self.stream = LiveStream("hello", video: video)
    let (loop, reports, events) = (self.loop, Lines(), self.events)
    self.security = PlainSecurity(clientDigest: digest)
    let (hub, refusals) = (
      WebRTCHub(
        eventLoop: loop, security: self.security, settings: settings, refusals: self.refusals,
        readClock: { MediaTime(nanoseconds: Int64(clamping: loop.now.uptimeNanoseconds)) },
        unixTime: { Self.unixTimeAtZero + $0.nanoseconds }, report: { reports.append($0) },
        log: { event in
          if case .viewerFailed(_, let text) = event { return reports.append(text) }
          events.all.withLock { $0.append(event) }
        }), self.refusals
    )
    self.hub = hub
    self.outputs = .webRTC(hub, refusals: refusals)
    if hasLow {
      let audio = descriptions.filter { $0.kind == .audio }
      func make(
        _ stream: LiveStream, isHigh: Bool, low: WebRTCOutput? = nil, transcoding: WebRTCOutput? = nil
      ) -> WebRTCOutput {
        let output = WebRTCOutput(
          stream.main, descriptions: [.h264(isHigh ? Self.high : Self.h264)] + audio, hub: hub, refusals: refusals,
          lowerRenditions: { low.map { low in [WebRTCLowerRendition(bitrate: 450_000) { $0(low) }] } ?? [] },
          transcode: { $2(transcoding) }, onEnd: { _ in })
        stream.add(output)
        return output
      }
      let transcodings = (
        main: isHigh.main ? make(self.transcodedStreams.main, isHigh: false) : nil,
        low: isHigh.low ? make(self.transcodedStreams.low, isHigh: false) : nil
      )
      let low = make(self.lowStream, isHigh: isHigh.low, transcoding: transcodings.low)
      self.transcodings = transcodings
      self.low = low
      self.output = make(self.stream, isHigh: isHigh.main, low: low, transcoding: transcodings.main)
    } else {
      self.low = nil
      self.transcodings = (nil, nil)
      self.outputs.serve(self.stream, descriptions: descriptions)
      self.output = try #require(self.outputs.output(of: self.stream.main))
    }
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
  /// Beginnings and ends of visits.
  let events = Events()

  /// Lines for the owner.
  var reported: [String] { self.lines.all }

  private func handle(_ batch: DatagramBatch) {
    self.batches.append(batch.messages.count)
    for (address, datagram) in batch.datagrams {
      if self.receivers[address] != nil {
        self.receivers[address]?.receive(datagram, to: address, at: self.hub.now)
        continue
      }
      guard self.clients[address] != nil || self.publishers[address] != nil else {
        self.strays.append((address, datagram))
        continue
      }
      do {
        try self.clients[address]?.receive(datagram)
        try self.publishers[address]?.receive(datagram)
        let replies = (self.clients[address]?.takeReplies() ?? []) + (self.publishers[address]?.takeReplies() ?? [])
        self.replies += replies.map { ($0, address) }
      } catch {
        Issue.record("a datagram that the client cannot open: \(error)")
      }
    }
  }

  /// Responses of clients to checks of the server.
  private var replies: [(datagram: ByteBuffer, address: TransportAddress)] = [] {
    didSet {
      if oldValue.isEmpty, !self.replies.isEmpty {
        self.loop.assumeIsolated().execute { [weak self] in self?.deliverReplies() }
      }
    }
  }

  private func deliverReplies() {
    while !self.replies.isEmpty {
      let all = self.replies
      self.replies = []
      for (datagram, address) in all {
        self.hub.receive(datagram, from: address)
        self.hub.flush()
      }
    }
  }

  /// Tracks of an offer.
  struct Tracks: OptionSet {
    let rawValue: Int
    static let video = Tracks(rawValue: 1)
    static let audio = Tracks(rawValue: 2)
  }

  /// An offer to receive tracks, without formats of H.264 but Constrained Baseline.
  static func offerText(_ tracks: Tracks = .video, fragment: String = "clnt") -> String {
    let mids = (tracks.contains(.video) ? ["0"] : []) + (tracks.contains(.audio) ? ["1"] : [])
    var lines = [
      "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE \(mids.joined(separator: " "))",
      "a=ice-ufrag:\(fragment)", "a=ice-pwd:client0password0client", "a=setup:actpass",
      "a=fingerprint:sha-256 " + Array(repeating: "CD", count: 32).joined(separator: ":"),
    ]
    if tracks.contains(.video) {
      lines += [
        "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux",
        "a=rtpmap:96 H264/90000",
        "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", "a=rtpmap:97 rtx/90000",
        "a=fmtp:97 apt=96", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
        "a=rtcp-fb:96 transport-cc",
        "a=extmap:5 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
      ]
    }
    if tracks.contains(.audio) {
      lines += [
        "m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=mid:1", "a=recvonly", "a=rtcp-mux",
        "a=rtpmap:111 opus/48000/2",
      ]
    }
    return lines.joined(separator: "\r\n") + "\r\n"
  }

  static func offer(_ tracks: Tracks = .video) throws -> WebRTCOffer {
    try WebRTCOffer(parsing: ByteBuffer(string: Self.offerText(tracks)))
  }

  /// Opens a session, without a datagram.
  func open(_ number: UInt8 = 1, _ tracks: Tracks = .video) throws -> (session: WHEPSession, client: SessionClient) {
    let (session, client, _) = try self.openAnswered(number, tracks)
    return (session, client)
  }

  /// Opens a session whose browser is behind a path.
  func watch(_ number: UInt8, _ conditions: SimulatedPath.Conditions, path: String = "hello") throws -> TransportAddress
  {
    let (_, client, answer) = try self.openAnswered(number, path: path)
    self.receivers[client.address] = SimulatedReceiver(
      conditions, seed: UInt64(number), client: client, answer: answer, at: self.hub.now)
    return client.address
  }

  private func openAnswered(
    _ number: UInt8, _ tracks: Tracks = .video, path: String = "hello"
  ) throws -> (session: WHEPSession, client: SessionClient, answer: WebRTCAnswer) {
    let session = try self.hub.open(
      Self.offer(tracks), of: path == "hello" ? self.output : #require(self.low),
      as: path == "hello" ? self.transcodings.main : nil, path: path, candidates: [Self.candidate],
      client: .v4(0xC633_6400 | UInt32(number)))
    let text = String(buffer: session.answer)
    func value(_ name: String) throws -> String {
      let line = try #require(text.split(separator: "\r\n").first { $0.hasPrefix("a=\(name):") })
      return String(line.dropFirst(name.utf8.count + 3))
    }
    let credentials = try #require(
      ICECredentials(usernameFragment: value("ice-ufrag"), password: value("ice-pwd")))
    // SSRCs of video and its retransmissions, then that of audio.
    var ssrcs: [UInt32] = []
    for line in text.split(separator: "\r\n") where line.hasPrefix("a=ssrc:") {
      let ssrc = try #require(line.dropFirst(7).split(separator: " ").first.flatMap { UInt32($0) })
      if ssrcs.last != ssrc { ssrcs.append(ssrc) }
    }
    let hasVideo = tracks.contains(.video)
    let answer = try WebRTCAnswer(
      Self.offer(tracks),
      WebRTCAnswer.Configuration(
        sessionID: 1, credentials: credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: PlainSecurity().fingerprint),
        candidates: [Self.candidate], video: H264ProfileLevel(parsing: "42c01f"), hasAudio: self.output.hasAudio,
        ssrcs: hasVideo
          ? (#require(ssrcs.first), #require(ssrcs.dropFirst().first), ssrcs.count > 2 ? ssrcs[2] : 1)
          : (1, 2, #require(ssrcs.first))))
    let address = TransportAddress(ip: .v4(0xC633_6400 | UInt32(number)), port: 4000)
    return (session, SessionClient(address, answer: answer, credentials: credentials), answer)
  }

  /// Time passes for the browsers behind paths.
  func advance(_ duration: MediaDuration) throws {
    let end = self.hub.now + duration
    while self.hub.now < end {
      for address in self.receivers.keys.sorted(by: { $0.port < $1.port || $0.description < $1.description }) {
        guard var receiver = self.receivers[address], receiver.nextDeadline <= self.hub.now else { continue }
        let datagrams = try receiver.handleTimeout(at: self.hub.now)
        self.receivers[address] = receiver
        for datagram in datagrams { self.deliver(datagram, from: address) }
      }
      self.loop.advanceTime(by: .milliseconds(1))
    }
  }

  /// Opens a session and connects its client.
  func connect(
    _ number: UInt8 = 1, _ tracks: Tracks = .video
  ) throws -> (session: WHEPSession, address: TransportAddress) {
    var (session, client) = try self.open(number, tracks)
    let datagrams = [client.check(nominates: false), SessionClient.hello, client.check()]
    self.clients[client.address] = client
    for datagram in datagrams { self.deliver(datagram, from: client.address) }
    return (session, client.address)
  }

  func deliver(_ datagram: ByteBuffer, from address: TransportAddress) {
    self.hub.receive(datagram, from: address)
    self.hub.flush()
    self.deliverReplies()
  }

  /// Feedback of a client.
  func feedback(_ message: RTCPFeedback.Message, of viewer: TransportAddress) throws -> ByteBuffer {
    var client = try #require(self.clients[viewer])
    defer { self.clients[viewer] = client }
    return client.feedback(message)
  }

  /// The stream has a frame, or one of its renditions.
  func sendVideo(isKeyframe: Bool = false, length: Int = 3000, of rendition: WebRTCOutput? = nil) {
    let unit = [isKeyframe ? 0x65 : 0x41] + [UInt8](repeating: 0x55, count: length - 1)
    var payload = ByteBuffer(integer: UInt32(length))
    payload.writeBytes(unit)
    (rendition ?? self.output).consume(
      EncodedSample(
        kind: .video, payload: payload, presentationTime: self.hub.now, duration: .milliseconds(33),
        isKeyframe: isKeyframe))
    self.loop.run()
  }

  /// The stream has a frame of silent audio, and time passes by its length.
  func sendAudio(count: Int = 1) {
    for _ in 0..<count {
      self.output.consume(
        EncodedSample(
          kind: .audio, payload: ByteBuffer(bytes: [0x21, 0x00, 0x49, 0x90, 0x02, 0x19, 0x00, 0x23, 0x80]),
          presentationTime: self.hub.now, duration: .ticks(1024, timescale: 48_000), isKeyframe: true))
      self.loop.advanceTime(by: .nanoseconds(21_333_333))
    }
  }

  /// Number of viewers whose connection is made.
  var viewers: Int { self.output.statistics.viewers }

  /// Number of times that the encoder was asked for a keyframe.
  var keyframeRequests: Int { self.stream.statistics.keyframeRequests }

  final class Events: Sendable {
    let all = Mutex<[ServerEvent]>([])
  }

  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { self.lines.withLock { $0 } }
    func append(_ line: String) { self.lines.withLock { $0.append(line) } }
  }
}
