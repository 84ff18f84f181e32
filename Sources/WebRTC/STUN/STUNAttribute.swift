internal import Authentication
package import Media
package import NIOCore

/// An attribute of a STUN message, RFC 8489 §14 and RFC 8445 §16.1.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |             type              |       length in bytes         |
/// |              value, padded with 0 to 3 bytes …                |
/// ```
///
/// MESSAGE-INTEGRITY, MESSAGE-INTEGRITY-SHA256 and FINGERPRINT depend on the bytes before them; ``STUNMessage`` reads and
/// writes them.
package enum STUNAttribute: Hashable, Sendable {
  /// MAPPED-ADDRESS, §14.1.
  case mappedAddress(TransportAddress)
  /// XOR-MAPPED-ADDRESS, §14.2: the source of the request as the server saw it.
  case xorMappedAddress(TransportAddress)
  /// USERNAME, §14.3; with ICE the fragments of the receiver and the sender, `receiver:sender`. At most 508 bytes.
  case username(String)
  /// USERHASH, §14.4: SHA-256 of `username:realm`.
  case userhash([UInt8])
  /// ERROR-CODE, §14.8: 300 to 699, and a reason for people of at most 763 bytes.
  case errorCode(UInt16, reason: String)
  /// REALM, §14.9.
  case realm(String)
  /// NONCE, §14.10.
  case nonce(String)
  /// UNKNOWN-ATTRIBUTES, §14.13: types that a 420 response refuses.
  case unknownAttributes([UInt16])
  /// SOFTWARE, §14.14.
  case software(String)
  /// PRIORITY, RFC 8445 §7.1.1: the priority of a peer-reflexive candidate that the check may find.
  case priority(UInt32)
  /// USE-CANDIDATE, RFC 8445 §7.1.2: the controlling agent nominates this pair.
  case useCandidate
  /// ICE-CONTROLLED, RFC 8445 §7.1.3, with the tie-breaker.
  case iceControlled(UInt64)
  /// ICE-CONTROLLING, RFC 8445 §7.1.3, with the tie-breaker.
  case iceControlling(UInt64)
  /// Any other attribute.
  case other(type: UInt16, value: ByteBuffer)

  /// The attribute type, RFC 8489 §18.3.
  package var type: UInt16 {
    switch self {
    case .mappedAddress: TypeCode.mappedAddress
    case .xorMappedAddress: TypeCode.xorMappedAddress
    case .username: TypeCode.username
    case .userhash: TypeCode.userhash
    case .errorCode: TypeCode.errorCode
    case .realm: TypeCode.realm
    case .nonce: TypeCode.nonce
    case .unknownAttributes: TypeCode.unknownAttributes
    case .software: TypeCode.software
    case .priority: TypeCode.priority
    case .useCandidate: TypeCode.useCandidate
    case .iceControlled: TypeCode.iceControlled
    case .iceControlling: TypeCode.iceControlling
    case .other(let type, _): type
    }
  }

  /// Whether a receiver that does not know the type must refuse the request, RFC 8489 §14: types below 0x8000.
  static func isComprehensionRequired(_ type: UInt16) -> Bool {
    type < 0x8000
  }

  enum TypeCode {
    static let mappedAddress: UInt16 = 0x0001
    static let username: UInt16 = 0x0006
    static let messageIntegrity: UInt16 = 0x0008
    static let errorCode: UInt16 = 0x0009
    static let unknownAttributes: UInt16 = 0x000A
    static let realm: UInt16 = 0x0014
    static let nonce: UInt16 = 0x0015
    static let messageIntegritySHA256: UInt16 = 0x001C
    static let userhash: UInt16 = 0x001E
    static let xorMappedAddress: UInt16 = 0x0020
    static let priority: UInt16 = 0x0024
    static let useCandidate: UInt16 = 0x0025
    static let software: UInt16 = 0x8022
    static let fingerprint: UInt16 = 0x8028
    static let iceControlled: UInt16 = 0x8029
    static let iceControlling: UInt16 = 0x802A
  }

  /// Parses the value of an attribute.
  ///
  /// - Throws: `ParsingError` `.invalid` when a value has another length or form than its type says.
  package init(type: UInt16, parsing value: ByteBuffer, transactionID: STUNTransactionID) throws(ParsingError) {
    var rest = value
    switch type {
    case TypeCode.mappedAddress: self = .mappedAddress(try Self.address(&rest, key: nil))
    case TypeCode.xorMappedAddress: self = .xorMappedAddress(try Self.address(&rest, key: transactionID))
    case TypeCode.username: self = .username(try Self.text(rest, "USERNAME", maximum: 512))
    case TypeCode.userhash:
      guard rest.readableBytes == 32 else { throw ParsingError(.invalid, field: "USERHASH") }
      self = .userhash(Array(rest.readableBytesView))
    case TypeCode.errorCode:
      guard let (_, hundreds, number) = rest.readMultipleIntegers(as: (UInt16, UInt8, UInt8).self),
        (3...6).contains(hundreds & 0b111), number < 100
      else { throw ParsingError(.invalid, field: "ERROR-CODE") }
      let reason = try Self.text(rest, "ERROR-CODE", maximum: 763)
      self = .errorCode(UInt16(hundreds & 0b111) * 100 + UInt16(number), reason: reason)
    case TypeCode.realm: self = .realm(try Self.text(rest, "REALM", maximum: 763))
    case TypeCode.nonce: self = .nonce(try Self.text(rest, "NONCE", maximum: 763))
    case TypeCode.unknownAttributes:
      var types: [UInt16] = []
      while let type = rest.readInteger(as: UInt16.self) { types.append(type) }
      guard rest.readableBytes == 0 else { throw ParsingError(.invalid, field: "UNKNOWN-ATTRIBUTES") }
      self = .unknownAttributes(types)
    case TypeCode.software: self = .software(try Self.text(rest, "SOFTWARE", maximum: 763))
    case TypeCode.priority: self = .priority(try Self.integer(rest, "PRIORITY"))
    case TypeCode.useCandidate:
      guard rest.readableBytes == 0 else { throw ParsingError(.invalid, field: "USE-CANDIDATE") }
      self = .useCandidate
    case TypeCode.iceControlled: self = .iceControlled(try Self.integer(rest, "ICE-CONTROLLED"))
    case TypeCode.iceControlling: self = .iceControlling(try Self.integer(rest, "ICE-CONTROLLING"))
    default: self = .other(type: type, value: value)
    }
  }

  /// Appends the value, without type, length and padding.
  func serializeValue(into buffer: inout ByteBuffer, transactionID: STUNTransactionID) {
    switch self {
    case .mappedAddress(let address): Self.serialize(address, key: nil, into: &buffer)
    case .xorMappedAddress(let address): Self.serialize(address, key: transactionID, into: &buffer)
    case .username(let text), .realm(let text), .nonce(let text), .software(let text): buffer.writeString(text)
    case .userhash(let hash): buffer.writeBytes(hash)
    case .errorCode(let code, let reason):
      buffer.writeMultipleIntegers(UInt16(0), UInt8(code / 100), UInt8(code % 100))
      buffer.writeString(reason)
    case .unknownAttributes(let types): for type in types { buffer.writeInteger(type) }
    case .priority(let priority): buffer.writeInteger(priority)
    case .useCandidate: break
    case .iceControlled(let tieBreaker), .iceControlling(let tieBreaker): buffer.writeInteger(tieBreaker)
    case .other(_, let value): buffer.writeImmutableBuffer(value)
    }
  }

  private static func text(_ value: ByteBuffer, _ field: String, maximum: Int) throws(ParsingError) -> String {
    guard value.readableBytes <= maximum, let text = String(validating: value.readableBytesView, as: UTF8.self) else {
      throw ParsingError(.invalid, field: field)
    }
    return text
  }

  private static func integer<Integer: FixedWidthInteger>(
    _ value: ByteBuffer, _ field: String
  ) throws(ParsingError) -> Integer {
    guard value.readableBytes == MemoryLayout<Integer>.size,
      let number = value.getInteger(at: value.readerIndex, as: Integer.self)
    else { throw ParsingError(.invalid, field: field) }
    return number
  }

  private static let ipv4: UInt8 = 1
  private static let ipv6: UInt8 = 2
  /// The part of an XOR key that covers ports.
  private static let portKey = UInt16(STUNMessage.magicCookie >> 16)

  /// Parses an address; with a key each bit is XORed with the magic cookie and the transaction, §14.2.
  private static func address(
    _ value: inout ByteBuffer, key: STUNTransactionID?
  ) throws(ParsingError) -> TransportAddress {
    guard let (_, family, port) = value.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self) else {
      throw ParsingError(.invalid, field: "address")
    }
    let ip: IPAddress
    switch (family, value.readableBytes) {
    case (Self.ipv4, 4):
      guard let address = value.readInteger(as: UInt32.self) else { throw ParsingError(.invalid, field: "address") }
      ip = .v4(address ^ (key == nil ? 0 : STUNMessage.magicCookie))
    case (Self.ipv6, 16):
      guard let (upper, lower) = value.readMultipleIntegers(as: (UInt64, UInt64).self) else {
        throw ParsingError(.invalid, field: "address")
      }
      let keys = key.map(Self.keys) ?? (0, 0)
      ip = .v6(upper ^ keys.0, lower ^ keys.1)
    default: throw ParsingError(.invalid, field: "address")
    }
    return TransportAddress(ip: ip, port: port ^ (key == nil ? 0 : Self.portKey))
  }

  private static func serialize(_ address: TransportAddress, key: STUNTransactionID?, into buffer: inout ByteBuffer) {
    let port = address.port ^ (key == nil ? 0 : Self.portKey)
    switch address.ip {
    case .v4(let ip):
      buffer.writeMultipleIntegers(UInt8(0), Self.ipv4, port, ip ^ (key == nil ? 0 : STUNMessage.magicCookie))
    case .v6(let upper, let lower):
      let keys = key.map(Self.keys) ?? (0, 0)
      buffer.writeMultipleIntegers(UInt8(0), Self.ipv6, port, upper ^ keys.0, lower ^ keys.1)
    }
  }

  /// The magic cookie and the transaction identifier, as two halves of an IPv6 address.
  private static func keys(_ id: STUNTransactionID) -> (UInt64, UInt64) {
    (UInt64(STUNMessage.magicCookie) << 32 | UInt64(id.head), id.tail)
  }
}
