package import NIOCore

/// Finds JPEG images (ITU-T T.81) in a stream of bytes that separates them by anything: delimiters and headers of a multipart
/// response (RFC 2046 §5.1), padding, or nothing.
///
/// Cameras place delimiters before or behind the images, write their dashes into the parameter `boundary`, leave out line ends and
/// lengths, or state wrong ones. The markers of an image are always there (§B.1.1.3), and show its end as soon as that has arrived:
///
/// ```
/// SOI ─▶ marker, length, segment ─▶ … ─▶ SOS, length, header ─▶ entropy-coded data ─▶ EOI
///                 ▲                                                       │
///                 └────────────────── further scans ◀─────────────────────┘
/// ```
///
/// Images within segments, as thumbnails of Exif, are part of their image. One that ends before its EOI is dropped at the SOI of
/// the next; where none has had an EOI, as of ESP32 boards whose driver loses it, the second and all others are ended there. Memory is
/// bounded by ``maximumLength`` and the bytes of one call of ``append(_:)``.
package struct JPEGStreamReader: Sendable {
  private enum State {
    /// Before SOI.
    case outside
    /// At the 0xFF of a marker.
    case marker
    /// In entropy-coded data.
    case entropyCodedData
  }

  /// Result of a step through the bytes.
  private enum Step {
    /// The next step begins at the current position.
    case advanced
    case needsBytes
    /// The image ends at the current position.
    case complete
    /// The image has ended before the current position, at which another one begins.
    case cut
    /// The image is damaged, or another one begins before its end.
    case damaged
  }

  /// Maximum length of an image in bytes: 16 MiB; longer ones are dropped.
  package static let maximumLength = 16 << 20

  /// Number of images that were dropped: damaged, cut off, or too long.
  package private(set) var droppedCount = 0
  /// Whether an image has had an EOI.
  private var hasEnds = false
  /// Number of images that ended at the SOI of the next one.
  private var cutCount = 0
  private var buffer = ByteBuffer()
  private var state = State.outside
  /// Offset from the reader index up to which the bytes are examined; the image begins at the reader index.
  private var position = 0

  /// Creates a reader before the first byte.
  package init() {}

  /// Appends bytes that have arrived.
  package mutating func append(_ bytes: ByteBuffer) {
    if self.buffer.readableBytes == 0 {
      self.buffer = bytes
    } else {
      self.buffer.discardReadBytes()
      self.buffer.writeImmutableBuffer(bytes)
    }
  }

  /// Removes and returns the next image, from SOI to EOI; nil when more bytes are needed.
  package mutating func next() -> ByteBuffer? {
    while true {
      switch self.advance() {
      case .advanced:
        if self.position > Self.maximumLength { self.drop() }
      case .needsBytes: return nil
      case .complete:
        defer { (self.state, self.position) = (.outside, 0) }
        return self.buffer.readSlice(length: self.position)
      case .cut:
        self.cutCount += 1
        defer { (self.state, self.position) = (.outside, 0) }
        guard var image = self.buffer.readSlice(length: self.position), !self.hasEnds, self.cutCount > 1 else {
          self.droppedCount += 1
          continue
        }
        // Delimiters behind its data are skipped by decoders.
        image.writeBytes([0xFF, 0xD9])
        return image
      case .damaged: self.drop()
      }
    }
  }

  /// Drops the image; the next SOI may be within the bytes that were taken for it.
  private mutating func drop() {
    self.droppedCount += 1
    self.buffer.moveReaderIndex(forwardBy: min(2, self.buffer.readableBytes))
    (self.state, self.position) = (.outside, 0)
  }

  private mutating func advance() -> Step {
    switch self.state {
    case .outside: self.findStart()
    case .marker: self.readMarker()
    case .entropyCodedData: self.skipEntropyCodedData()
    }
  }

  /// Byte at an offset from ``position``; nil where it has not arrived.
  private func byte(_ offset: Int) -> UInt8? {
    self.buffer.getInteger(at: self.buffer.readerIndex + self.position + offset)
  }

  /// Skips bytes up to SOI and the first byte of the marker behind it.
  private mutating func findStart() -> Step {
    let view = self.buffer.readableBytesView
    var skipped = view.count
    var index = view.startIndex
    while let found = view[index...].firstIndex(of: 0xFF) {
      if ImageSignature.jpeg.starts(with: view[found...].prefix(ImageSignature.jpeg.count)) {
        skipped = found - view.startIndex
        break
      }
      index = found + 1
    }
    self.buffer.moveReaderIndex(forwardBy: skipped)
    guard self.buffer.readableBytes >= 3 else { return .needsBytes }
    (self.state, self.position) = (.marker, 2)
    return .advanced
  }

  /// Reads a marker, §B.1.1.2, and skips its segment.
  private mutating func readMarker() -> Step {
    guard let prefix = self.byte(0), let marker = self.byte(1) else { return .needsBytes }
    guard prefix == 0xFF else { return .damaged }
    switch marker {
    case 0xFF:  // Fill bytes.
      self.position += 1
    case 0xD9:  // EOI.
      self.position += 2
      self.hasEnds = true
      return .complete
    case 0x00, 0xD8: return .damaged
    case 0x01, 0xD0...0xD7:  // TEM and RST have no segment.
      self.position += 2
    default:
      guard let high = self.byte(2), let low = self.byte(3) else { return .needsBytes }
      let length = Int(high) << 8 | Int(low)
      guard length >= 2 else { return .damaged }
      self.position += 2 + length
      if marker == 0xDA { self.state = .entropyCodedData }
    }
    return .advanced
  }

  /// Skips to a marker that is neither a stuffed byte nor RST.
  private mutating func skipEntropyCodedData() -> Step {
    let start = self.buffer.readerIndex + self.position
    guard start < self.buffer.writerIndex else { return .needsBytes }
    guard let found = self.buffer.readableBytesView[start...].firstIndex(of: 0xFF) else {
      self.position = self.buffer.readableBytes
      return .advanced
    }
    self.position = found - self.buffer.readerIndex
    guard let marker = self.byte(1) else { return .needsBytes }
    switch marker {
    case 0x00, 0xD0...0xD7: self.position += 2
    case 0xFF: self.position += 1
    case 0xD8: return .cut
    default: self.state = .marker
    }
    return .advanced
  }
}
