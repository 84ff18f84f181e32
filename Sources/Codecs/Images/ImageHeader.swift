internal import Bitstreams
package import Media

/// Format and size of a PNG (ISO/IEC 15948) or JPEG (ITU-T T.81) file.
package struct ImageHeader: Hashable {
  /// File formats of images.
  package enum Format: Hashable {
    case png
    case jpeg
  }

  /// File format, from the signature.
  package var format: Format
  /// Width in pixels, at least 1.
  package var width: Int
  /// Height in pixels, at least 1.
  package var height: Int

  /// Parses the headers of a whole file without decoding its pixels.
  ///
  /// - Throws: A ``ParsingError`` for an unknown format, a missing or malformed header, a size of zero, and a file
  ///   without its end marker (`IEND` or `EOI`).
  package init(parsing bytes: [UInt8]) throws(ParsingError) {
    if bytes.starts(with: ImageSignature.png) {
      try self.init(png: bytes)
    } else if bytes.starts(with: ImageSignature.jpeg.prefix(2)) {
      try self.init(jpeg: bytes)
    } else {
      throw ParsingError(bytes.isEmpty ? .missing : .unsupported, field: "signature", offset: 0)
    }
  }

  /// PNG §5.3: chunks of length, type, data and CRC, 12 bytes without the data. The first one is IHDR with width and
  /// height (§11.2.2), the last one IEND.
  private init(png bytes: [UInt8]) throws(ParsingError) {
    func uint32(_ offset: Int) -> Int { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    var offset = ImageSignature.png.count
    var size: (width: Int, height: Int)?
    while bytes.count - offset >= 12 {
      let (length, type) = (uint32(offset), bytes[offset + 4..<offset + 8])
      guard length <= bytes.count - offset - 12 else {
        throw ParsingError(.truncated, field: "chunk", offset: offset)
      }
      if size == nil {
        guard type.elementsEqual("IHDR".utf8), length == 13 else {
          throw ParsingError(.missing, field: "IHDR", offset: offset)
        }
        size = (uint32(offset + 8), uint32(offset + 12))
        guard size?.width != 0, size?.height != 0 else {
          throw ParsingError(.invalid, field: "IHDR size", offset: offset + 8)
        }
      }
      if let size, type.elementsEqual("IEND".utf8) {
        (self.format, self.width, self.height) = (.png, size.width, size.height)
        return
      }
      offset += 12 + length
    }
    throw ParsingError(.truncated, field: "IEND", offset: offset)
  }

  /// JPEG §B.1.1.4: segments of marker, length and data. The frame header (SOF, §B.2.2) has height and width; the
  /// file's last marker is EOI.
  private init(jpeg bytes: [UInt8]) throws(ParsingError) {
    var offset = 2
    while bytes.count - offset >= 4 {
      guard bytes[offset] == 0xFF else { throw ParsingError(.invalid, field: "marker", offset: offset) }
      let marker = bytes[offset + 1]
      // §B.1.1.2: any number of fill bytes 0xFF may precede a marker.
      if marker == 0xFF {
        offset += 1
        continue
      }
      let length = Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])
      guard length >= 2 else { throw ParsingError(.invalid, field: "segment length", offset: offset + 2) }
      guard length <= bytes.count - offset - 2 else {
        throw ParsingError(.truncated, field: "segment", offset: offset)
      }
      // SOF0 to SOF15, without DHT (0xC4), JPG (0xC8) and DAC (0xCC), which lie in the same range.
      if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
        guard length >= 7 else { throw ParsingError(.invalid, field: "SOF length", offset: offset + 2) }
        // Other data may follow EOI; up to 64 KiB of it are searched.
        let end = bytes.suffix(64 << 10)
        guard zip(end, end.dropFirst()).contains(where: { $0 == (0xFF, 0xD9) }) else {
          throw ParsingError(.truncated, field: "EOI", offset: bytes.count)
        }
        self.format = .jpeg
        self.height = Int(bytes[offset + 5]) << 8 | Int(bytes[offset + 6])
        self.width = Int(bytes[offset + 7]) << 8 | Int(bytes[offset + 8])
        guard self.width > 0, self.height > 0 else {
          throw ParsingError(.invalid, field: "SOF size", offset: offset + 5)
        }
        return
      }
      // A scan (SOS) or the end (EOI) before the frame header.
      guard marker != 0xDA, marker != 0xD9 else { throw ParsingError(.missing, field: "SOF", offset: offset) }
      offset += 2 + length
    }
    throw ParsingError(.truncated, field: "SOF", offset: offset)
  }
}
