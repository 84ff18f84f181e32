internal import CQREncode
public import Media

/// A QR code, ISO/IEC 18004, with error correction level M, which recovers 15% of the code.
public struct QRCode: Hashable, Sendable {
  /// Maximum length of the text in bytes: a code that phones still read from a screen.
  public static let maximumTextLength = 512
  /// Width of the light margin in modules, ISO/IEC 18004 §5.3.8.
  public static let quietZone = 4

  /// Number of modules per side without the quiet zone, 21 to 177.
  public let size: Int
  /// The modules row by row; true is dark.
  private let modules: [Bool]

  /// The smallest code for a text.
  ///
  /// - Parameter text: 1 to ``maximumTextLength`` bytes of UTF-8.
  /// - Throws: `VidiconError` `.invalidSpecification` when the text is empty or longer.
  public init(_ text: String) throws(VidiconError) {
    let bytes = Array(text.utf8)
    guard (1...Self.maximumTextLength).contains(bytes.count) else {
      throw VidiconError(
        .invalidSpecification, subject: "QR code", cause: "its text has \(bytes.count) bytes",
        nextStep: "give 1 to \(Self.maximumTextLength) bytes")
    }
    guard let code = QRcode_encodeData(Int32(bytes.count), bytes, 0, QR_ECLEVEL_M) else {
      throw VidiconError(
        .failed, subject: "QR code", cause: "the text cannot be encoded", nextStep: "free some memory")
    }
    defer { QRcode_free(code) }
    self.size = Int(code.pointee.width)
    // The lowest bit of a byte is the color of its module.
    self.modules = UnsafeBufferPointer(start: code.pointee.data, count: self.size * self.size).map { $0 & 1 == 1 }
  }

  /// Whether a module is dark; modules outside the code are light.
  ///
  /// - Parameters:
  ///   - column: Column from the left, from 0.
  ///   - row: Row from the top, from 0.
  public func isDark(column: Int, row: Int) -> Bool {
    let sides = 0..<self.size
    return sides.contains(column) && sides.contains(row) && self.modules[row * self.size + column]
  }
}
