import Media
import NIOCore

@testable import RTMP

/// The other side of a session under test: makes chunks of messages, and reads those of the session.
struct SessionPeer {
  private var writer = RTMPChunkWriter()
  private var reader = RTMPChunkReader(limits: .media)
  /// All commands that the session has sent.
  private(set) var commands: [RTMPCommand] = []

  /// The chunks of messages.
  mutating func chunks(_ messages: [RTMPMessage]) -> ByteBuffer {
    var buffer = ByteBuffer()
    for message in messages { self.writer.write(message, into: &buffer) }
    return buffer
  }

  /// Descriptions of messages that the session has sent: a command with its transaction and arguments, a status by its code,
  /// or a control message.
  mutating func texts(of sent: ByteBuffer) throws -> [String] {
    self.reader.append(sent)
    var texts: [String] = []
    while let message = try self.reader.next() {
      if let control = try RTMPControlMessage(parsing: message) {
        texts.append("\(control)")
      } else if let command = try RTMPCommand(parsing: message) {
        self.commands.append(command)
        let code = RTMPStatus(of: command)?.code ?? command.arguments.map { "\($0)" }.joined(separator: " ")
        texts.append("\(message.streamID): \(command.name) \(command.transactionID) \(code)")
      } else {
        texts.append("type \(message.type.rawValue)")
      }
    }
    return texts
  }
}

/// A server's session and its client, after the handshake.
struct TestServerSession: ~Copyable {
  var session = RTMPServerSession(now: .zero, makeRandom: { 1 })
  var peer = SessionPeer()

  /// A session whose client has shaken hands, and sent commands.
  init(_ commands: [RTMPCommand] = []) throws {
    var handshake = RTMPHandshake(role: .client) { 1 }
    var output = ByteBuffer()
    for case .send(let bytes) in self.session.receive(handshake.opening, now: .zero) {
      output.writeImmutableBuffer(bytes)
    }
    guard case .complete(let echo?) = try handshake.receive(&output) else { throw ParsingError(.missing, field: "S2") }
    _ = self.session.receive(echo, now: .zero)
    for command in commands { _ = try self.receive([command.message()]) }
  }

  static let connect = RTMPCommand("connect", transactionID: 1, object: .object(["app": "live"]))
  static let play = RTMPCommand("play", transactionID: 3, arguments: ["hello"])
  static let publish = RTMPCommand("publish", transactionID: 3, arguments: ["hello", "live"])

  /// Performs actions: texts of the messages that are sent, and of the other actions.
  mutating func perform(_ actions: [RTMPServerAction]) throws -> [String] {
    var texts: [String] = []
    for action in actions {
      switch action {
      case .send(let bytes): texts += try self.peer.texts(of: bytes)
      case .publish(let message): texts.append("publish \(message.type.rawValue) at \(message.timestamp)")
      case .close(.malformed(let error)): texts.append("close: \(error.code) \(error.field)")
      case .decide: texts.append("decide")
      case .startPlaying: texts.append("start")
      case .stopPlaying: texts.append("stop")
      case .stopPublishing: texts.append("stop publishing")
      case .close(.timeout): texts.append("close: timeout")
      case .close(.ended): texts.append("close: ended")
      case .close(.refused): texts.append("close: refused")
      }
    }
    return texts
  }

  mutating func receive(_ messages: [RTMPMessage], now: MediaTime = .zero) throws -> [String] {
    let actions = self.session.receive(self.peer.chunks(messages), now: now)
    return try self.perform(actions)
  }

  mutating func accept() throws -> [String] {
    let actions = self.session.accept(now: .zero)
    return try self.perform(actions)
  }
}

/// A client's session and its server, after the handshake.
struct TestClientSession: ~Copyable {
  var session: RTMPClientSession
  var peer = SessionPeer()
  /// Bytes that the client has sent with the end of the handshake.
  private(set) var greeting: [String] = []

  /// A session of the key `k3y`.
  init(_ purpose: RTMPStreamRequest.Purpose) throws {
    try self.init(purpose, url: RTMPURL(parsing: "rtmp://h/live/k3y"))
  }

  private init(_ purpose: RTMPStreamRequest.Purpose, url: RTMPURL) throws {
    self.session = RTMPClientSession(url: url, purpose: purpose, now: .zero, makeRandom: { 1 })
    var handshake = RTMPHandshake(role: .server) { 2 }
    var output = ByteBuffer()
    for case .send(let bytes) in self.session.start(now: .zero) { output.writeImmutableBuffer(bytes) }
    guard case .incomplete(let response?) = try handshake.receive(&output) else {
      throw ParsingError(.missing, field: "S0")
    }
    for case .send(let bytes) in self.session.receive(response, now: .zero) {
      output.writeImmutableBuffer(bytes)
    }
    // Its echo, then its first chunks.
    guard case .complete = try handshake.receive(&output) else { throw ParsingError(.missing, field: "C2") }
    self.greeting = try self.peer.texts(of: output)
  }

  /// Performs actions: texts of the messages that are sent, and of the other actions.
  mutating func perform(_ actions: [RTMPClientSession.Action]) throws -> [String] {
    var texts: [String] = []
    for action in actions {
      switch action {
      case .send(let bytes): texts += try self.peer.texts(of: bytes)
      case .started: texts.append("started")
      case .media(let message): texts.append("media \(message.type.rawValue) at \(message.timestamp)")
      case .reconnect(let url): texts.append("reconnect to \(url ?? "the same server")")
      case .close(let failure):
        texts.append("close at \(failure.step): \(failure.code) \(failure.description), retry \(failure.isRetryable)")
      }
    }
    return texts
  }

  mutating func receive(_ messages: [RTMPMessage], now: MediaTime = .zero) throws -> [String] {
    let actions = self.session.receive(self.peer.chunks(messages), now: now)
    return try self.perform(actions)
  }

  /// The server's result of a command.
  static func result(_ transaction: Double, _ value: AMFValue = .null) -> RTMPMessage {
    RTMPCommand("_result", transactionID: transaction, arguments: [value]).message()
  }

  static func error(_ transaction: Double, _ code: String, _ description: String) -> RTMPMessage {
    let status = RTMPStatus(level: "error", code: code, description: description)
    return RTMPCommand("_error", transactionID: transaction, arguments: [status.value]).message()
  }

  static func status(_ code: String, level: String = "status") -> RTMPMessage {
    RTMPCommand("onStatus", arguments: [RTMPStatus(level: level, code: code, description: "so").value])
      .message(streamID: 7)
  }
}
