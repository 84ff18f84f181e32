/// Four bytes that name a box, a brand or a handler, ISO/IEC 14496-12 §4.2: as a rule ASCII letters.
public struct FourCharacterCode: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The bytes as a number, the first one highest.
  public let rawValue: UInt32

  /// A code from four bytes.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// A code from a literal of four ASCII characters; any other literal is a programmer's error and traps.
  public init(stringLiteral value: StaticString) {
    precondition(value.utf8CodeUnitCount == 4, "a code has four characters")
    self.rawValue = value.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// The four characters; those outside of printable ASCII as "?".
  public var description: String {
    let bytes = withUnsafeBytes(of: self.rawValue.bigEndian, Array.init)
    return String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
