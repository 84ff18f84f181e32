internal import CQREncode
public import Media

/// A QR code, ISO/IEC 18004, with error correction of level M: it is still read with 15% of it lost.
public struct QRCode: Hashable, Sendable {
  /// The bytes of the longest text: what a telephone still reads from a screen, and longer than any address of a stream
  /// that a person wants.
  public static let maximumTextLength = 512
  /// The light modules around a code, ISO/IEC 18004 §5.3.8.
  public static let quietZone = 4

  /// The modules of one side, without the quiet zone: 21 to 177.
  public let size: Int
  /// A row after the other; true is dark.
  private let modules: [Bool]

  /// The smallest code of a text.
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
    // The lowest bit of a module's byte is its colour.
    self.modules = UnsafeBufferPointer(start: code.pointee.data, count: self.size * self.size).map { $0 & 1 == 1 }
  }

  /// Whether a module is dark; those outside the code are light.
  ///
  /// - Parameters:
  ///   - column: From the left, 0 for the code's first.
  ///   - row: From the top, 0 for the code's first.
  public func isDark(column: Int, row: Int) -> Bool {
    let sides = 0..<self.size
    return sides.contains(column) && sides.contains(row) && self.modules[row * self.size + column]
  }
}
