internal import Codecs
public import Media

/// An RGBA image to be drawn over frames: a logo, a mask.
public struct OverlayImage: Hashable, Sendable {
  /// Width in pixels, 1 to ``maximumSide``.
  public let width: Int
  /// Height in pixels, 1 to ``maximumSide``.
  public let height: Int
  /// Red, green, blue and alpha of each pixel, row by row; not premultiplied.
  public let pixels: [UInt8]

  /// Maximum width and height in pixels.
  public static let maximumSide = 8192
  /// Maximum number of pixels: 64 MiB of memory.
  public static let maximumPixelCount = 16 << 20
  /// Maximum size of a file in bytes.
  public static let maximumFileSize = 64 << 20

  /// An image from its pixels.
  ///
  /// - Parameter pixels: Red, green, blue and alpha of each pixel, row by row: `4 * width * height` bytes.
  public init(width: Int, height: Int, pixels: [UInt8]) {
    precondition(
      (1...Self.maximumSide).contains(width) && (1...Self.maximumSide).contains(height)
        && width * height <= Self.maximumPixelCount && pixels.count == 4 * width * height,
      "an image has four bytes for each of its pixels")
    self.width = width
    self.height = height
    self.pixels = pixels
  }

  /// Decodes a PNG (of an animated one its first frame) or JPEG file.
  ///
  /// The size is checked before any pixel is decoded.
  ///
  /// - Parameters:
  ///   - bytes: The file's content, at most ``maximumFileSize`` bytes.
  ///   - name: The subject of errors, such as the file's path.
  /// - Throws: A ``VidiconError`` with code `.invalidData` for another format, a broken or truncated file, and one with
  ///   more pixels or bytes than the limits.
  public init(parsing bytes: [UInt8], name: String) throws(VidiconError) {
    guard bytes.count <= Self.maximumFileSize else { throw .largeImageFile(name) }
    let header: ImageHeader
    do {
      header = try ImageHeader(parsing: bytes)
    } catch { throw .brokenImage(name, Self.cause(of: error)) }
    guard header.width <= Self.maximumSide, header.height <= Self.maximumSide,
      header.width * header.height <= Self.maximumPixelCount
    else {
      throw .largeImage(
        name, "has \(header.width) × \(header.height) pixels, more than 8192 × 8192 or 16 million in all")
    }
    guard let pixels = ImageDecoder.decode(bytes, header, maximumPixelCount: Self.maximumPixelCount) else {
      throw .brokenImage(name, "the file is broken")
    }
    self.init(width: header.width, height: header.height, pixels: pixels)
  }

  /// Maximum memory that decoding a file takes, in bytes: 8 for each pixel of the decoded frame, and 4 for each of two RGBA
  /// images; 0 for a file that is refused before it is decoded.
  package static func decodingByteCount(of bytes: [UInt8]) -> Int {
    guard let header = try? ImageHeader(parsing: bytes), header.width <= self.maximumSide,
      header.height <= self.maximumSide, header.width * header.height <= self.maximumPixelCount
    else { return 0 }
    return 16 * header.width * header.height
  }

  private static func cause(of error: ParsingError) -> String {
    switch (error.code, error.field) {
    case (.missing, "signature"): "the file is empty"
    case (_, "signature"): "neither a PNG nor a JPEG file"
    case (.truncated, _): "the file is truncated"
    default: "the file is broken (\(error))"
    }
  }
}

extension VidiconError {
  fileprivate static func brokenImage(_ name: String, _ cause: String) -> VidiconError {
    VidiconError(.invalidData, path: name, cause: cause, nextStep: "save it again as PNG")
  }

  fileprivate static func largeImage(_ name: String, _ cause: String) -> VidiconError {
    VidiconError(
      .invalidData, path: name, cause: cause,
      nextStep: "make it smaller; images of the stream's size are large enough")
  }

  /// The file has more than ``OverlayImage/maximumFileSize`` bytes.
  static func largeImageFile(_ name: String) -> VidiconError {
    .largeImage(name, "has more than \(OverlayImage.maximumFileSize >> 20) MiB")
  }
}
