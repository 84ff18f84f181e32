package import Authentication
package import Media
package import NIOCore

/// The state machine of the client's side of one RTMP connection, which publishes or plays one stream, RTMP 1.0 §7.2. Pure:
/// `now` is an argument.
///
/// ```
///   handshake ──▶ connect ──▶ createStream ──▶ publish or play ──▶ streaming
/// ```
///
/// Each step has a timeout. No media is sent before the server has accepted: some servers drop what comes earlier. Failures
/// name the step and what the server said; the key is removed from it.
package struct RTMPClientSession: ~Copyable {
  /// An action, performed in the order of the array.
  package enum Action: Hashable, Sendable {
    /// Send the bytes.
    case send(ByteBuffer)
    /// The server has accepted: a publisher sends, a player receives.
    case started
    /// A message of audio, video or metadata from the server.
    case media(RTMPMessage)
    /// The server is about to stop and asks for a new connection, at another URL if it names one. Media may go on until the
    /// next keyframe.
    case reconnect(url: String?)
    /// Close the connection. Always the last action.
    case close(RTMPClientFailure)
  }

  private enum State: Equatable {
    case idle
    case handshake
    case connecting
    case creating
    case requesting
    case streaming
    case closed

    var step: RTMPClientFailure.Step {
      switch self {
      case .idle, .handshake: .handshake
      case .connecting: .connect
      case .creating: .createStream
      case .requesting: .request
      case .streaming, .closed: .streaming
      }
    }
  }

  /// Transaction IDs of the commands whose results matter.
  private enum Transaction {
    static let connect = 1.0
    static let releaseStream = 2.0
    static let announce = 3.0
    static let createStream = 4.0
    static let request = 5.0
  }

  private let url: RTMPURL
  private let purpose: RTMPStreamRequest.Purpose
  private let timeout: MediaDuration
  /// For the answer to a server that wants a user and password.
  private let clientNonce: UInt32
  private var handshake: RTMPHandshake
  private var handshakeBytes = ByteBuffer()
  private var reader = RTMPChunkReader(limits: .media)
  private var writer = RTMPChunkWriter()
  private var acknowledgement = RTMPAcknowledgement()
  private var state = State.idle
  private var stepStart: MediaTime
  /// The message stream that the server has created.
  package private(set) var streamID: UInt32 = 0

  /// The state of a new connection.
  ///
  /// - Parameters:
  ///   - timeout: Maximum time of each step; 10 s by default.
  ///   - makeRandom: Returns unpredictable numbers, for the handshake.
  package init(
    url: RTMPURL, purpose: RTMPStreamRequest.Purpose, timeout: MediaDuration = .seconds(10), now: MediaTime,
    makeRandom: () -> UInt64
  ) {
    self.url = url
    self.purpose = purpose
    self.timeout = timeout
    self.handshake = RTMPHandshake(role: .client, makeRandom: makeRandom)
    self.clientNonce = UInt32(truncatingIfNeeded: makeRandom())
    self.stepStart = now
  }

  /// Whether the server has accepted, and the connection is open.
  package var isStreaming: Bool { self.state == .streaming }

  /// Number of received bytes that are held in memory.
  package var heldByteCount: Int { self.handshakeBytes.readableBytes + self.reader.heldByteCount }

  /// Time at which ``handleTimer(now:)`` is due; nil when the stream flows, or the session is closed.
  package var nextDeadline: MediaTime? {
    self.state == .streaming || self.state == .closed ? nil : self.stepStart + self.timeout
  }

  /// Begins the handshake, once the connection is open.
  package mutating func start(now: MediaTime) -> [Action] {
    guard self.state == .idle else { return [] }
    self.advance(to: .handshake, now: now)
    return [.send(self.handshake.opening)]
  }

  /// Processes bytes received from the server, in pieces of any length; none after the end.
  package mutating func receive(_ bytes: ByteBuffer, now: MediaTime) -> [Action] {
    if self.state == .closed || self.state == .idle { return [] }
    var actions: [Action] = []
    do throws(ParsingError) {
      if self.state == .handshake {
        self.handshakeBytes.writeImmutableBuffer(bytes)
        try self.continueHandshake(&actions, now: now)
      } else {
        self.reader.append(bytes)
      }
      while self.state != .closed, self.state != .handshake, let message = try self.reader.next() {
        try self.handle(message, &actions, now: now)
      }
    } catch {
      self.fail(code: "", "malformed response: \(error)", &actions)
    }
    if self.state != .closed, let count = self.acknowledgement.due(received: self.reader.receivedByteCount) {
      self.send([RTMPControlMessage.acknowledgement(count).message], &actions)
    }
    return actions
  }

  /// Appends a media message to bytes that are sent; without effect unless ``isStreaming``.
  package mutating func write(_ message: RTMPMessage, into buffer: inout ByteBuffer) {
    guard self.state == .streaming else { return }
    var message = message
    message.streamID = self.streamID
    self.writer.write(message, into: &buffer)
  }

  /// Says goodbye: ends the stream, so that the server releases its name. Further calls have no effect.
  package mutating func finish() -> [Action] {
    if self.state == .closed { return [] }
    var actions: [Action] = []
    if self.state == .streaming {
      var messages: [RTMPMessage] = []
      if self.purpose == .publish {
        messages.append(self.command("FCUnpublish", 0, [.string(self.url.key.text)]).message())
      }
      messages.append(self.command("deleteStream", 0, [.number(Double(self.streamID))]).message())
      self.send(messages, &actions)
    }
    self.fail(code: "", "the stream has ended", isRetryable: false, &actions)
    return actions
  }

  /// Fails the current step, since the server or the network has ended the connection; also where a message is
  /// incomplete. Without effect after the session's own end.
  package mutating func handleDisconnected() -> [Action] {
    if self.state == .closed { return [] }
    var actions: [Action] = []
    self.fail(code: "", "the server has closed the connection", &actions)
    return actions
  }

  /// Ends a step that takes too long. Called at ``nextDeadline``; without effect before it.
  package mutating func handleTimer(now: MediaTime) -> [Action] {
    guard let deadline = self.nextDeadline, deadline <= now else { return [] }
    var actions: [Action] = []
    self.fail(code: "", "the server does not respond", &actions)
    return actions
  }

  private mutating func continueHandshake(_ actions: inout [Action], now: MediaTime) throws(ParsingError) {
    switch try self.handshake.receive(&self.handshakeBytes) {
    case .incomplete(let output):
      if let output { actions.append(.send(output)) }
      self.handshakeBytes.discardReadBytes()
    case .complete(let output):
      if let output { actions.append(.send(output)) }
      self.reader.append(self.handshakeBytes)
      self.handshakeBytes = ByteBuffer()
      self.advance(to: .connecting, now: now)
      let properties = RTMPCapabilities.clientProperties(
        application: self.url.application + self.url.applicationQuery.text, url: self.url.connectionURL,
        publishes: self.purpose == .publish)
      self.send(
        [
          RTMPControlMessage.setChunkSize(RTMPChunkWriter.announcedChunkSize).message,
          RTMPCommand("connect", transactionID: Transaction.connect, object: .object(properties)).message(),
        ], &actions)
    }
  }

  private mutating func handle(
    _ message: RTMPMessage, _ actions: inout [Action], now: MediaTime
  ) throws(ParsingError) {
    if let control = try RTMPControlMessage(leniently: message) {
      self.handle(control, &actions)
    } else if let command = try RTMPCommand(parsing: message) {
      self.handle(command, &actions, now: now)
    } else if self.purpose == .play, self.state == .streaming {
      if message.type == .aggregate {
        actions += try message.aggregated().map { .media($0) }
      } else if [.audio, .video, .dataAMF0, .dataAMF3].contains(message.type) {
        actions.append(.media(message))
      }
    }
  }

  private mutating func handle(_ control: RTMPControlMessage, _ actions: inout [Action]) {
    switch control {
    case .windowAcknowledgementSize(let size): self.acknowledgement.window = size
    case .setPeerBandwidth(let size, _):
      self.send([RTMPControlMessage.windowAcknowledgementSize(size).message], &actions)
    case .pingRequest(let timestamp): self.send([RTMPControlMessage.pingResponse(timestamp).message], &actions)
    default: break
    }
  }

  private mutating func handle(_ command: RTMPCommand, _ actions: inout [Action], now: MediaTime) {
    switch command.name {
    case "_result": self.handleResult(command, &actions, now: now)
    case "_error": self.handleError(command, &actions)
    case "onStatus": if let status = RTMPStatus(of: command) { self.handle(status, command, &actions, now: now) }
    case "close": self.fail(code: "", "the server has closed the connection", &actions)
    default: break
    }
  }

  private mutating func handleResult(_ command: RTMPCommand, _ actions: inout [Action], now: MediaTime) {
    switch (self.state, command.transactionID) {
    case (.connecting, Transaction.connect):
      self.advance(to: .creating, now: now)
      var messages: [RTMPMessage] = []
      if self.purpose == .publish {
        // Adobe's servers and their like require both; others respond with an error, which is ignored.
        let key = AMFValue.string(self.url.key.text)
        messages.append(self.command("releaseStream", Transaction.releaseStream, [key]).message())
        messages.append(self.command("FCPublish", Transaction.announce, [key]).message())
      }
      messages.append(self.command("createStream", Transaction.createStream, []).message())
      self.send(messages, &actions)
    case (.creating, Transaction.createStream):
      guard let id = command.arguments.first?.number.flatMap(UInt32.init(exactly:)) else {
        return self.fail(code: "", "createStream has no result", &actions)
      }
      self.streamID = id
      self.advance(to: .requesting, now: now)
      let key = AMFValue.string(self.url.key.text)
      switch self.purpose {
      case .publish:
        self.send([self.command("publish", Transaction.request, [key, "live"]).message(streamID: id)], &actions)
      case .play:
        self.send(
          [
            self.command("play", Transaction.request, [key, -2]).message(streamID: id),
            RTMPControlMessage.setBufferLength(streamID: id, milliseconds: 1000).message,
          ], &actions)
      }
    default: break
    }
  }

  private mutating func handleError(_ command: RTMPCommand, _ actions: inout [Action]) {
    let decisive: Double? =
      switch self.state {
      case .connecting: Transaction.connect
      case .creating: Transaction.createStream
      case .requesting: Transaction.request
      default: nil
      }
    // Many servers do not know releaseStream and FCPublish, and publish without them.
    guard decisive == command.transactionID else { return }
    let status = RTMPStatus(of: command)
    let description = status?.description ?? ""
    let information = (command.arguments.first?.object ?? command.object?.object)?["ex"]?.object
    let redirect = information?["code"]?.number == 302 ? information?["redirect"]?.string : nil
    let code = status?.code ?? ""
    if self.state == .connecting,
      let answer = RTMPAuthentication(to: description, url: self.url, clientNonce: self.clientNonce)
    {
      switch answer {
      case .query(let query):
        return self.fail(
          code: code, "the server wants a user and password", authentication: Secret(query), &actions)
      case .refused(let reason): return self.fail(code: code, reason, &actions)
      }
    }
    self.fail(
      code: code, redirect != nil ? "the server redirects" : description.isEmpty ? "the server refuses" : description,
      redirect: redirect, &actions)
  }

  private mutating func handle(
    _ status: RTMPStatus, _ command: RTMPCommand, _ actions: inout [Action], now: MediaTime
  ) {
    if status.code == "NetConnection.Connect.ReconnectRequest" {
      let information = command.arguments.first?.object
      actions.append(.reconnect(url: information?["tcUrl"]?.string))
      return
    }
    if status.level == "error" { return self.fail(code: status.code, status.description, &actions) }
    switch status.code {
    case "NetStream.Publish.Start" where self.purpose == .publish && self.state == .requesting,
      "NetStream.Play.Start" where self.purpose == .play && self.state == .requesting:
      self.advance(to: .streaming, now: now)
      actions.append(.started)
    case "NetStream.Play.Stop", "NetStream.Play.UnpublishNotify", "NetStream.Unpublish.Success",
      "NetConnection.Connect.Closed":
      self.fail(code: status.code, status.description, &actions)
    default: break
    }
  }

  private func command(_ name: String, _ transactionID: Double, _ arguments: [AMFValue]) -> RTMPCommand {
    RTMPCommand(name, transactionID: transactionID, arguments: arguments)
  }

  private mutating func advance(to state: State, now: MediaTime) {
    self.state = state
    self.stepStart = now
  }

  private mutating func send(_ messages: [RTMPMessage], _ actions: inout [Action]) {
    var buffer = ByteBuffer()
    for message in messages { self.writer.write(message, into: &buffer) }
    actions.append(.send(buffer))
  }

  private mutating func fail(
    code: String, _ description: String, isRetryable: Bool = true, redirect: String? = nil,
    authentication: Secret? = nil, _ actions: inout [Action]
  ) {
    let step = self.state.step
    self.state = .closed
    self.reader = RTMPChunkReader(limits: .commands)
    self.handshakeBytes = ByteBuffer()
    actions.append(
      .close(
        RTMPClientFailure(
          step: step, code: self.withoutKey(code), description: self.withoutKey(description),
          isRetryable: isRetryable, redirect: redirect, authentication: authentication)))
  }

  /// A server's text without the key and its parts, control characters and what exceeds a line.
  private func withoutKey(_ text: String) -> String {
    let clean = self.url.secrets.reduce(text.withoutControls()) { $0.replacing($1, with: "<redacted>") }
    return String(clean.prefix(256))
  }
}

/// Reason for which a connection to a server has ended.
package struct RTMPClientFailure: Error, Hashable, Sendable {
  /// The step that was not completed.
  package enum Step: String, Hashable, Sendable {
    /// The exchange of 1537 and 1536 bytes that precedes the chunks.
    case handshake
    /// `connect`: the application.
    case connect
    /// `createStream`: a message stream for the media.
    case createStream
    /// `publish` or `play`: the stream key.
    case request
    /// The server had accepted the stream, and media was sent or received.
    case streaming
  }

  /// The step that was not completed.
  package var step: Step
  /// The server's status code, such as `NetStream.Publish.BadName`; empty without one.
  package var code: String
  /// Cause in one line of at most 256 characters, without the stream key.
  package var description: String
  /// Whether a new connection may succeed. A name that is in use is free again once the server has noticed the end of the
  /// previous connection; refusals may be mended at the server. Only the end on this side's request is final.
  package var isRetryable: Bool
  /// URL of the application at another server, which is to be used instead; from the server, not checked. Nil without one.
  package var redirect: String?
  /// The answer to a server that wants a user and password: a connection to ``RTMPURL/authenticated(with:)`` is to follow at once.
  /// Nil otherwise.
  package var authentication: Secret?
}

extension RTMPURL {
  /// The address to which a server redirects this stream, with its key; nil where it is not to be followed: it is malformed, or
  /// would send the key over a connection without encryption in place of one with it.
  ///
  /// - Parameter text: URL of the application: `tcUrl` of a request to connect again, or of an error with the code 302. It may begin
  ///   with the host (`//HOST/APP`) or the path (`/APP`), and has then the rest of this address (Enhanced RTMP v2, reconnect request).
  package func redirected(to text: String) -> RTMPURL? {
    let scheme = self.isEncrypted ? "rtmps" : "rtmp"
    let host = self.host.utf8.contains(UInt8(ascii: ":")) ? "[\(self.host)]" : self.host
    let prefix = text.hasPrefix("//") ? "\(scheme):" : text.hasPrefix("/") ? "\(scheme)://\(host):\(self.port)" : ""
    guard text.utf8.count <= 2048, var url = try? RTMPURL(parsing: "\(prefix)\(text)/key"),
      url.isEncrypted || !self.isEncrypted,
      !url.key.isEmpty, url.login == nil
    else {
      return nil
    }
    (url.key, url.login) = (self.key, self.login)
    return url
  }
}
