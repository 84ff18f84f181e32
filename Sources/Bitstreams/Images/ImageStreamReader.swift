package import NIOCore

/// Finds the images of a response that has a snapshot: JPEG (ITU-T T.81), PNG (ISO/IEC 15948) or WebP (RFC 9649).
///
/// The first bytes of the response, and those behind an image of PNG and WebP, say which of them follows, behind line ends.
/// Bytes of neither PNG nor WebP are left to a ``JPEGStreamReader``, which finds its images amid anything. Memory is bounded by its maximum
/// length of an image, and the bytes of one call of ``append(_:)``.
package struct ImageStreamReader: Sendable {
  /// File format of an image.
  package enum Format: Hashable, Sendable {
    case jpeg
    case png
    case webP
  }

  /// A whole image.
  package struct Image: Hashable, Sendable {
    package var format: Format
    package var bytes: ByteBuffer
  }

  private enum State {
    /// Before the first bytes of an image.
    case undecided
    case decided(Format)
    /// The rest of the response is damaged.
    case damaged
  }

  /// Result of a search for the end of an image.
  private enum End {
    case found(Int)
    case needsBytes
    case damaged
  }

  /// Number of images that were dropped: damaged, cut off, or too long.
  package var droppedCount: Int { self.damagedCount + self.jpeg.droppedCount }

  /// Whether no image begins where one was expected last; JPEG may follow.
  package private(set) var isForeign = false

  private var state: State
  private var jpeg = JPEGStreamReader()
  private var damagedCount = 0
  private var buffer = ByteBuffer()
  /// Offset of the next chunk of a PNG image, which begins at the reader index.
  private var position = Self.pngSignature.count

  private static let maximumLength = JPEGStreamReader.maximumLength
  private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  /// The type `IEND` of a PNG chunk, §11.2.5.
  private static let imageEnd: UInt32 = 0x4945_4E44

  /// Creates a reader before the first byte.
  ///
  /// - Parameter hasParts: Whether images of JPEG are the parts of one response.
  package init(hasParts: Bool = false) {
    self.state = hasParts ? .decided(.jpeg) : .undecided
  }

  /// Begins another response. JPEG images without an end, as some cameras send, end where the next one begins.
  package mutating func beginResponse() {
    self.state = .undecided
    self.buffer.clear()
  }

  /// Appends bytes that have arrived.
  package mutating func append(_ bytes: ByteBuffer) {
    switch self.state {
    case .damaged: break
    case .decided(.jpeg): self.jpeg.append(bytes)
    case .undecided, .decided:
      if self.buffer.readableBytes == 0 {
        self.buffer = bytes
      } else {
        self.buffer.discardReadBytes()
        self.buffer.writeImmutableBuffer(bytes)
      }
    }
  }

  /// Removes and returns the next image; nil when more bytes are needed.
  package mutating func next() -> Image? {
    while true {
      let format: Format
      switch self.state {
      case .damaged: return nil
      case .decided(let decided): format = decided
      case .undecided:
        guard let found = self.findFormat() else { return nil }
        self.begin(found)
        continue
      }
      let end: End
      switch format {
      case .jpeg: return self.jpeg.next().map { Image(format: .jpeg, bytes: $0) }
      case .png: end = self.findEndOfPNG()
      case .webP: end = self.findEndOfWebP()
      }
      switch end {
      case .needsBytes: return nil
      case .damaged:
        self.damagedCount += 1
        self.buffer.clear()
        self.state = .damaged
      case .found(let length):
        guard let bytes = self.buffer.readSlice(length: length) else { return nil }
        self.state = .undecided
        return Image(format: format, bytes: bytes)
      }
    }
  }

  private mutating func begin(_ format: Format) {
    (self.state, self.position) = (.decided(format), Self.pngSignature.count)
    // The first byte of each marker, T.81 §B.1.1.2.
    self.isForeign = format == .jpeg && self.buffer.readableBytesView.first != 0xFF
    guard format == .jpeg else { return }
    self.jpeg.append(self.buffer)
    self.buffer.clear()
  }

  /// Format by the signature; nil when more bytes are needed.
  private mutating func findFormat() -> Format? {
    let lineEnds = self.buffer.readableBytesView.prefix { $0 == 0x0D || $0 == 0x0A }
    self.buffer.moveReaderIndex(forwardBy: lineEnds.count)
    let view = self.buffer.readableBytesView
    if Self.pngSignature.starts(with: view.prefix(Self.pngSignature.count)) {
      return view.count >= Self.pngSignature.count ? .png : nil
    }
    // RFC 9649 §2.4: "RIFF", the size, "WEBP".
    guard "RIFF".utf8.starts(with: view.prefix(4)) else { return .jpeg }
    guard view.count >= 12 else { return nil }
    return view.dropFirst(8).starts(with: "WEBP".utf8) ? .webP : .jpeg
  }

  /// PNG §5.3: chunks of length, type, data and CRC, 12 bytes without the data. The last one is IEND.
  private mutating func findEndOfPNG() -> End {
    while true {
      let start = self.buffer.readerIndex + self.position
      guard let length = self.buffer.getInteger(at: start, as: UInt32.self),
        let type = self.buffer.getInteger(at: start + 4, as: UInt32.self)
      else { return .needsBytes }
      let end = self.position + 12 + Int(length)
      guard end <= Self.maximumLength else { return .damaged }
      if type == Self.imageEnd { return end <= self.buffer.readableBytes ? .found(end) : .needsBytes }
      self.position = end
    }
  }

  /// RFC 9649 §2.4: the size counts the bytes behind it.
  private func findEndOfWebP() -> End {
    guard let size = self.buffer.getInteger(at: self.buffer.readerIndex + 4, endianness: .little, as: UInt32.self)
    else { return .needsBytes }
    let end = 8 + Int(size)
    guard (20...Self.maximumLength).contains(end) else { return .damaged }
    return end <= self.buffer.readableBytes ? .found(end) : .needsBytes
  }
}
