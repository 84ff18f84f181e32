import Authentication
import Bitstreams
import Media
import NIOCore
import RTP
import RTSP

/// Plays a stream of an RTSP server as players do, and notes what happens.
final class RTSPProbe: ConnectionProbe {
  /// The stream, and how it is played.
  struct Request: Sendable {
    /// The stream's absolute URL without user and password.
    var url: String
    /// Nil without a user, or where the server is not trusted with a password.
    var credentials: RTSPClientSession.Credentials?
    var isEncrypted = false
    var delivery = RTSPClientSession.Delivery.interleaved
    /// Random hexadecimal digits, for proofs of the password.
    var clientNonce: String
    /// Time by which the probe has ended.
    var deadline: MediaTime
    /// Time for which the stream is played.
    var playTime: MediaDuration
  }

  /// Stages of a session, for what waits for them.
  enum Stage: Sendable {
    /// PLAY is sent; the server's ports of the first track are known where it has named some.
    case ready(serverPorts: RTSPTransport.Pair<UInt16>?)
    /// The server has accepted PLAY.
    case playing
  }

  /// Time after PLAY at which a keep-alive request is sent.
  private static let keepAliveDelay = MediaDuration.seconds(1)

  private let request: Request
  private let report: @Sendable (Stage) -> Void
  private var session: RTSPClientSession
  private var parser = RTSPMessageParser()
  private var receiver: RTPStreamReceiver
  private var meters: [Int: TrackMeter] = [:]
  private var facts = RTSPObservation()
  private var sent: (method: RTSPMethod, time: MediaTime)?
  private var playStart: MediaTime?
  private(set) var isComplete = false

  /// - Parameter report: Called at each stage, on the event loop of the connection.
  init(_ request: Request, report: @escaping @Sendable (Stage) -> Void = { _ in }) {
    self.request = request
    self.report = report
    self.session = RTSPClientSession(
      url: request.url, credentials: request.credentials, clientNonce: request.clientNonce,
      delivery: request.delivery, leavesOutOtherCodecs: true)
    self.receiver = RTPStreamReceiver(ssrc: 1, canonicalName: "vidicon-check")
    self.facts.hasCredentials = request.credentials != nil
    self.facts.isEncrypted = request.isEncrypted
  }

  var nextDeadline: MediaTime {
    guard let playStart else { return self.request.deadline }
    let end = min(playStart + self.request.playTime, self.request.deadline)
    return self.facts.isKeepAliveSent ? end : min(playStart + Self.keepAliveDelay, end)
  }

  func start(at now: MediaTime) -> ByteBuffer {
    self.perform(self.session.begin(), at: now)
  }

  func receive(_ bytes: ByteBuffer, at now: MediaTime) -> ByteBuffer {
    self.parser.append(bytes)
    var output = ByteBuffer()
    while !self.isComplete, let message = self.parser.next() {
      output.writeImmutableBuffer(self.handle(message, at: now))
    }
    return output
  }

  func handleTime(_ now: MediaTime) -> ByteBuffer {
    guard let playStart, now < min(playStart + self.request.playTime, self.request.deadline) else {
      if now >= self.nextDeadline { self.isComplete = true }
      return ByteBuffer()
    }
    guard !self.facts.isKeepAliveSent, now >= playStart + Self.keepAliveDelay else { return ByteBuffer() }
    self.facts.isKeepAliveSent = true
    return self.perform(self.session.requestSign(now: now), at: now)
  }

  func handleEnd(at now: MediaTime) {
    if let playStart {
      self.facts.closed = (now - playStart).seconds
    } else {
      self.facts.failure = .closed
    }
    self.isComplete = true
  }

  func finish() -> ByteBuffer {
    var bytes = ByteBuffer()
    self.session.end()?.serialize(into: &bytes)
    return bytes
  }

  func observation(at now: MediaTime) -> RTSPObservation {
    var facts = self.facts
    facts.pendingMethod = self.sent?.method.rawValue
    facts.tracks = self.meters.sorted { $0.key < $1.key }.map { $0.value.observation(until: now) }
    return facts
  }

  private func handle(_ message: RTSPMessage, at now: MediaTime) -> ByteBuffer {
    switch message {
    case .response(let response): return self.handle(response, at: now)
    case .request(let request): return self.perform(self.session.handle(request), at: now)
    case .interleaved(let channel, let payload):
      if let (index, isRTCP) = self.session.track(forChannel: channel) {
        self.handle(payload, isRTCP: isRTCP, track: index, at: now)
      }
    case .malformed(let message):
      guard !message.canContinue else { break }
      self.fail(self.facts.exchanges.isEmpty ? .notRTSP : .invalid)
    }
    return ByteBuffer()
  }

  private func handle(_ response: RTSPResponse, at now: MediaTime) -> ByteBuffer {
    if let sent = self.sent, response.status.code >= 200 {
      let seconds = (now - sent.time).seconds
      self.facts.exchanges.append(
        .init(method: sent.method.rawValue, status: response.status.code, seconds: seconds))
      if sent.method == .describe, response.status == .ok { self.readDescription(response.body) }
      if (300..<400).contains(response.status.code) { self.facts.location = response.headers["Location"] }
      if self.facts.isKeepAliveSent { self.facts.keepAliveStatus = response.status.code }
      self.sent = nil
    }
    for challenge in response.headers.values(of: "WWW-Authenticate") {
      let scheme = String(challenge.prefix { $0 != " " }.prefix(20)).withoutControls()
      if !scheme.isEmpty, !self.facts.loginSchemes.contains(scheme) { self.facts.loginSchemes.append(scheme) }
    }
    return self.perform(self.session.handle(response, now: now), at: now)
  }

  /// Maximum number of announced tracks that are noted.
  private static let maximumTrackCount = 8
  /// Encodings of payload types with a fixed meaning that cameras have, RFC 3551 §6.
  private static let staticEncodings: [UInt8: String] = [
    0: "PCMU", 3: "GSM", 8: "PCMA", 9: "G722", 14: "MPA", 26: "JPEG", 31: "H261", 32: "MPV", 33: "MP2T", 34: "H263",
  ]

  private func readDescription(_ body: ByteBuffer) {
    guard let description = try? SessionDescription(parsing: body) else { return }
    self.facts.announced = description.media.prefix(Self.maximumTrackCount).map { media in
      let map = media.payloadType.flatMap { media.rtpMap(payloadType: $0) }
      let codec =
        map?.encoding ?? media.payloadType.flatMap { Self.staticEncodings[$0] }
        ?? "payload type \(media.formats.first ?? "")"
      return AnnouncedTrack(kind: String(media.media.prefix(20)), codec: String(codec.prefix(40)))
    }
  }

  private func handle(_ payload: ByteBuffer, isRTCP: Bool, track index: Int, at now: MediaTime) {
    // A packet that cannot be parsed is lost, and nothing else.
    if isRTCP {
      try? self.receiver.receive(rtcp: payload, track: index, at: now)
      guard let compound = try? RTCPCompoundPacket(parsing: payload) else { return }
      for case .senderReport(let report) in compound.packets { self.meters[index]?.handle(report) }
      return
    }
    guard let packet = try? RTPPacket(parsing: payload),
      packet.header.payloadType == self.session.tracks[index].format.payloadType
    else { return }
    self.meters[index]?.handle(packet.header, at: now)
    if self.session.tracks[index].format.kind == .video, Self.hasIDRSlice(packet.payload) {
      self.meters[index]?.handleIDRSlice()
    }
    for output in (try? self.receiver.receive(rtp: payload, track: index, at: now)) ?? [] {
      switch output {
      case .description(let description): self.meters[index]?.handle(description, isAnnounced: false)
      case .sample(let sample): self.meters[index]?.handle(sample, at: now)
      case .unsupported, .missingKeyframe: break
      }
    }
  }

  /// Whether a payload of H.264 has a slice of an IDR picture, or a part of one.
  private static func hasIDRSlice(_ payload: ByteBuffer) -> Bool {
    func isSlice(_ header: UInt8) -> Bool { H264NALUnitType(rawValue: header) == .idrSlice }
    guard let content = try? H264PacketContent(parsing: payload) else { return false }
    switch content {
    case .nalUnits(let units):
      return units.contains { unit in unit.getInteger(at: unit.readerIndex, as: UInt8.self).map(isSlice) == true }
    case .fragment(let header, _, _, _): return isSlice(header)
    }
  }

  private func perform(_ actions: [RTSPClientSession.Action], at now: MediaTime) -> ByteBuffer {
    var bytes = ByteBuffer()
    for action in actions {
      switch action {
      case .send(let request):
        // The first packets may come before the response.
        if request.method == .play {
          self.addTracks(at: now)
          self.report(.ready(serverPorts: self.session.tracks.first?.serverPorts))
        }
        self.sent = (request.method, now)
        request.serialize(into: &bytes)
      case .respond(let response): response.serialize(into: &bytes)
      case .play:
        self.facts.isPlaying = true
        self.playStart = now
        self.report(.playing)
      case .fail(let failure):
        switch failure {
        case .refused: self.fail(.refused)
        case .unsupported: self.fail(.unsupported)
        case .invalid: self.fail(.invalid)
        }
      }
    }
    return bytes
  }

  private func fail(_ failure: RTSPObservation.Failure) {
    // A session that ends while it plays is noted by the status of its keep-alive request.
    if !self.facts.isPlaying { self.facts.failure = failure }
    self.isComplete = true
  }

  private func addTracks(at now: MediaTime) {
    self.facts.start = now
    for (index, track) in self.session.tracks.enumerated() {
      let format = track.format
      let codec = format.kind == .video ? "H.264" : "AAC"
      self.meters[index] = TrackMeter(kind: format.kind, codec: codec, clockRate: format.clockRate, start: now)
      let outputs = (try? self.receiver.addTrack(index, format: format, reorders: false)) ?? []
      for case .description(let description) in outputs {
        self.meters[index]?.handle(description, isAnnounced: true)
      }
    }
  }
}
