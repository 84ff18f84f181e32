package import Media
package import NIOCore

/// The handshake of RTMP 1.0 §5.2, as client or server: version, 1536 bytes each way, and their echo.
///
/// ```
/// client             server
///   C0 C1 ────────────▶
///     ◀──────────── S0 S1 S2
///   C2 ───────────────▶
/// ```
///
/// C0, S0: version 3. C1, S1: time (4 bytes), zero (4 bytes), random bytes. C2, S2: the peer's bytes back.
///
/// The four zeros announce the plain handshake. Peers that would sign theirs ("digest", with a version of Flash in place of
/// the zeros) take it then, and what they send instead of an echo is not checked.
package struct RTMPHandshake: Sendable {
  /// Side of the connection that performs the handshake.
  package enum Role: Hashable, Sendable {
    /// Sends C0 and C1 at once: ``RTMPHandshake/opening``.
    case client
    /// Waits for C0 and C1.
    case server
  }

  /// State of the handshake after received bytes, with the response to send.
  package enum Result: Hashable, Sendable {
    /// More bytes are needed; these are to be sent, if there are any.
    case incomplete(ByteBuffer?)
    /// The handshake is complete; these bytes are to be sent first, if there are any. The buffer's rest are chunks.
    case complete(ByteBuffer?)
  }

  private enum Phase {
    case version
    case peerRandom
    case echo
  }

  private static let version: UInt8 = 3
  private static let length = 1536

  private let role: Role
  private var phase = Phase.version
  private var remainingEcho = Self.length
  private var nonce: ByteBuffer

  /// A handshake at the start of a connection.
  ///
  /// - Parameter makeRandom: Returns unpredictable numbers.
  package init(role: Role, makeRandom: () -> UInt64) {
    self.role = role
    self.nonce = ByteBuffer()
    self.nonce.reserveCapacity(Self.length)
    self.nonce.writeInteger(UInt64(0))
    for _ in 0..<(Self.length - 8) / 8 { self.nonce.writeInteger(makeRandom()) }
  }

  /// C0 and C1, which a client sends first.
  package var opening: ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeInteger(Self.version)
    bytes.writeImmutableBuffer(self.nonce)
    return bytes
  }

  /// Continues the handshake by received bytes, and consumes those of the handshake.
  ///
  /// - Throws: `.unsupported` for a version other than 3: RTMPE, or no RTMP.
  package mutating func receive(_ bytes: inout ByteBuffer) throws(ParsingError) -> Result {
    var output: ByteBuffer?
    while true {
      switch self.phase {
      case .version:
        guard let version = bytes.readInteger(as: UInt8.self) else { return .incomplete(output) }
        guard version == Self.version else { throw ParsingError(.unsupported, field: "RTMP version", offset: 0) }
        self.phase = .peerRandom
      case .peerRandom:
        guard let nonce = bytes.readSlice(length: Self.length) else { return .incomplete(output) }
        var response = self.role == .server ? self.opening : ByteBuffer()
        response.writeImmutableBuffer(nonce)
        output = response
        self.nonce = ByteBuffer()
        self.phase = .echo
      case .echo:
        let count = min(bytes.readableBytes, self.remainingEcho)
        bytes.moveReaderIndex(forwardBy: count)
        self.remainingEcho -= count
        return self.remainingEcho == 0 ? .complete(output) : .incomplete(output)
      }
    }
  }
}
