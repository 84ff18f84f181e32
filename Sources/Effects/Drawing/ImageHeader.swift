/// What the first bytes of a PNG (ISO/IEC 15948) or JPEG (ITU-T T.81) file say, and whether the file is there to its end.
struct ImageHeader: Hashable {
  enum Kind: Hashable {
    case png
    case jpeg
  }

  struct Failure: Error, Hashable {
    var code: OverlayImageError.Code
    var cause: String
  }

  var kind: Kind
  /// At least 1.
  var width: Int
  /// At least 1.
  var height: Int

  init(parsing bytes: [UInt8]) throws(Failure) {
    if bytes.starts(with: Self.signature) {
      try self.init(png: bytes)
    } else if bytes.starts(with: [0xFF, 0xD8]) {
      try self.init(jpeg: bytes)
    } else {
      throw Failure(code: .unknownFormat, cause: bytes.isEmpty ? "is empty" : "is neither PNG nor JPEG")
    }
    guard self.width > 0, self.height > 0 else { throw Self.broken }
  }

  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let truncated = Failure(code: .invalidData, cause: "ends too early")
  private static let broken = Failure(code: .invalidData, cause: "is broken")

  /// Chunks of PNG: length, type, data, check sum. The first one is IHDR with width and height, the last one IEND.
  private init(png bytes: [UInt8]) throws(Failure) {
    func number(_ place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    var place = Self.signature.count
    var size: (Int, Int)?
    while bytes.count - place >= 12 {
      let (length, type) = (number(place), bytes[place + 4..<place + 8])
      guard length <= bytes.count - place - 12 else { throw Self.truncated }
      if size == nil {
        guard type.elementsEqual("IHDR".utf8), length == 13 else { throw Self.broken }
        size = (number(place + 8), number(place + 12))
      }
      if let size, type.elementsEqual("IEND".utf8) {
        (self.kind, self.width, self.height) = (.png, size.0, size.1)
        return
      }
      place += 12 + length
    }
    throw Self.truncated
  }

  /// Segments of JPEG: marker, length, data. The start of a frame has height and width; the file's last marker is EOI.
  private init(jpeg bytes: [UInt8]) throws(Failure) {
    var place = 2
    while bytes.count - place >= 4 {
      guard bytes[place] == 0xFF else { throw Self.broken }
      let marker = bytes[place + 1]
      // Markers may be preceded by any number of these.
      if marker == 0xFF {
        place += 1
        continue
      }
      let length = Int(bytes[place + 2]) << 8 | Int(bytes[place + 3])
      guard length >= 2 else { throw Self.broken }
      guard length <= bytes.count - place - 2 else { throw Self.truncated }
      // SOF0 to SOF15, but for DHT, JPG and DAC.
      if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
        guard length >= 7 else { throw Self.broken }
        // What follows the picture may be anything, but not much.
        let end = bytes.suffix(64 << 10)
        guard zip(end, end.dropFirst()).contains(where: { $0 == (0xFF, 0xD9) }) else { throw Self.truncated }
        self.kind = .jpeg
        self.height = Int(bytes[place + 5]) << 8 | Int(bytes[place + 6])
        self.width = Int(bytes[place + 7]) << 8 | Int(bytes[place + 8])
        return
      }
      // The picture's data begin, and no size was said.
      guard marker != 0xDA, marker != 0xD9 else { throw Self.broken }
      place += 2 + length
    }
    throw Self.truncated
  }
}
