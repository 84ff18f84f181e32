/// A picture to be drawn over others, with transparency: a logo, a mask.
public struct OverlayImage: Hashable, Sendable {
  /// Pixels across, 1 to ``maximumSide``.
  public let width: Int
  /// Pixels down, 1 to ``maximumSide``.
  public let height: Int
  /// Red, green, blue, alpha of each pixel, row by row; colours are not multiplied with alpha.
  public let pixels: [UInt8]

  /// The most pixels across or down.
  public static let maximumSide = 8192
  /// The most pixels: 64 MiB of memory.
  public static let maximumPixelCount = 16 << 20
  /// The most bytes of a file.
  public static let maximumFileSize = 64 << 20

  /// A picture out of its pixels.
  ///
  /// - Parameter pixels: Red, green, blue, alpha of each pixel, row by row.
  public init(width: Int, height: Int, pixels: [UInt8]) {
    precondition(
      (1...Self.maximumSide).contains(width) && (1...Self.maximumSide).contains(height)
        && width * height <= Self.maximumPixelCount && pixels.count == 4 * width * height,
      "a picture has four bytes for each of its pixels")
    self.width = width
    self.height = height
    self.pixels = pixels
  }

  /// A picture out of a file's bytes: PNG (of a moving one its first picture) or JPEG.
  ///
  /// Nothing is decoded before its size is known to be within bounds.
  ///
  /// - Parameters:
  ///   - bytes: The file's bytes.
  ///   - name: What messages call it.
  /// - Throws: An ``OverlayImageError`` for what is no such picture, is broken, or is too large.
  public init(parsing bytes: [UInt8], name: String) throws(OverlayImageError) {
    guard bytes.count <= Self.maximumFileSize else {
      throw OverlayImageError(.tooLarge, name: name, cause: "has more than \(Self.maximumFileSize >> 20) MiB")
    }
    let header: ImageHeader
    do {
      header = try ImageHeader(parsing: bytes)
    } catch { throw OverlayImageError(error.code, name: name, cause: error.cause) }
    guard header.width <= Self.maximumSide, header.height <= Self.maximumSide,
      header.width * header.height <= Self.maximumPixelCount
    else {
      throw OverlayImageError(
        .tooLarge, name: name,
        cause: "has \(header.width) × \(header.height) pixels, more than 8192 × 8192 or 16 million in all")
    }
    guard let pixels = ImageDecoder.decode(bytes, header) else {
      throw OverlayImageError(.invalidData, name: name, cause: "is broken")
    }
    self.init(width: header.width, height: header.height, pixels: pixels)
  }
}
