package import NIOCore

/// Finds the images of a response: JPEG (ITU-T T.81), PNG (ISO/IEC 15948) or WebP (RFC 9649).
///
/// The first bytes of a snapshot's response, and those behind an image of PNG and WebP, say which of them follows, behind line ends.
/// Where images are parts of a response, their signatures are looked for amid anything. Bytes of neither PNG nor WebP, and all that
/// follows the first part of JPEG, are left to a ``JPEGStreamReader``, which finds its images amid anything. Memory is bounded by its
/// maximum length of an image, and the bytes of one call of ``append(_:)``.
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

  /// Result of a look at the first bytes of an image.
  private enum Signature {
    case format(Format)
    case needsBytes
    case unknown
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

  private let hasParts: Bool
  private var state = State.undecided
  private var jpeg = JPEGStreamReader()
  private var damagedCount = 0
  private var buffer = ByteBuffer()
  /// Offset of the next chunk of a PNG image, which begins at the reader index.
  private var position = ImageSignature.png.count

  private static let maximumLength = JPEGStreamReader.maximumLength
  /// The type `IEND` of a PNG chunk, §11.2.5.
  private static let imageEnd: UInt32 = 0x4945_4E44

  /// Creates a reader before the first byte.
  ///
  /// - Parameter hasParts: Whether images are the parts of one response, between delimiters and headers.
  package init(hasParts: Bool = false) {
    self.hasParts = hasParts
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
        guard let found = self.hasParts ? self.findPart() : self.findFormat() else { return nil }
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
        if self.hasParts {
          // Further parts begin behind what was looked at, so that no byte is looked at again and again.
          self.buffer.moveReaderIndex(forwardBy: self.position)
          self.state = .undecided
        } else {
          self.buffer.clear()
          self.state = .damaged
        }
      case .found(let length):
        guard let bytes = self.buffer.readSlice(length: length) else { return nil }
        self.state = .undecided
        return Image(format: format, bytes: bytes)
      }
    }
  }

  private mutating func begin(_ format: Format) {
    (self.state, self.position) = (.decided(format), ImageSignature.png.count)
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
    switch Self.signature(self.buffer.readableBytesView) {
    case .format(let format): return format
    case .needsBytes: return nil
    case .unknown: return .jpeg
    }
  }

  /// Format of the next part that is an image; nil when more bytes are needed. What comes before it is skipped.
  private mutating func findPart() -> Format? {
    while let start = self.buffer.readableBytesView.firstIndex(where: Self.mayBegin) {
      self.buffer.moveReaderIndex(to: start)
      let view = self.buffer.readableBytesView
      switch Self.signature(view) {
      case .format(let format): return format
      case .needsBytes: return nil
      case .unknown where ImageSignature.jpeg.starts(with: view.prefix(ImageSignature.jpeg.count)):
        return view.count >= ImageSignature.jpeg.count ? .jpeg : nil
      case .unknown: self.buffer.moveReaderIndex(forwardBy: 1)
      }
    }
    self.buffer.clear()
    return nil
  }

  /// Whether a byte is the first of a signature.
  private static func mayBegin(_ byte: UInt8) -> Bool { byte == 0xFF || byte == 0x89 || byte == UInt8(ascii: "R") }

  /// Format of PNG or WebP by the first bytes of an image.
  private static func signature(_ view: ByteBufferView) -> Signature {
    if ImageSignature.png.starts(with: view.prefix(ImageSignature.png.count)) {
      return view.count >= ImageSignature.png.count ? .format(.png) : .needsBytes
    }
    // RFC 9649 §2.4: "RIFF", the size, "WEBP".
    guard "RIFF".utf8.starts(with: view.prefix(4)) else { return .unknown }
    guard view.count >= 12 else { return .needsBytes }
    return view.dropFirst(8).starts(with: "WEBP".utf8) ? .format(.webP) : .unknown
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

/// The bytes with which files of images begin.
package enum ImageSignature {
  /// JPEG (ITU-T T.81 §B.1.1.3): the marker SOI, and the first byte of the next one.
  package static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF]
  /// PNG (ISO/IEC 15948 §5.2).
  package static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
}
