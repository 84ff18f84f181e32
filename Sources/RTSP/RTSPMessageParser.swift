internal import Authentication
public import NIOCore

/// Cuts the bytes of an RTSP connection into messages, RFC 2326 §4 and §10.12.
///
/// Bytes come in with ``append(_:)`` in pieces of any size, messages out with ``next()``. No byte is looked at more
/// than a fixed number of times, however small the pieces are. Lines end with CR LF or LF, empty lines between messages
/// are skipped, header lines may be folded.
///
/// What is held is at most one unfinished message, so ``Limits`` bound the memory, and what came with it in one piece.
public struct RTSPMessageParser: Sendable {
  /// The most that a message may take; beyond it the connection cannot go on.
  public struct Limits: Hashable, Sendable {
    /// Bytes of the request or status line, without its end.
    public var startLineBytes = 2 * 1024
    /// Header lines.
    public var headerCount = 64
    /// Bytes of a header line, its folded lines included.
    public var headerBytes = 4 * 1024
    /// Bytes of the body.
    public var bodyBytes = 128 * 1024

    /// The default limits.
    public init() {}
  }

  /// The limits in force.
  public let limits: Limits

  private enum Phase {
    /// Between messages.
    case idle
    /// Within the start line or the headers.
    case head(RTSPMessageHead)
    /// The head is complete, this many bytes of body belong to it.
    case body(RTSPMessageHead, Int)
    /// Framing is lost; everything is ignored.
    case failed
  }

  private var phase = Phase.idle
  private var buffer = ByteBuffer()
  /// Bytes at the start of `buffer` that are known to hold no line feed.
  private var scanned = 0

  /// A parser at the start of a connection.
  public init(limits: Limits = Limits()) {
    self.limits = limits
  }

  /// The received bytes that are not yet part of a message.
  public var unparsedByteCount: Int { self.buffer.readableBytes }

  /// Takes received bytes.
  public mutating func append(_ bytes: ByteBuffer) {
    if case .failed = self.phase { return }
    if self.buffer.readableBytes == 0 {
      self.buffer = bytes
    } else {
      if self.buffer.readerIndex > self.buffer.readableBytes { self.buffer.discardReadBytes() }
      self.buffer.writeImmutableBuffer(bytes)
    }
  }

  /// The next whole message, or nil when more bytes are needed.
  ///
  /// - Throws: ``RTSPError`` for a message that breaks the rules or limits. When it says that the connection can go on,
  ///   the message has been skipped and the next call continues behind it; otherwise all later bytes are ignored.
  public mutating func next() throws(RTSPError) -> RTSPMessage? {
    do {
      let message = try self.parse()
      if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() }
      return message
    } catch {
      self.phase = error.canContinue ? .idle : .failed
      if !error.canContinue { self.buffer = ByteBuffer() }
      throw error
    }
  }

  private mutating func parse() throws(RTSPError) -> RTSPMessage? {
    while true {
      switch self.phase {
      case .failed:
        return nil
      case .idle:
        self.skipLineEnds()
        guard let first = self.buffer.getInteger(at: self.buffer.readerIndex, as: UInt8.self) else { return nil }
        if first == UInt8(ascii: "$") { return self.readInterleaved() }
        // A TLS hello or other binary data never becomes a line: refuse it at once.
        guard first.isToken else { throw RTSPError(.malformedStartLine, canContinue: false) }
        self.phase = .head(RTSPMessageHead(limits: self.limits))
      case .head(var head):
        guard let line = try self.readLine(limit: head.lineLimit, head: head) else { return nil }
        self.phase = .idle  // gives `head` its memory alone
        if try head.read(line) {
          self.phase = .body(head, try head.bodyByteCount())
        } else {
          self.phase = .head(head)
        }
      case .body(let head, let count):
        guard let body = self.buffer.readSlice(length: count) else { return nil }
        self.phase = .idle
        return try head.message(body: body)
      }
    }
  }

  private mutating func skipLineEnds() {
    let count = self.buffer.readableBytesView.prefix { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.count
    self.buffer.moveReaderIndex(forwardBy: count)
  }

  /// `$`, channel, 16 bits of length, packet: RFC 2326 §10.12.
  private mutating func readInterleaved() -> RTSPMessage? {
    let start = self.buffer.readerIndex
    guard let channel = self.buffer.getInteger(at: start + 1, as: UInt8.self),
      let length = self.buffer.getInteger(at: start + 2, as: UInt16.self),
      let payload = self.buffer.getSlice(at: start + 4, length: Int(length))
    else { return nil }
    self.buffer.moveReaderIndex(forwardBy: 4 + Int(length))
    return .interleaved(channel: channel, payload: payload)
  }

  /// The next line without its end.
  private mutating func readLine(limit: Int, head: RTSPMessageHead) throws(RTSPError) -> ByteBuffer? {
    let view = self.buffer.readableBytesView
    guard let end = view[(view.startIndex + self.scanned)...].firstIndex(of: UInt8(ascii: "\n")) else {
      // The line may still end with the CR that is here already.
      guard view.count <= limit + 1 else { throw head.tooLong }
      self.scanned = view.count
      return nil
    }
    self.scanned = 0
    let withReturn = end > view.startIndex && view[end - 1] == UInt8(ascii: "\r")
    let count = end - view.startIndex - (withReturn ? 1 : 0)
    guard count <= limit, let line = self.buffer.readSlice(length: count) else { throw head.tooLong }
    self.buffer.moveReaderIndex(forwardBy: withReturn ? 2 : 1)
    return line
  }
}
