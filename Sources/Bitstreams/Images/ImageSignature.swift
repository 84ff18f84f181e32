/// The bytes with which files of images begin.
package enum ImageSignature {
  /// JPEG (ITU-T T.81 §B.1.1.3): the marker SOI, and the first byte of the next one.
  package static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF]
  /// PNG (ISO/IEC 15948 §5.2).
  package static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
}
