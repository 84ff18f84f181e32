import Media
import NIOCore
import Testing

@testable import RTMP

@Suite("Handshake, RTMP 1.0 §5.2")
struct HandshakeTests {
  @Test(arguments: [1, 7, 1536, 1537, 4096])
  func `client and server agree in pieces of any size, and the rest stays`(size: Int) throws {
    var client = RTMPHandshake(role: .client) { 0x0102_0304_0506_0708 }
    var server = RTMPHandshake(role: .server) { 0x1112_1314_1516_1718 }
    let (toClient, isServerComplete) = try Self.feed(client.opening, to: &server, inPiecesOf: size)
    #expect(!isServerComplete)
    #expect(toClient.readableBytes == 1 + 2 * 1536)
    #expect(toClient.getInteger(at: 0, as: UInt8.self) == 3)
    // S2 is C1.
    #expect(toClient.getSlice(at: 1537, length: 1536) == client.opening.getSlice(at: 1, length: 1536))
    var (toServer, isComplete) = try Self.feed(toClient, to: &client, inPiecesOf: size)
    #expect(isComplete)
    #expect(toServer == toClient.getSlice(at: 1, length: 1536))
    toServer.writeString("chunks")
    var rest = toServer
    #expect(try server.receive(&rest) == .complete(nil))
    #expect(String(buffer: rest) == "chunks")
  }

  @Test func `an echo that is signed instead is accepted`() throws {
    var server = RTMPHandshake(role: .server) { 1 }
    var input = ByteBuffer(bytes: [3, 0, 0, 0, 1, 9, 0, 124, 2] + Array(repeating: 0x5A, count: 1528))
    guard case .incomplete(let output?) = try server.receive(&input) else { throw ParsingError(.missing, field: "S0") }
    // The zeros of the plain handshake, which clients take instead of a signature.
    #expect(output.getInteger(at: 5, as: UInt32.self) == 0)
    input = ByteBuffer(repeating: 0xEE, count: 1536)
    #expect(try server.receive(&input) == .complete(nil))
  }

  @Test(arguments: [UInt8(0), 2, 6, 8, UInt8(ascii: "G"), 0x16])
  func `another version than 3 is unsupported`(version: UInt8) {
    var server = RTMPHandshake(role: .server) { 1 }
    var input = ByteBuffer(bytes: [version])
    #expect(throws: ParsingError(.unsupported, field: "RTMP version", offset: 0)) { try server.receive(&input) }
  }

  /// Feeds bytes in pieces, as a connection does, and returns what is to be sent.
  private static func feed(
    _ bytes: ByteBuffer, to handshake: inout RTMPHandshake, inPiecesOf size: Int
  ) throws -> (ByteBuffer, Bool) {
    var (output, pending, rest) = (ByteBuffer(), ByteBuffer(), bytes)
    var isComplete = false
    while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
      pending.writeImmutableBuffer(piece)
      switch try handshake.receive(&pending) {
      case .incomplete(let bytes): output.writeImmutableBuffer(bytes ?? ByteBuffer())
      case .complete(let bytes):
        output.writeImmutableBuffer(bytes ?? ByteBuffer())
        isComplete = true
      }
    }
    return (output, isComplete)
  }
}
