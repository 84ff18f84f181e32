public import Media
internal import NIOCore

/// The elements of a general header extension, RFC 8285 §4: one-byte headers (profile 0xBEDE) or two-byte headers (0x1000 to
/// 0x100F).
///
/// ```
/// one-byte     |  ID   | len-1 |  data … |
/// two-byte     |      ID       |     len       |  data … |
/// ```
public struct RTPExtensionElements: Hashable, Sendable {
  /// An identifier with its data, RFC 8285 §4.2 and §4.3.
  public struct Element: Hashable, Sendable {
    /// The identifier that the session description gives to a URI: 1 to 14, in two-byte headers to 255.
    public var id: UInt8
    /// The data: 1 to 16 bytes, in two-byte headers 0 to 255.
    public var data: [UInt8]

    /// Creates an element; 1 to 14 with 1 to 16 bytes fit a one-byte header.
    public init(id: UInt8, data: [UInt8]) {
      self.id = id
      self.data = data
    }
  }

  /// The elements, in their order.
  public var elements: [Element]

  /// Profile of one-byte headers.
  static let oneByteProfile: UInt16 = 0xBEDE
  /// Profile of two-byte headers, without its four application bits.
  static let twoByteProfile: UInt16 = 0x1000

  /// Creates the elements of a header extension, in the order in which they are written.
  public init(_ elements: [Element]) {
    self.elements = elements
  }

  /// Parses the header extension of a packet; another profile has no elements.
  ///
  /// - Throws: `ParsingError` `.truncated` when an element reaches past the end.
  public init(parsing header: RTPHeader.Extension) throws(ParsingError) {
    self.elements = []
    let isOneByte = header.profile == Self.oneByteProfile
    guard isOneByte || header.profile & 0xFFF0 == Self.twoByteProfile else { return }
    var rest = header.data
    while let first = rest.readInteger(as: UInt8.self) {
      // A padding byte.
      if first == 0 { continue }
      let id = isOneByte ? first >> 4 : first
      // Identifier 15 ends the elements, §4.2.
      if isOneByte, id == 15 { return }
      guard let length = isOneByte ? Int(first & 0b1111) + 1 : rest.readInteger(as: UInt8.self).map(Int.init),
        let data = rest.readBytes(length: length)
      else { throw ParsingError(.truncated, field: "header extension element") }
      // Identifier 0 with a length is padding that a receiver ignores.
      if id > 0 { self.elements.append(Element(id: id, data: data)) }
    }
  }

  /// The data of the first element with an identifier.
  public subscript(id: UInt8) -> [UInt8]? {
    self.elements.first { $0.id == id }?.data
  }

  /// The header extension: with one-byte headers when every element fits.
  public var headerExtension: RTPHeader.Extension {
    let isOneByte = self.elements.allSatisfy { (1...14).contains($0.id) && (1...16).contains($0.data.count) }
    var data = ByteBuffer()
    for element in self.elements {
      precondition(element.id > 0 && element.data.count <= 255, "identifier and length have 8 bits")
      if isOneByte {
        data.writeInteger(element.id << 4 | UInt8(element.data.count - 1))
      } else {
        data.writeMultipleIntegers(element.id, UInt8(element.data.count))
      }
      data.writeBytes(element.data)
    }
    data.writeRepeatingByte(0, count: -data.readableBytes & 3)
    return RTPHeader.Extension(profile: isOneByte ? Self.oneByteProfile : Self.twoByteProfile, data: data)
  }
}
