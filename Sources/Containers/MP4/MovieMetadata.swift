public import Media
internal import NIOCore

/// Metadata of a file: creation time, title, encoder and orientation.
public struct MovieMetadata: Hashable, Sendable {
  /// `creation_time`: seconds since 1904-01-01 00:00 UTC; 0 if unknown.
  public var creationTime: UInt32
  /// Title, at most 1000 bytes of UTF-8; nil for none.
  public var title: String?
  /// Name of the program that wrote the file, at most 1000 bytes of UTF-8; nil for none.
  public var encoder: String?
  /// Rotation that players apply, from the matrix of the track header, ISO/IEC 14496-12 §8.3.2.
  public var orientation: Orientation

  /// Maximum bytes of a text; longer texts are truncated at a character.
  private static let maximumTextLength = 1000

  /// Creates metadata; empty and upright by default.
  public init(
    creationTime: UInt32 = 0, title: String? = nil, encoder: String? = nil, orientation: Orientation = .up
  ) {
    self.creationTime = creationTime
    self.title = title
    self.encoder = encoder
    self.orientation = orientation
  }

  /// Converts Unix time in nanoseconds to a `creation_time`, clamped to 32 bits: 1904 to 2040.
  public static func creationTime(atUnixTime nanoseconds: Int64) -> UInt32 {
    // Seconds from 1904 to 1970: 66 years, 17 of them leap years.
    UInt32(clamping: nanoseconds / 1_000_000_000 + 2_082_844_800)
  }

  /// Writes the matrix a, b, u, c, d, v, x, y, w (16.16; u, v, w are 2.30) that rotates the frame and moves it back to the
  /// origin.
  ///
  /// - Parameter size: Size of the stored frame in pixels.
  func writeMatrix(forSize size: (width: Int, height: Int), to buffer: inout ByteBuffer) {
    let one: Int32 = 0x1_0000
    let (width, height) = (Int32(Int16(clamping: size.width)) << 16, Int32(Int16(clamping: size.height)) << 16)
    let (a, b, c, d, x, y): (Int32, Int32, Int32, Int32, Int32, Int32) =
      switch self.orientation {
      case .up: (one, 0, 0, one, 0, 0)
      case .right: (0, one, -one, 0, height, 0)
      case .down: (-one, 0, 0, -one, width, height)
      case .left: (0, -one, one, 0, 0, width)
      }
    for value in [a, b, 0, c, d, 0, x, y, 0x4000_0000] { buffer.writeInteger(value) }
  }

  /// Writes the iTunes-style `udta` box: `meta` with handler `mdir` and an `ilst` of texts; nothing without texts.
  func writeUserData(to buffer: inout ByteBuffer) {
    let items: [(FourCharacterCode, String?)] = [
      (FourCharacterCode(rawValue: 0xA96E_616D), self.title),  // ©nam
      (FourCharacterCode(rawValue: 0xA974_6F6F), self.encoder),  // ©too
    ]
    guard items.contains(where: { $0.1 != nil }) else { return }
    buffer.writeBox("udta") {
      $0.writeFullBox("meta") {
        $0.writeFullBox("hdlr") {
          $0.writeZeros(4)
          $0.writeInteger(("mdir" as FourCharacterCode).rawValue)
          $0.writeInteger(("appl" as FourCharacterCode).rawValue)
          $0.writeZeros(9)
        }
        $0.writeBox("ilst") {
          for case (let type, let text?) in items {
            $0.writeBox(type) {
              $0.writeFullBox("data", flags: 1) {  // UTF-8
                $0.writeZeros(4)  // any language
                $0.writeString(Self.shortened(text))
              }
            }
          }
        }
      }
    }
  }

  private static func shortened(_ text: String) -> String {
    var length = 0
    return String(
      text.prefix { character in
        length += character.utf8.count
        return length <= Self.maximumTextLength
      })
  }
}
