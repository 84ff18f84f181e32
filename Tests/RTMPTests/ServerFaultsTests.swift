import Media
import NIOCore
import Testing

import struct TestSupport.SplitMix

@testable import RTMP

/// A client's dialogue with a server that goes as far as a step, and then does something else.
@Suite("Servers that hang, end, answer garbage or redirect")
struct ServerFaultsTests {
  /// Steps that the server takes before its fault.
  enum Step: Int, CaseIterable, CustomTestStringConvertible {
    case nothing, handshake, connect, createStream, publish

    var testDescription: String { "\(self)" }
    /// The step in which the client is then.
    var failure: RTMPClientFailure.Step {
      switch self {
      case .nothing: .handshake
      case .handshake: .connect
      case .connect: .createStream
      case .createStream: .request
      case .publish: .streaming
      }
    }
  }

  /// A client, and the server's part of its dialogue.
  private final class Client {
    private var session: RTMPClientSession
    private var handshake = RTMPHandshake(role: .server) { 2 }
    private var writer = RTMPChunkWriter()
    private(set) var failure: RTMPClientFailure?
    private var sent = ByteBuffer()

    init(after step: Step) throws {
      self.session = RTMPClientSession(
        url: try RTMPURL(parsing: "rtmp://h/app/SECRET"), purpose: .publish, now: .zero, makeRandom: { 1 })
      self.perform(self.session.start(now: .zero))
      if step.rawValue >= Step.handshake.rawValue { try self.continueHandshake() }
      if step.rawValue >= Step.connect.rawValue { self.reply("_result", to: 1, []) }
      if step.rawValue >= Step.createStream.rawValue { self.reply("_result", to: 4, [7]) }
      if step.rawValue >= Step.publish.rawValue {
        let status = RTMPStatus(level: "status", code: "NetStream.Publish.Start", description: "")
        self.reply("onStatus", to: 0, [status.value])
      }
      #expect(self.failure == nil && self.session.isStreaming == (step == .publish))
    }

    var heldByteCount: Int { self.session.heldByteCount }

    private func continueHandshake() throws {
      while true {
        switch try self.handshake.receive(&self.sent) {
        case .complete(let output):
          if let output { self.receive(output) }
          return
        case .incomplete(let output?): self.receive(output)
        case .incomplete(nil): throw ParsingError(.truncated, field: "handshake")
        }
      }
    }

    func reply(_ name: String, to transaction: Double, _ arguments: [AMFValue]) {
      var buffer = ByteBuffer()
      self.writer.write(
        RTMPCommand(name, transactionID: transaction, arguments: arguments).message(), into: &buffer)
      self.receive(buffer)
    }

    func receive(_ bytes: ByteBuffer, at now: MediaTime = .zero) {
      self.perform(self.session.receive(bytes, now: now))
    }

    func wait(until now: MediaTime) { self.perform(self.session.handleTimer(now: now)) }

    private func perform(_ actions: [RTMPClientSession.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes): self.sent.writeImmutableBuffer(bytes)
        case .close(let failure): self.failure = failure
        default: break
        }
      }
    }
  }

  @Test(arguments: Step.allCases.dropLast())
  func `a server that hangs, or dribbles for minutes, fails its step after 10 s`(step: Step) throws {
    let client = try Client(after: step)
    // A message, or a handshake, of which one byte comes each second.
    for second in 0..<10 {
      client.receive(ByteBuffer(bytes: [3]), at: .zero + .seconds(Int64(second)))
      client.wait(until: .zero + .milliseconds(Int64(second) * 1000 + 999))
      #expect(client.failure == nil, "after \(second) s")
    }
    client.wait(until: .zero + .seconds(10))
    let failure = try #require(client.failure)
    #expect(failure.step == step.failure && failure.isRetryable)
    #expect(client.heldByteCount == 0)
  }

  @Test(arguments: Step.allCases)
  func `garbage ends the connection, and no memory is held for it`(step: Step) throws {
    for seed in UInt64(1)...20 {
      let client = try Client(after: step)
      var random = SplitMix(seed: seed)
      for _ in 0..<400 where client.failure == nil {
        client.receive(
          ByteBuffer(
            bytes: (0..<Int.random(in: 0..<100, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) }))
        #expect(client.heldByteCount <= 1 << 16, "seed \(seed)")
      }
      let failure = try #require(client.failure, "seed \(seed)")
      #expect(failure.isRetryable && !failure.description.contains("SECRET"), "seed \(seed)")
    }
  }

  @Test func `a message of 16 MB that a server announces ends the connection`() throws {
    let client = try Client(after: .publish)
    client.receive(bytes("04 000000 FFFFFF 14 00000000 02"))
    #expect(client.failure?.description.contains("message length") == true, "\(String(describing: client.failure))")
    #expect(client.heldByteCount == 0)
  }

  @Test func `a publisher that sends a byte each ten seconds is closed after 330 s`() throws {
    let dialogue = try Dialogue("rtmp://h/live/hello", .publish)
    dialogue.run()
    #expect(dialogue.isStreaming)
    // The header of a video message of 100 bytes, and then its bytes.
    let message = Array(bytes("06 000000 000064 09 01000000").readableBytesView) + Array(repeating: 0, count: 60)
    for byte in message.prefix(40) {
      dialogue.wait(.seconds(10))
      guard dialogue.isStreaming else { break }
      dialogue.sendBytesToServer(ByteBuffer(bytes: [byte]))
    }
    #expect(!dialogue.isStreaming)
    #expect(dialogue.now <= .zero + .seconds(331))
    #expect(dialogue.events.suffix(2) == ["server has no publisher", "server closes: timeout"])
  }
}
