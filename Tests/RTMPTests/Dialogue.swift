import Media
import NIOCore
import Testing

import struct TestSupport.SplitMix

@testable import RTMP

/// A client and a server over a connection that splits bytes at any place, with virtual time.
final class Dialogue {
  private(set) var now = MediaTime.zero
  private var client: RTMPClientSession
  private var server: RTMPServerSession
  private var random: SplitMix
  private let maximumPiece: Int
  private var toClient = ByteBuffer()
  private var toServer = ByteBuffer()
  /// Other actions than `send` of both sides, in order.
  private(set) var events: [String] = []
  private(set) var published: [RTMPMessage] = []
  private(set) var played: [RTMPMessage] = []
  /// The refusal of the next request; nil to accept it.
  var refusal: RTMPRefusal?

  init(_ url: String, _ purpose: RTMPStreamRequest.Purpose, maximumPiece: Int = 4096, seed: UInt64 = 1) throws {
    self.maximumPiece = maximumPiece
    self.random = SplitMix(seed: seed)
    self.client = RTMPClientSession(
      url: try RTMPURL(parsing: url), purpose: purpose, now: .zero, makeRandom: { 0x0102_0304_0506_0708 })
    self.server = RTMPServerSession(now: .zero, makeRandom: { 0x1112_1314_1516_1718 })
    self.perform(self.client.start(now: .zero))
  }

  var isStreaming: Bool { self.client.isStreaming && (self.server.isPlaying || self.server.isPublishing) }
  var heldByteCount: Int { self.client.heldByteCount + self.server.heldByteCount }

  /// Delivers bytes both ways until none are left.
  func run() {
    while self.toClient.readableBytes > 0 || self.toServer.readableBytes > 0 {
      if let piece = self.piece(of: &self.toServer) { self.perform(self.server.receive(piece, now: self.now)) }
      if let piece = self.piece(of: &self.toClient) { self.perform(self.client.receive(piece, now: self.now)) }
    }
  }

  private func piece(of bytes: inout ByteBuffer) -> ByteBuffer? {
    guard bytes.readableBytes > 0 else { return nil }
    return bytes.readSlice(length: min(self.random.next(upTo: self.maximumPiece), bytes.readableBytes))
  }

  func publish(_ messages: [RTMPMessage]) {
    for message in messages { self.client.write(message, into: &self.toServer) }
    self.run()
  }

  /// Sends messages as a server does: the same bytes for every viewer.
  func play(_ messages: [RTMPMessage]) {
    var writer = RTMPChunkWriter(chunkSize: RTMPChunkWriter.announcedChunkSize)
    for message in messages { writer.write(message, into: &self.toClient) }
    self.run()
  }

  func sendToServer(_ messages: [RTMPMessage]) {
    var writer = RTMPChunkWriter(chunkSize: RTMPChunkWriter.announcedChunkSize)
    for message in messages { writer.write(message, into: &self.toServer) }
    self.run()
  }

  /// Sends bytes that need not be whole messages.
  func sendBytesToServer(_ bytes: ByteBuffer) {
    self.toServer.writeImmutableBuffer(bytes)
    self.run()
  }

  func sendToClient(_ messages: [RTMPMessage]) { self.play(messages) }

  func finishClient() {
    self.perform(self.client.finish())
    self.run()
  }

  func endServer() {
    self.perform(self.server.handleEnd())
    self.run()
  }

  func refuse(_ refusal: RTMPRefusal) {
    self.perform(self.server.refuse(refusal, now: self.now))
    self.run()
  }

  /// Advances the time, and runs the timers that are due.
  func wait(_ duration: MediaDuration) {
    let end = self.now + duration
    while let deadline = [self.client.nextDeadline, self.server.nextDeadline].compactMap(\.self).min(), deadline <= end
    {
      self.now = deadline
      self.perform(self.client.handleTimer(now: deadline))
      self.perform(self.server.handleTimer(now: deadline))
      self.run()
    }
    self.now = end
  }

  private func perform(_ actions: [RTMPClientSession.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes): self.toServer.writeImmutableBuffer(bytes)
      case .started: self.events.append("client starts")
      case .media(let message): self.played.append(message)
      case .reconnect(let url): self.events.append("client is to reconnect to \(url ?? "the same server")")
      case .close(let failure):
        self.events.append("client closes at \(failure.step): \(failure.code) \(failure.description)")
      }
    }
  }

  private func perform(_ actions: [RTMPServerAction]) {
    for action in actions {
      switch action {
      case .send(let bytes): self.toClient.writeImmutableBuffer(bytes)
      case .decide(let request):
        self.events.append("server decides on \(request.purpose) of \(request.paths)")
        if let refusal {
          self.perform(self.server.refuse(refusal, now: self.now))
        } else {
          self.perform(self.server.accept(now: self.now))
        }
      case .startPlaying: self.events.append("server plays")
      case .stopPlaying: self.events.append("server stops")
      case .publish(let message): self.published.append(message)
      case .stopPublishing: self.events.append("server has no publisher")
      case .close(let reason): self.events.append("server closes: \(reason)")
      }
    }
  }
}
