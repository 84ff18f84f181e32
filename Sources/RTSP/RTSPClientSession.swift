internal import Authentication
package import Media
internal import NIOCore
package import RTP

/// The client's side of an RTSP session that receives a stream interleaved in its connection or, for a check of that, as datagrams,
/// RFC 2326: OPTIONS, DESCRIBE, SETUP of each track, PLAY, and keep-alive. Pure: `now` is an argument.
///
/// Receives the first video and the first audio track; other media, as ONVIF metadata and back channels, are left out, and audio that
/// the server announces and then refuses, as of a microphone that is off. One request is under way at a time.
package struct RTSPClientSession: Sendable {
  /// A user and a password, for servers that ask for them.
  package struct Credentials: Hashable, Sendable {
    /// The user's name, not percent-encoded.
    package var user: String
    /// The password in plain text, not percent-encoded.
    package var password: String

    /// Credentials as the server knows them.
    package init(user: String, password: String) {
      (self.user, self.password) = (user, password)
    }
  }

  /// A track that is received.
  package struct Track: Hashable, Sendable {
    /// Codec, payload type and clock.
    package var format: RTPMediaFormat
    /// Channels of its RTP and RTCP packets.
    package var channels: RTSPTransport.Pair<UInt8>
    /// Ports of the server for datagrams; nil before the response to SETUP, and where that has none.
    package var serverPorts: RTSPTransport.Pair<UInt16>?
    /// The track's absolute URL.
    var url: String
  }

  /// The reason for there being no stream.
  package enum Failure: Hashable, Sendable {
    /// The server has refused a request.
    case refused(RTSPStatus)
    /// Redirections, other codecs than H.264 and AAC, and servers that do not interleave.
    case unsupported
    /// A response is malformed or not expected.
    case invalid
  }

  /// An action that the connection performs.
  package enum Action: Hashable, Sendable {
    /// Sends a request.
    case send(RTSPRequest)
    /// Sends a response to a request of the server.
    case respond(RTSPResponse)
    /// The server sends the ``RTSPClientSession/tracks`` from now on.
    case play
    /// Closes the connection.
    case fail(Failure)
  }

  /// The path of the packets.
  package enum Delivery: Hashable, Sendable {
    /// Between the messages of the connection, RFC 2326 §10.12.
    case interleaved
    /// Datagrams to these ports of the client. The first track only is received.
    case datagrams(RTSPTransport.Pair<UInt16>)
  }

  private enum State: Equatable {
    case options, describing, playing, ended
    /// SETUP of a track is under way.
    case settingUp(Int)
    case starting
  }

  /// The tracks, of which there is at least one while the server sends.
  package private(set) var tracks: [Track] = []
  /// Audio of the description that the server receives, and that is not set up; none before the response to DESCRIBE.
  package private(set) var backChannels = RTSPBackChannels()

  private let url: String
  private let delivery: Delivery
  private let leavesOutOtherCodecs: Bool
  private var state = State.options
  private var responder: ChallengeResponder?
  private var sequence = 0
  /// The request that waits for its response.
  private var pending: RTSPRequest?
  /// Number of challenges that the pending request has got.
  private var challengeCount = 0
  private var sessionID: String?
  private var timeout = Self.defaultTimeout
  private var keepAlive = RTSPMethod.options
  /// URL of the whole stream, for PLAY.
  private var aggregateURL: String
  /// Time of the next keep-alive request; nil before PLAY.
  package private(set) var nextDeadline: MediaTime?

  /// RFC 2326 §12.37.
  private static let defaultTimeout = MediaDuration.seconds(60)
  private static let maximumChallengeCount = 3

  /// A session that ``begin()`` starts.
  ///
  /// - Parameters:
  ///   - url: The stream's absolute URL without user and password.
  ///   - credentials: User and password; nil without any.
  ///   - clientNonce: Random hexadecimal digits, for proofs of the password.
  ///   - delivery: The path of the packets.
  ///   - leavesOutOtherCodecs: Whether tracks of other codecs are left out, instead of failing as ``Failure/unsupported``.
  package init(
    url: String, credentials: Credentials?, clientNonce: String, delivery: Delivery = .interleaved,
    leavesOutOtherCodecs: Bool = false
  ) {
    self.url = url
    self.delivery = delivery
    self.leavesOutOtherCodecs = leavesOutOtherCodecs
    self.aggregateURL = url
    self.responder = credentials.map {
      ChallengeResponder(user: $0.user, password: $0.password, clientNonce: clientNonce)
    }
  }

  /// Index of the track, and whether the packet is RTCP, by the channel; nil for other channels.
  package func track(forChannel channel: UInt8) -> (index: Int, isRTCP: Bool)? {
    for (index, track) in self.tracks.enumerated() {
      if track.channels.rtp == channel { return (index, false) }
      if track.channels.rtcp == channel { return (index, true) }
    }
    return nil
  }

  /// Starts the session: its first request is OPTIONS.
  package mutating func begin() -> [Action] {
    [self.send(.options, self.url)]
  }

  /// A keep-alive request, once ``nextDeadline`` has passed.
  package mutating func handleTime(_ now: MediaTime) -> [Action] {
    guard let deadline = self.nextDeadline, now >= deadline else { return [] }
    return self.requestSign(now: now)
  }

  /// A keep-alive request before its time, whose response shows that the server is there; nothing before PLAY.
  package mutating func requestSign(now: MediaTime) -> [Action] {
    guard self.nextDeadline != nil, self.state == .playing else { return [] }
    self.nextDeadline = now + self.keepAliveInterval
    // A server that does not respond to keep-alive requests still sends.
    return [self.send(self.keepAlive, self.aggregateURL)]
  }

  /// Half the session's timeout, at most half a minute: routers forget silent connections.
  private var keepAliveInterval: MediaDuration {
    min(max(self.timeout / 2, .seconds(1)), .seconds(30))
  }

  /// The request that ends the session; nil before there is one.
  package mutating func end() -> RTSPRequest? {
    defer { self.state = .ended }
    guard self.sessionID != nil, case .send(let request) = self.send(.teardown, self.aggregateURL) else { return nil }
    return request
  }

  /// Responds to a request of the server: OPTIONS is answered, others are not supported.
  package func handle(_ request: RTSPRequest) -> [Action] {
    var headers: RTSPHeaders = [:]
    headers["CSeq"] = request.headers["CSeq"]
    return [.respond(RTSPResponse(status: request.method == .options ? .ok : .notImplemented, headers: headers))]
  }

  /// Continues the session by a response of the server.
  package mutating func handle(_ response: RTSPResponse, now: MediaTime) -> [Action] {
    guard let request = self.pending else { return [] }
    // Another number is that of a late response, as to an earlier keep-alive; some servers leave it out of errors.
    if let cSeq = response.headers["CSeq"], cSeq != request.headers["CSeq"] { return [] }
    if response.status.code < 200 { return [] }
    if response.status == .unauthorized, self.challengeCount < Self.maximumChallengeCount,
      self.responder?.take(response.headers.values(of: "WWW-Authenticate")) == true
    {
      self.challengeCount += 1
      return [self.send(request.method, request.uri, request.headers)]
    }
    // Schemes and algorithms that are not known here.
    if response.status == .unauthorized, self.responder?.isChallenged == false { return self.fail(.unsupported) }
    self.pending = nil
    self.challengeCount = 0
    switch self.state {
    case .options: return self.handleOptions(response)
    case .describing: return self.handleDescription(response)
    case .settingUp(let index): return self.handleSetup(response, index)
    case .starting:
      guard response.status.isSuccess else { return self.refused(response.status) }
      self.state = .playing
      self.nextDeadline = now + self.keepAliveInterval
      return [.play]
    case .playing:
      // The session is gone, and with it the stream.
      return response.status == .sessionNotFound ? self.refused(response.status) : []
    case .ended: return []
    }
  }

  private mutating func handleOptions(_ response: RTSPResponse) -> [Action] {
    if response.status == .unauthorized || response.status.isRedirection { return self.refused(response.status) }
    // Cameras that do not know OPTIONS know DESCRIBE.
    let methods = response.headers.list(of: "Public")?.splitOutsideQuotes(UInt8(ascii: ",")) ?? []
    if methods.contains(where: { $0.trimmingSpace() == RTSPMethod.getParameter.rawValue }) {
      self.keepAlive = .getParameter
    }
    self.state = .describing
    return [self.send(.describe, self.url, ["Accept": "application/sdp"])]
  }

  private mutating func handleDescription(_ response: RTSPResponse) -> [Action] {
    guard response.status.isSuccess else { return self.refused(response.status) }
    let base = response.headers["Content-Base"] ?? response.headers["Content-Location"] ?? self.url
    do throws(ParsingError) {
      let session = try SessionDescription(parsing: response.body)
      self.aggregateURL = Self.resolve(session.attributes.value(of: "control"), base: base)
      self.backChannels = RTSPBackChannels(session)
      let received = self.backChannels.received(of: session)
      for kind in ["video", "audio"] {
        guard let media = received.first(where: { $0.media == kind }) else { continue }
        guard let format = try self.format(of: media) else { continue }
        let channel = UInt8(2 * self.tracks.count)
        self.tracks.append(
          Track(
            format: format, channels: .init(rtp: channel, rtcp: channel + 1),
            url: Self.resolve(media.control, base: base)))
      }
    } catch {
      return self.fail(error.code == .unsupported ? .unsupported : .invalid)
    }
    if case .datagrams = self.delivery { self.tracks = Array(self.tracks.prefix(1)) }
    return self.tracks.isEmpty ? self.fail(.unsupported) : self.setUp(0)
  }

  /// The format of a track; nil for one that is left out.
  private func format(of media: MediaDescription) throws(ParsingError) -> RTPMediaFormat? {
    do throws(ParsingError) {
      return try RTPMediaFormat(media)
    } catch {
      guard self.leavesOutOtherCodecs, error.code == .unsupported else { throw error }
      return nil
    }
  }

  /// The URL of a control attribute, RFC 2326 §C.1.1: as clients and servers understand it, behind the base and a slash.
  private static func resolve(_ control: String?, base: String) -> String {
    guard let control, !control.isEmpty, control != "*" else { return base }
    if (try? RTSPURL(parsing: control))?.scheme != nil { return control }
    return base.utf8.last == UInt8(ascii: "/") ? base + control : base + "/" + control
  }

  private mutating func setUp(_ index: Int) -> [Action] {
    self.state = .settingUp(index)
    var transport: RTSPTransport
    switch self.delivery {
    case .interleaved:
      transport = RTSPTransport(.tcp)
      transport.interleaved = self.tracks[index].channels
    case .datagrams(let ports):
      transport = RTSPTransport(.udp)
      transport.clientPorts = ports
    }
    return [self.send(.setup, self.tracks[index].url, ["Transport": transport.serialize()])]
  }

  private mutating func handleSetup(_ response: RTSPResponse, _ index: Int) -> [Action] {
    guard response.status.isSuccess else {
      if index > 0, self.tracks[index].format.kind == .audio, !response.status.isRedirection {
        self.tracks.remove(at: index)
        return self.play()
      }
      return response.status == .unsupportedTransport ? self.fail(.unsupported) : self.refused(response.status)
    }
    if let text = response.headers["Transport"] {
      let expected: RTSPTransport.LowerTransport = self.delivery == .interleaved ? .tcp : .udp
      guard let transport = try? RTSPTransport(parsing: text), transport.lowerTransport == expected else {
        return self.fail(.unsupported)
      }
      if let channels = transport.interleaved { self.tracks[index].channels = channels }
      self.tracks[index].serverPorts = transport.serverPorts
    }
    if let session = response.headers["Session"] { self.readSession(session) }
    guard self.sessionID != nil else { return self.fail(.invalid) }
    return index + 1 < self.tracks.count ? self.setUp(index + 1) : self.play()
  }

  private mutating func play() -> [Action] {
    self.state = .starting
    return [self.send(.play, self.aggregateURL, ["Range": "npt=0.000-"])]
  }

  /// `identifier;timeout=seconds`, RFC 2326 §12.37.
  private mutating func readSession(_ value: String) {
    let parts = value.splitOutsideQuotes(UInt8(ascii: ";"))
    guard let id = parts.first?.trimmingSpace(), !id.isEmpty else { return }
    self.sessionID = id
    for part in parts.dropFirst() {
      let pair = part.splitOutsideQuotes(UInt8(ascii: "="))
      guard pair.count == 2, pair[0].trimmingSpace().equalsIgnoringCase("timeout"),
        let seconds = pair[1].trimmingSpace().decimal(as: Int32.self), seconds > 0
      else { continue }
      self.timeout = .seconds(Int64(seconds))
    }
  }

  private mutating func refused(_ status: RTSPStatus) -> [Action] {
    self.fail(status.isRedirection ? .unsupported : .refused(status))
  }

  private mutating func fail(_ failure: Failure) -> [Action] {
    self.state = .ended
    return [.fail(failure)]
  }

  private mutating func send(_ method: RTSPMethod, _ uri: String, _ headers: RTSPHeaders = [:]) -> Action {
    var headers = headers
    self.sequence += 1
    headers["CSeq"] = String(self.sequence)
    headers["User-Agent"] = "Vidicon"
    headers["Session"] = self.sessionID
    headers["Authorization"] = self.responder?.authorization(method: method.rawValue, uri: uri)
    let request = RTSPRequest(method: method, uri: uri, headers: headers)
    self.pending = request
    return .send(request)
  }
}

extension RTSPStatus {
  /// Whether the request has succeeded.
  fileprivate var isSuccess: Bool { (200..<300).contains(self.code) }
  /// Whether the stream is at another address.
  fileprivate var isRedirection: Bool { (300..<400).contains(self.code) }
}
