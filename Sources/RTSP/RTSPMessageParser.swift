internal import Authentication
internal import Media
package import NIOCore

/// Splits the byte stream of an RTSP connection into messages, RFC 2326 §4 and §10.12.
///
/// ``append(_:)`` accepts bytes in pieces of any size, ``next()`` returns messages. Each byte is inspected a constant
/// number of times, however small the pieces are. Lines end with CR LF or LF, empty lines between messages are skipped,
/// header lines may be folded.
///
/// Memory is bounded: one unfinished message within ``Limits``, and the bytes that were appended with it.
package struct RTSPMessageParser: Sendable {
  /// Maximum sizes of a message's parts; a message beyond them ends the connection.
  package struct Limits: Hashable, Sendable {
    /// Maximum length of the request or status line, in bytes without its line end.
    package var startLineBytes = 2 * 1024
    /// Maximum number of header lines in a message.
    package var headerCount = 64
    /// Maximum length of a header line with its folded lines, in bytes.
    package var headerBytes = 4 * 1024
    /// Maximum length of all header lines of a message, in bytes.
    package var headBytes = 256 * 1024
    /// Maximum length of the body, in bytes.
    package var bodyBytes = 128 * 1024
    /// Maximum length of an interleaved packet, in bytes.
    package var interleavedBytes = 65_535

    /// Limits that any message of a well-behaved peer is within: 2 KiB, 64 lines of 4 KiB, 128 KiB, packets of any length.
    package init() {}

    /// Limits for clients that send a stream: those of players, with packets of any length.
    package static let publishers = {
      var limits = Limits.players
      limits.interleavedBytes = 65_535
      return limits
    }()

    /// Limits for players, who may be strangers: header lines of 8 KiB together, bodies of 4 KiB, and packets of 8 KiB, since
    /// they send RTCP only.
    package static let players = {
      var limits = Limits()
      (limits.headBytes, limits.bodyBytes, limits.interleavedBytes) = (8 * 1024, 4 * 1024, 8 * 1024)
      return limits
    }()
  }

  /// The limits of messages whose start is not received yet.
  package var limits: Limits

  private enum Phase {
    /// Between messages.
    case idle
    /// Within the start line or the headers.
    case head(RTSPMessageHead)
    /// The head is complete; its body has this many bytes.
    case body(RTSPMessageHead, Int)
    /// The framing is lost; all bytes are ignored.
    case failed
  }

  private var phase = Phase.idle
  private var buffer = ByteBuffer()
  /// Length of the prefix of `buffer` that contains no line feed, in bytes.
  private var scanned = 0

  /// A parser at the start of a connection.
  package init(limits: Limits = Limits()) {
    self.limits = limits
  }

  /// Number of buffered bytes that no returned message contains.
  package var unparsedByteCount: Int { self.buffer.readableBytes }

  /// Bytes of memory that the buffer keeps.
  package var bufferCapacity: Int { self.buffer.storageCapacity }

  /// Appends received bytes to the buffer.
  package mutating func append(_ bytes: ByteBuffer) {
    if case .failed = self.phase { return }
    if self.buffer.readableBytes == 0 {
      self.buffer = bytes
    } else {
      if self.buffer.readerIndex > self.buffer.readableBytes { self.buffer.discardReadBytes() }
      self.buffer.writeImmutableBuffer(bytes)
    }
  }

  /// Returns the next complete message, or nil when more bytes are needed.
  ///
  /// After a ``RTSPMessage/malformed(_:)`` message that can continue, the next call returns the message behind it; after
  /// one that cannot, all later bytes are ignored.
  package mutating func next() -> RTSPMessage? {
    let message = self.parse()
    if self.buffer.readableBytes == 0 {
      self.buffer = ByteBuffer()
    } else if message == nil, self.buffer.storageCapacity > 4 * (self.buffer.readableBytes + 256) {
      // The rest of a message does not keep the memory of all that was received with it.
      self.buffer = ByteBuffer(bytes: self.buffer.readableBytesView)
    }
    return message
  }

  private mutating func parse() -> RTSPMessage? {
    while true {
      switch self.phase {
      case .failed:
        return nil
      case .idle:
        self.skipLineEnds()
        guard let first = self.buffer.getInteger(at: self.buffer.readerIndex, as: UInt8.self) else { return nil }
        if first == UInt8(ascii: "$") { return self.readInterleaved() }
        // A TLS hello or other binary data never becomes a line: it is refused at its first byte.
        guard first.isToken else { return self.fail(ParsingError(.invalid, field: RTSPField.startLine), cSeq: nil) }
        self.phase = .head(RTSPMessageHead(limits: self.limits))
      case .head(var head):
        self.phase = .idle  // `head` is now the only reference, so that appending a header copies nothing.
        do throws(ParsingError) {
          guard let line = try self.readLine(of: head) else {
            self.phase = .head(head)
            return nil
          }
          self.phase = try head.read(line) ? .body(head, try head.bodyByteCount()) : .head(head)
        } catch {
          return self.fail(error, cSeq: head.cSeq)
        }
      case .body(let head, let count):
        guard let body = self.buffer.readSlice(length: count) else { return nil }
        self.phase = .idle
        return head.message(body: body)
      }
    }
  }

  /// Ends the parsing of the connection: the end of the current message cannot be found.
  private mutating func fail(_ error: ParsingError, cSeq: String?) -> RTSPMessage {
    self.phase = .failed
    self.buffer = ByteBuffer()
    return .malformed(RTSPMalformedMessage(error, cSeq: cSeq, canContinue: false))
  }

  private mutating func skipLineEnds() {
    let count = self.buffer.readableBytesView.prefix { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.count
    self.buffer.moveReaderIndex(forwardBy: count)
  }

  /// `$`, channel, 16 bits of length, packet: RFC 2326 §10.12.
  private mutating func readInterleaved() -> RTSPMessage? {
    let start = self.buffer.readerIndex
    guard let channel = self.buffer.getInteger(at: start + 1, as: UInt8.self),
      let length = self.buffer.getInteger(at: start + 2, as: UInt16.self)
    else { return nil }
    guard length <= self.limits.interleavedBytes else {
      return self.fail(ParsingError(.tooLarge, field: RTSPField.interleavedPacket), cSeq: nil)
    }
    guard let payload = self.buffer.getSlice(at: start + 4, length: Int(length))
    else { return nil }
    self.buffer.moveReaderIndex(forwardBy: 4 + Int(length))
    return .interleaved(channel: channel, payload: payload)
  }

  /// The next line of a head without its line end; nil when more bytes are needed.
  private mutating func readLine(of head: borrowing RTSPMessageHead) throws(ParsingError) -> ByteBuffer? {
    let limit = head.lineLimit
    let view = self.buffer.readableBytesView
    guard let end = view[(view.startIndex + self.scanned)...].firstIndex(of: UInt8(ascii: "\n")) else {
      // The last byte may be the CR of the line end.
      guard view.count <= limit + 1 else { throw head.lineTooLarge }
      self.scanned = view.count
      return nil
    }
    self.scanned = 0
    let withReturn = end > view.startIndex && view[end - 1] == UInt8(ascii: "\r")
    let count = end - view.startIndex - (withReturn ? 1 : 0)
    guard count <= limit, let line = self.buffer.readSlice(length: count) else { throw head.lineTooLarge }
    self.buffer.moveReaderIndex(forwardBy: withReturn ? 2 : 1)
    return line
  }
}
