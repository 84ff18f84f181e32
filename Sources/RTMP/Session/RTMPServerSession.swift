package import Media
package import NIOCore

/// The state machine of the server's side of one RTMP connection, RTMP 1.0 §7.2. Pure: `now` is an argument.
///
/// ```
///              connect         play, publish          accept
///   handshake ────────▶ ready ──────────────▶ deciding ──────▶ playing or publishing
///                         ▲                                          │
///                         └──────── closeStream, deleteStream ───────┘
/// ```
///
/// A connection has one message stream, ``streamID``, so that the messages of a stream are the same bytes for every viewer.
/// A connection that neither plays nor publishes is closed after a fixed time, which no message renews; one whose player has
/// paused, after a longer one.
package struct RTMPServerSession: ~Copyable {
  /// The message stream that `createStream` returns.
  package static let streamID: UInt32 = 1

  enum State: Equatable {
    case handshake
    case connecting
    case ready
    case deciding(RTMPStreamRequest)
    case playing
    case paused
    case publishing
    case closed
  }

  private let configuration: RTMPServerConfiguration
  private var handshake: RTMPHandshake
  /// Bytes that the handshake has not consumed yet.
  private var handshakeBytes = ByteBuffer()
  private var reader = RTMPChunkReader(limits: .commands)
  private var writer = RTMPChunkWriter()
  private var acknowledgement = RTMPAcknowledgement()
  private(set) var state = State.handshake
  /// Time since which the connection neither plays nor publishes, or has paused; or of the publisher's last message.
  private var lastActivity: MediaTime
  private var application = ""
  private var url: String?
  /// `capsEx` of the client, Enhanced RTMP v2: bit 0, it reconnects on request.
  private var reconnectsOnRequest = false
  /// Number of bytes that may still be sent before messages wait; negative when they do.
  private var allowance = Int.max

  /// The state of a new connection.
  ///
  /// - Parameter makeRandom: Returns unpredictable numbers, for the handshake.
  package init(
    configuration: RTMPServerConfiguration = RTMPServerConfiguration(), now: MediaTime, makeRandom: () -> UInt64
  ) {
    self.configuration = configuration
    self.handshake = RTMPHandshake(role: .server, makeRandom: makeRandom)
    self.lastActivity = now
  }

  /// Whether a request waits for ``accept(now:allowance:)`` or ``refuse(_:now:)``; nothing should be read from the client meanwhile.
  package var isDeciding: Bool { if case .deciding = self.state { true } else { false } }

  /// Whether the request that waits is one to publish.
  package var willPublish: Bool {
    if case .deciding(let request) = self.state { request.purpose == .publish } else { false }
  }

  /// Whether samples are sent to the client.
  package var isPlaying: Bool { self.state == .playing }

  /// Whether the client sends a stream.
  package var isPublishing: Bool { self.state == .publishing }

  /// Number of received bytes that are held in memory.
  package var heldByteCount: Int { self.handshakeBytes.readableBytes + self.reader.heldByteCount }

  /// Time at which ``handleTimer(now:)`` is due; nil when the session plays or is closed.
  package var nextDeadline: MediaTime? {
    switch self.state {
    case .playing, .closed: nil
    case .publishing: self.lastActivity + self.configuration.publishTimeout
    case .paused: self.lastActivity + self.configuration.pauseTimeout
    default: self.lastActivity + self.configuration.setupTimeout
    }
  }

  /// Processes bytes received from the client, in pieces of any length; none after the end.
  ///
  /// A command of 14 bytes may have a response of 118, so that the bytes of the responses are bounded, not those of the commands.
  ///
  /// - Parameter allowance: Bytes of responses beyond which further messages wait for ``resume(now:allowance:)``; the last response
  ///   may exceed it. Unbounded by default.
  package mutating func receive(_ bytes: ByteBuffer, now: MediaTime, allowance: Int = .max) -> [RTMPServerAction] {
    if self.state == .closed { return [] }
    self.allowance = allowance
    var actions: [RTMPServerAction] = []
    do throws(ParsingError) {
      if self.state == .handshake {
        self.handshakeBytes.writeImmutableBuffer(bytes)
        try self.continueHandshake(&actions)
      } else {
        self.reader.append(bytes)
      }
      try self.process(&actions, now: now)
    } catch {
      self.close(.malformed(error), &actions)
    }
    return actions
  }

  /// Processes the messages that wait since the allowance of responses was used up: the responses are sent.
  ///
  /// - Parameter allowance: As in ``receive(_:now:allowance:)``.
  package mutating func resume(now: MediaTime, allowance: Int) -> [RTMPServerAction] {
    if self.state == .closed { return [] }
    self.allowance = allowance
    var actions: [RTMPServerAction] = []
    self.processOrClose(&actions, now: now)
    return actions
  }

  private mutating func continueHandshake(_ actions: inout [RTMPServerAction]) throws(ParsingError) {
    switch try self.handshake.receive(&self.handshakeBytes) {
    case .incomplete(let output):
      if let output { self.send(output, &actions) }
      self.handshakeBytes.discardReadBytes()
    case .complete(let output):
      if let output { self.send(output, &actions) }
      self.reader.append(self.handshakeBytes)
      self.handshakeBytes = ByteBuffer()
      self.state = .connecting
    }
  }

  /// Processes the messages that are complete; closes the connection at one that is malformed.
  private mutating func processOrClose(_ actions: inout [RTMPServerAction], now: MediaTime) {
    do throws(ParsingError) {
      try self.process(&actions, now: now)
    } catch {
      self.close(.malformed(error), &actions)
    }
  }

  /// Processes the messages that are complete, until a request waits for a decision, or responses for being sent.
  private mutating func process(_ actions: inout [RTMPServerAction], now: MediaTime) throws(ParsingError) {
    guard self.state != .handshake else { return }
    while self.state != .closed, !self.isDeciding, self.allowance >= 0, let message = try self.reader.next() {
      try self.handle(message, &actions, now: now)
    }
    guard self.state != .closed, self.allowance >= 0 else { return }
    if let count = self.acknowledgement.due(received: self.reader.receivedByteCount) {
      self.send([RTMPControlMessage.acknowledgement(count).message], &actions)
    }
  }

  private mutating func handle(
    _ message: RTMPMessage, _ actions: inout [RTMPServerAction], now: MediaTime
  ) throws(ParsingError) {
    if self.state == .publishing { self.lastActivity = max(self.lastActivity, now) }
    if let control = try RTMPControlMessage(leniently: message) {
      switch control {
      case .windowAcknowledgementSize(let size): self.acknowledgement.window = size
      case .pingRequest(let timestamp):
        self.send([RTMPControlMessage.pingResponse(timestamp).message], &actions)
      default: break
      }
      return
    }
    if let command = try RTMPCommand(parsing: message) {
      self.handle(command, &actions, now: now)
      return
    }
    guard self.state == .publishing else { return }
    if message.type == .aggregate {
      actions += try message.aggregated().map { .publish($0) }
    } else if [.audio, .video, .dataAMF0, .dataAMF3].contains(message.type) {
      actions.append(.publish(message))
    }
  }

  private mutating func handle(_ command: RTMPCommand, _ actions: inout [RTMPServerAction], now: MediaTime) {
    if command.name == "connect" {
      self.connect(command, &actions)
      return
    }
    guard self.state != .connecting else { return self.fail(command, "connect comes first", &actions) }
    switch command.name {
    case "createStream":
      self.respond(to: command, .number(Double(Self.streamID)), &actions)
    case "play": self.request(.play, command, &actions)
    case "publish": self.request(.publish, command, &actions)
    case "pause": self.pause(command, &actions, now: now)
    case "closeStream", "deleteStream", "FCUnpublish": self.leave(&actions, now: now)
    case "FCPublish":
      // Hardware encoders wait for both.
      self.respond(to: command, .undefined, &actions)
      self.send(
        [
          RTMPCommand(
            "onFCPublish", arguments: [RTMPStatus(code: "NetStream.Publish.Start", description: "").value]
          ).message()
        ], &actions)
    case "releaseStream", "FCSubscribe", "_checkbw", "getStreamLength", "setPeerInfo":
      self.respond(to: command, command.name == "getStreamLength" ? 0 : .undefined, &actions)
    case "_result", "_error", "onStatus", "receiveAudio", "receiveVideo": break
    default: self.fail(command, "\(command.name.prefix(64)) is not supported", &actions)
    }
  }

  private mutating func connect(_ command: RTMPCommand, _ actions: inout [RTMPServerAction]) {
    guard self.state == .connecting else { return self.fail(command, "the connection is connected", &actions) }
    let properties = command.object?.object ?? AMFObject()
    self.application = properties["app"]?.string ?? ""
    self.url = properties["tcUrl"]?.string
    self.reconnectsOnRequest = RTMPCapabilities.reconnectsOnRequest(properties)
    self.state = .ready
    let window = self.configuration.acknowledgementWindow
    self.send(
      [
        RTMPControlMessage.windowAcknowledgementSize(window).message,
        RTMPControlMessage.setPeerBandwidth(window, limitType: 2).message,
        RTMPControlMessage.setChunkSize(RTMPChunkWriter.announcedChunkSize).message,
        RTMPCommand(
          "_result", transactionID: command.transactionID,
          object: .object(["fmsVer": "FMS/3,0,1,123", "capabilities": 31]),
          arguments: [.object(RTMPCapabilities.serverInformation)]
        ).message(),
      ], &actions)
  }

  private mutating func request(
    _ purpose: RTMPStreamRequest.Purpose, _ command: RTMPCommand, _ actions: inout [RTMPServerAction]
  ) {
    guard self.state == .ready else { return self.fail(command, "the stream is in use", &actions) }
    let request = RTMPStreamRequest(
      purpose: purpose, application: self.application, url: self.url, name: command.arguments.first?.string ?? "")
    self.state = .deciding(request)
    actions.append(.decide(request))
  }

  /// Accepts the request that waits, and handles the bytes behind it.
  ///
  /// - Parameter allowance: As in ``receive(_:now:allowance:)``.
  package mutating func accept(now: MediaTime, allowance: Int = .max) -> [RTMPServerAction] {
    guard case .deciding(let request) = self.state else { return [] }
    self.allowance = allowance
    var actions: [RTMPServerAction] = []
    self.lastActivity = max(self.lastActivity, now)
    switch request.purpose {
    case .play:
      self.state = .playing
      self.send(
        [
          RTMPControlMessage.streamBegin(Self.streamID).message,
          Self.status("NetStream.Play.Reset", "Playing and resetting the stream."),
          Self.status("NetStream.Play.Start", "Started playing the stream."),
        ], &actions)
      actions.append(.startPlaying)
    case .publish:
      self.state = .publishing
      self.reader.limits = .media
      self.send(
        [
          RTMPControlMessage.streamBegin(Self.streamID).message,
          Self.status("NetStream.Publish.Start", "Started publishing the stream."),
        ], &actions)
    }
    self.processOrClose(&actions, now: now)
    return actions
  }

  /// Refuses the request that waits, or ends the publishing that was accepted, and closes the connection.
  package mutating func refuse(_ refusal: RTMPRefusal, now: MediaTime) -> [RTMPServerAction] {
    let isPublish: Bool
    switch self.state {
    case .deciding(let request): isPublish = request.purpose == .publish
    case .publishing: isPublish = true
    default: return []
    }
    var actions: [RTMPServerAction] = []
    let status = refusal.status(isPublish: isPublish)
    self.send(
      [RTMPCommand("onStatus", arguments: [status.value]).message(streamID: Self.streamID)], &actions)
    self.close(.refused(refusal), &actions)
    return actions
  }

  /// Stops or resumes sending: `pause` has a flag and a time, which a live stream does not have.
  private mutating func pause(_ command: RTMPCommand, _ actions: inout [RTMPServerAction], now: MediaTime) {
    switch (self.state, command.arguments.first?.boolean ?? true) {
    case (.playing, true):
      self.state = .paused
      self.lastActivity = max(self.lastActivity, now)
      actions.append(.stopPlaying)
      self.send([Self.status("NetStream.Pause.Notify", "Paused the stream.")], &actions)
    case (.paused, false):
      self.state = .playing
      self.send([Self.status("NetStream.Unpause.Notify", "Resumed the stream.")], &actions)
      actions.append(.startPlaying)
    default: break
    }
  }

  /// Ends playing or publishing on the client's request.
  private mutating func leave(_ actions: inout [RTMPServerAction], now: MediaTime) {
    switch self.state {
    case .playing, .paused:
      if self.state == .playing { actions.append(.stopPlaying) }
      self.send([Self.status("NetStream.Play.Stop", "Stopped playing the stream.")], &actions)
    case .publishing:
      actions.append(.stopPublishing)
      self.reader.limits = .commands
      self.send([Self.status("NetStream.Unpublish.Success", "Stopped publishing the stream.")], &actions)
    default: return
    }
    self.state = .ready
    self.lastActivity = max(self.lastActivity, now)
  }

  /// Closes a connection that is idle. Called at ``nextDeadline``; without effect before it.
  package mutating func handleTimer(now: MediaTime) -> [RTMPServerAction] {
    guard let deadline = self.nextDeadline, deadline <= now else { return [] }
    var actions: [RTMPServerAction] = []
    self.close(.timeout, &actions)
    return actions
  }

  /// Ends the session with the stream or the server: a client that is able to is asked to connect again.
  package mutating func handleEnd() -> [RTMPServerAction] {
    if self.state == .closed { return [] }
    var actions: [RTMPServerAction] = []
    if self.state == .playing || self.state == .paused {
      self.send(
        [
          RTMPControlMessage.streamEnd(Self.streamID).message,
          Self.status("NetStream.Play.Stop", "The stream has ended."),
        ], &actions)
    }
    if self.reconnectsOnRequest, self.state != .handshake, self.state != .connecting {
      let status = RTMPStatus(
        code: "NetConnection.Connect.ReconnectRequest", description: "The server stops; please connect again.")
      self.send([RTMPCommand("onStatus", arguments: [status.value]).message()], &actions)
    }
    self.close(.ended, &actions)
    return actions
  }

  /// Serializes messages to the client, and joins them with a preceding ``RTMPServerAction/send(_:)``.
  private mutating func send(_ messages: [RTMPMessage], _ actions: inout [RTMPServerAction]) {
    var buffer = ByteBuffer()
    for message in messages { self.writer.write(message, into: &buffer) }
    self.send(buffer, &actions)
  }

  private mutating func send(_ bytes: ByteBuffer, _ actions: inout [RTMPServerAction]) {
    self.allowance -= bytes.readableBytes
    if case .send(var last)? = actions.last {
      // No second reference while it grows, or each response would copy all before it.
      actions.removeLast()
      last.writeImmutableBuffer(bytes)
      actions.append(.send(last))
    } else {
      actions.append(.send(bytes))
    }
  }

  private mutating func respond(to command: RTMPCommand, _ value: AMFValue, _ actions: inout [RTMPServerAction]) {
    self.send(
      [RTMPCommand("_result", transactionID: command.transactionID, arguments: [value]).message()], &actions)
  }

  private mutating func fail(_ command: RTMPCommand, _ description: String, _ actions: inout [RTMPServerAction]) {
    // Commands without a transaction expect no response.
    guard command.transactionID != 0 else { return }
    let status = RTMPStatus(level: "error", code: "NetConnection.Call.Failed", description: description)
    self.send(
      [RTMPCommand("_error", transactionID: command.transactionID, arguments: [status.value]).message()], &actions)
  }

  private mutating func close(_ reason: RTMPCloseReason, _ actions: inout [RTMPServerAction]) {
    switch self.state {
    case .playing: actions.append(.stopPlaying)
    case .publishing: actions.append(.stopPublishing)
    default: break
    }
    self.state = .closed
    self.handshakeBytes = ByteBuffer()
    self.reader = RTMPChunkReader(limits: .commands)
    actions.append(.close(reason))
  }

  private static func status(_ code: String, _ description: String) -> RTMPMessage {
    RTMPCommand("onStatus", arguments: [RTMPStatus(code: code, description: description).value])
      .message(streamID: Self.streamID)
  }
}

extension RTMPRefusal {
  /// The status that a client gets.
  fileprivate func status(isPublish: Bool) -> RTMPStatus {
    let stream = isPublish ? "NetStream.Publish" : "NetStream.Play"
    let (code, description) =
      switch self {
      case .notFound:
        (isPublish ? "\(stream).BadName" : "\(stream).StreamNotFound", "there is no stream of this name")
      case .unauthorized:
        (
          "\(stream).Failed",
          "a token or password with the needed role is missing: append ?token=TOKEN or ?user=NAME&pass=PASSWORD"
        )
      case .throttled: ("\(stream).Failed", "too many failed logins: try again later")
      case .alreadyPublished: ("\(stream).BadName", "another publisher sends this stream")
      case .unsupported(let sentence): ("\(stream).Rejected", sentence)
      }
    return RTMPStatus(level: "error", code: code, description: description)
  }
}

/// Times and window sizes of the sessions of a server.
package struct RTMPServerConfiguration: Hashable, Sendable {
  /// Time after which a connection that neither plays nor publishes is closed, whatever it sends; 10 s by default.
  package var setupTimeout = MediaDuration.seconds(10)
  /// Time without a complete message after which a publisher is closed; 330 s by default. A still screen may have a frame now and
  /// then: what notices a peer that is gone is the connection, and the silence of a peer that is there is judged by its rhythm, up to
  /// 300 s. It is not asked for a sign of life: FFmpeg reads pings only when it has sent a frame, and OBS Studio never.
  package var publishTimeout = MediaDuration.seconds(330)
  /// Time after which a connection whose player has paused is closed; 60 s by default.
  package var pauseTimeout = MediaDuration.seconds(60)
  /// Number of bytes after which an acknowledgement is expected of the peer; announced to the peer, and not enforced.
  package var acknowledgementWindow: UInt32 = 2_500_000

  /// A configuration with default times.
  package init() {}
}
