internal import Codecs
package import Media

/// The header line of a YUV4MPEG2 stream: the magic word and space-separated parameters, each a letter and a value
/// (yuv4mpeg(5) of mjpegtools).
///
///     YUV4MPEG2 W1280 H720 F30:1 Ip A1:1 C420jpeg XYSCSS=420JPEG
///
/// Of `X` all but `XCOLORRANGE` is ignored.
package struct Y4MHeader: Hashable, Sendable {
  /// Chroma subsampling; planes of 8-bit samples, one after another.
  package enum Sampling: String, Hashable, Sendable, CaseIterable {
    /// Chroma of half the width and height.
    case yuv420 = "420"
    /// Chroma of half the width.
    case yuv422 = "422"
    /// Chroma of the full size.
    case yuv444 = "444"
    /// Chroma of a quarter of the width.
    case yuv411 = "411"
    /// Luma alone.
    case mono
  }

  /// Interlacing of the frames.
  enum Interlacing: Hashable, Sendable {
    /// Progressive, or not known.
    case none
    /// Interlaced, all in the same order.
    case fields(FieldOrder)
    /// Of each frame as its line says.
    case mixed
  }

  /// The first word of each stream.
  package static let magic = "YUV4MPEG2"
  /// Maximum length of the header line and of a frame's line, in bytes.
  package static let maximumLength = 1_024
  /// Supported width and height, in pixels.
  package static let sizes = 16...8_192

  /// Width in pixels, within ``sizes``.
  package let width: Int
  /// Height in pixels, within ``sizes``.
  package let height: Int
  /// Frame rate, 1 to 240.
  package let frameRate: FrameRate
  /// Chroma subsampling, the parameter `C`; 4:2:0 without it.
  package let sampling: Sampling
  /// Whether samples have full range (luma 0 to 255).
  package let isFullRange: Bool
  /// Width and height of a pixel in the same unit, the parameter `A`; 0 where they are not known.
  let pixel: SIMD2<Int32>
  /// Interlacing, the parameter `I`.
  let interlacing: Interlacing

  /// Parses a header line.
  ///
  /// - Parameters:
  ///   - line: The bytes before the line feed.
  ///   - source: Subject of errors.
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidData``, naming the field and its value.
  package init(parsing line: [UInt8], source: String) throws(VidiconError) {
    func failure(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidData, subject: source, cause: cause, nextStep: nextStep)
    }
    // Parameters are ASCII; other bytes are in no valid parameter.
    let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0.prefix(64), as: UTF8.self) }
    guard line.starts(with: Array(Self.magic.utf8)), words.first == Self.magic else {
      throw failure(
        "it does not begin with \(Self.magic)",
        "write it with: ffmpeg -i INPUT -f yuv4mpegpipe -pix_fmt yuv420p -")
    }
    var fields: [Character: String] = [:]
    var isFullRange = false
    for word in words.dropFirst() {
      guard let letter = word.first else { continue }
      if letter == "X" {
        if word == "XCOLORRANGE=FULL" { isFullRange = true }
      } else {
        fields[letter] = String(word.dropFirst())
      }
    }
    for (letter, name) in [("W", "width"), ("H", "height")] as [(Character, String)] {
      guard let value = fields[letter].flatMap(Int.init), Self.sizes.contains(value) else {
        throw failure(
          "its \(name) is \(fields[letter].map { "\(letter)\($0)" } ?? "missing"), not \(letter)16 to \(letter)8192",
          "scale it with: ffmpeg -i INPUT -vf scale=1280:720 -f yuv4mpegpipe -pix_fmt yuv420p -")
      }
    }
    let rate = Self.ratio(fields["F"])
    guard rate.y > 0, rate.x >= rate.y, Int64(rate.x) <= 240 * Int64(rate.y) else {
      throw failure(
        "its frame rate is \(fields["F"].map { "F\($0)" } ?? "missing"), not F1:1 to F240:1",
        "set it with: ffmpeg -i INPUT -r 30 -f yuv4mpegpipe -pix_fmt yuv420p -")
    }
    let name = fields["C"] ?? "420"
    // The 4:2:0 variants differ in chroma siting only, which is ignored.
    let isPlain420 = ["420jpeg", "420mpeg2", "420paldv"].contains(name)
    guard let sampling = isPlain420 ? .yuv420 : Sampling(rawValue: name) else {
      throw failure(
        "its color space is C\(name), not one of C420, C422, C444, C411 and Cmono with 8 bits",
        "convert it with: ffmpeg -i INPUT -f yuv4mpegpipe -pix_fmt yuv420p -")
    }
    self.width = fields["W"].flatMap(Int.init) ?? 0
    self.height = fields["H"].flatMap(Int.init) ?? 0
    self.frameRate = FrameRate(rate.x, over: rate.y)
    self.sampling = sampling
    self.isFullRange = isFullRange
    self.pixel = Self.ratio(fields["A"])
    self.interlacing =
      switch fields["I"] {
      case "t": .fields(.topFirst)
      case "b": .fields(.bottomFirst)
      case "m": .mixed
      default: .none
      }
  }

  /// Order of the fields of the frame behind a line `FRAME`; nil for a progressive one. In streams of mixed frames `I` is followed by
  /// the order of the fields (`t`, `T`, `b`, `B`; digits for progressive frames) and by `i` where they are of different times.
  func fields(ofFrame line: [UInt8]) -> FieldOrder? {
    switch self.interlacing {
    case .none: return nil
    case .fields(let order): return order
    case .mixed:
      let words = line.split { $0 == 0x20 || $0 == 0x0A }.dropFirst()
      guard let word = words.first(where: { $0.first == UInt8(ascii: "I") }).map({ Array($0) }), word.count > 2,
        word[2] == UInt8(ascii: "i")
      else { return nil }
      switch word[1] {
      case UInt8(ascii: "t"), UInt8(ascii: "T"): return .topFirst
      case UInt8(ascii: "b"), UInt8(ascii: "B"): return .bottomFirst
      default: return nil
      }
    }
  }

  /// Two positive numbers with a colon between them; zeros for anything else.
  private static func ratio(_ value: String?) -> SIMD2<Int32> {
    let numbers = (value ?? "").split(separator: ":", omittingEmptySubsequences: false).map { Int32($0) ?? 0 }
    return numbers.count == 2 && numbers.allSatisfy { $0 > 0 } ? SIMD2(numbers[0], numbers[1]) : .zero
  }

  /// Width and height of each plane in samples: one plane or three.
  package var planes: [(width: Int, height: Int)] {
    let (width, height) = (self.width, self.height)
    let chroma: (Int, Int)
    switch self.sampling {
    case .yuv420: chroma = ((width + 1) / 2, (height + 1) / 2)
    case .yuv422: chroma = ((width + 1) / 2, height)
    case .yuv444: chroma = (width, height)
    case .yuv411: chroma = ((width + 3) / 4, height)
    case .mono: return [(width, height)]
    }
    return [(width, height), chroma, chroma]
  }

  /// Size of a frame in bytes, without its line.
  package var frameByteCount: Int {
    self.planes.reduce(0) { $0 + $1.width * $1.height }
  }
}
