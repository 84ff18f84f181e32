import Media
import NIOCore

@testable import RTMP

/// A server that answers a publishing client as far as a step, with virtual time.
struct ScriptedServer: ~Copyable {
  /// A step of the client, at which the server's answer is due.
  enum Step: CaseIterable {
    case handshake
    case connect
    case createStream
    case request
    /// No answer is due: the server has accepted.
    case streaming

    static var allCases: [Step] { [.handshake, .connect, .createStream, .request] }

    /// The step as the client's failure names it.
    var failure: RTMPClientFailure.Step {
      switch self {
      case .handshake: .handshake
      case .connect: .connect
      case .createStream: .createStream
      case .request: .request
      case .streaming: .streaming
      }
    }

    /// Transaction ID of the command that waits for an answer.
    var transactionID: Double {
      switch self {
      case .connect: 1
      case .createStream: 4
      case .request: 5
      case .handshake, .streaming: 0
      }
    }
  }

  var client: RTMPClientSession
  private(set) var now = MediaTime.zero
  private var handshake = RTMPHandshake(role: .server) { 1 }
  private var handshakeAnswer = ByteBuffer()
  private var writer = RTMPChunkWriter()

  init(_ url: RTMPURL) {
    self.client = RTMPClientSession(url: url, purpose: .publish, now: .zero, makeRandom: { 1 })
    for case .send(var bytes) in self.client.start(now: .zero) {
      if case .incomplete(let answer?)? = try? self.handshake.receive(&bytes) { self.handshakeAnswer = answer }
    }
  }

  /// Answers each step before one, each after a delay.
  mutating func answer(until step: Step, delay: MediaDuration = .zero) throws {
    for earlier in Step.allCases {
      if earlier == step { return }
      self.now += delay
      for case .close(let failure) in self.receive(self.answer(at: earlier)) { throw failure }
    }
  }

  /// The bytes that complete a step.
  mutating func answer(at step: Step) -> ByteBuffer {
    switch step {
    case .handshake: self.handshakeAnswer
    case .connect:
      self.bytes(
        RTMPCommand(
          "_result", transactionID: 1, object: .object(["fmsVer": "FMS/3,0,1,123"]),
          arguments: [.object(["level": "status", "code": "NetConnection.Connect.Success"])]
        ).message())
    case .createStream: self.bytes(RTMPCommand("_result", transactionID: 4, arguments: [1]).message())
    case .request:
      self.bytes(
        RTMPCommand(
          "onStatus", arguments: [RTMPStatus(code: "NetStream.Publish.Start", description: "").value]
        ).message(streamID: 1))
    case .streaming: ByteBuffer()
    }
  }

  mutating func receive(_ bytes: ByteBuffer) -> [RTMPClientSession.Action] {
    self.client.receive(bytes, now: self.now)
  }

  /// The failure with which the client ends upon a message.
  mutating func failure(of message: RTMPMessage) throws -> RTMPClientFailure {
    guard case .close(let failure)? = self.receive(self.bytes(message)).last else {
      throw ParsingError(.missing, field: "close")
    }
    return failure
  }

  private mutating func bytes(_ message: RTMPMessage) -> ByteBuffer {
    var buffer = ByteBuffer()
    self.writer.write(message, into: &buffer)
    return buffer
  }
}
