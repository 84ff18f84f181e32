internal import Cryptography
package import Media
package import NIOCore

/// A STUN message, RFC 8489 §5.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |0 0|   class and method        |  length behind the header     |
/// |                  magic cookie 0x2112A442                      |
/// |                 transaction ID (96 bits)                      |
/// |                        attributes …                           |
/// ```
package struct STUNMessage: Hashable, Sendable {
  /// The class, whose two bits are between those of the method.
  package enum Class: UInt8, Hashable, Sendable, CaseIterable {
    case request = 0b00
    case indication = 0b01
    case success = 0b10
    case error = 0b11
  }

  /// Keyed hash at the end of a message.
  package enum IntegrityAlgorithm: Hashable, Sendable, CaseIterable {
    /// MESSAGE-INTEGRITY: HMAC-SHA1. ICE uses this one, RFC 8445 §7.1.
    case sha1
    /// MESSAGE-INTEGRITY-SHA256.
    case sha256
  }

  /// A code of a received message, with the bytes that it covers.
  private struct Integrity: Hashable {
    var algorithm: IntegrityAlgorithm
    var code: [UInt8]
    /// Length of the message before the attribute.
    var coveredLength: Int
  }

  /// Request, indication, success or error response.
  package var messageClass: Class
  /// The method, 12 bits; 1 is Binding.
  package var method: UInt16
  /// Identifier that a request and its response have in common, 96 bits.
  package var transactionID: STUNTransactionID
  /// The attributes in their order, without integrity codes and fingerprint. Of received messages those before the first
  /// integrity code, since nothing protects the others.
  package var attributes: [STUNAttribute]
  /// Whether the message ended with a correct FINGERPRINT.
  package private(set) var hasFingerprint = false
  private var integrities: [Integrity] = []
  /// The parsed bytes; empty for a message that was not received.
  private var datagram = ByteBuffer()

  /// The method of connectivity checks.
  package static let binding: UInt16 = 1
  static let magicCookie: UInt32 = 0x2112_A442
  static let headerLength = 20
  /// Maximum number of attributes of a received message; those of ICE have fewer than 15.
  package static let maximumAttributeCount = 64
  private static let fingerprintKey: UInt32 = 0x5354_554E

  /// Creates a message to send; integrity code and fingerprint follow when it is serialized.
  package init(
    _ messageClass: Class, method: UInt16 = Self.binding, transactionID: STUNTransactionID, attributes: [STUNAttribute]
  ) {
    self.messageClass = messageClass
    self.method = method
    self.transactionID = transactionID
    self.attributes = attributes
  }

  /// Parses a datagram; all readable bytes belong to the message.
  ///
  /// - Throws: `ParsingError` when the header is not STUN's, lengths do not add up, a known attribute is malformed, or the
  ///   FINGERPRINT is wrong or not the last attribute.
  package init(parsing datagram: ByteBuffer) throws(ParsingError) {
    var rest = datagram
    guard
      let (type, length, cookie, head, tail) = rest.readMultipleIntegers(
        as: (UInt16, UInt16, UInt32, UInt32, UInt64).self)
    else { throw ParsingError(.truncated, field: "STUN header") }
    guard type >> 14 == 0, cookie == Self.magicCookie else { throw ParsingError(.invalid, field: "magic cookie") }
    guard length % 4 == 0, Int(length) == rest.readableBytes else {
      throw ParsingError(rest.readableBytes < Int(length) ? .truncated : .invalid, field: "message length", offset: 2)
    }
    self.init(
      Self.messageClass(of: type), method: Self.method(of: type), transactionID: .init(head, tail), attributes: [])
    self.datagram = datagram
    var count = 0
    while rest.readableBytes > 0 {
      let offset = rest.readerIndex - datagram.readerIndex
      count += 1
      guard count <= Self.maximumAttributeCount else {
        throw ParsingError(.tooLarge, field: "attributes", offset: offset)
      }
      guard !self.hasFingerprint else { throw ParsingError(.invalid, field: "FINGERPRINT", offset: offset) }
      guard let (type, length) = rest.readMultipleIntegers(as: (UInt16, UInt16).self),
        let value = rest.readSlice(length: Int(length)), rest.readSlice(length: -Int(length) & 3) != nil
      else { throw ParsingError(.truncated, field: "attribute", offset: offset) }
      try self.append(type: type, value: value, offset: offset)
    }
  }

  /// Whether an integrity code of the received message was made with a key, compared in constant time. SHA-256 is checked
  /// when both codes are present, §9.1.3. False without a code.
  package func isAuthentic(with key: STUNKey) -> Bool {
    guard let integrity = self.integrities.first(where: { $0.algorithm == .sha256 }) ?? self.integrities.first else {
      return false
    }
    var covered = Array(self.datagram.readableBytesView.prefix(integrity.coveredLength))
    // The length field counts the attributes up to the code, §14.5.
    let length = integrity.coveredLength - Self.headerLength + 4 + integrity.code.count
    covered[2] = UInt8(truncatingIfNeeded: length >> 8)
    covered[3] = UInt8(truncatingIfNeeded: length)
    switch integrity.algorithm {
    case .sha1: return ConstantTime.isEqual(key.sha1(of: covered), integrity.code)
    // A sender may truncate the code, §14.6; it then says with how many bytes it is content.
    case .sha256: return ConstantTime.isEqual(key.sha256(of: covered).prefix(integrity.code.count), integrity.code)
    }
  }

  /// Whether the received message has an integrity code.
  package var hasIntegrity: Bool { !self.integrities.isEmpty }

  /// The types of attributes below 0x8000 that are not understood; a request with such is refused, §6.3.1.
  package var unknownRequiredAttributes: [UInt16] {
    self.attributes.compactMap { attribute in
      guard case .other(let type, _) = attribute, STUNAttribute.isComprehensionRequired(type) else { return nil }
      return type
    }
  }

  /// Appends the message to a buffer.
  ///
  /// - Parameters:
  ///   - key: Key of the integrity code; nil for a message without one.
  ///   - algorithm: Which code is appended.
  ///   - hasFingerprint: Whether FINGERPRINT is appended; ICE requires it.
  package func serialize(
    into buffer: inout ByteBuffer, key: STUNKey? = nil, algorithm: IntegrityAlgorithm = .sha1,
    hasFingerprint: Bool = true
  ) {
    let start = buffer.writerIndex
    buffer.writeMultipleIntegers(
      Self.type(self.messageClass, self.method), UInt16(0), Self.magicCookie, self.transactionID.head,
      self.transactionID.tail)
    for attribute in self.attributes {
      var value = ByteBuffer()
      attribute.serializeValue(into: &value, transactionID: self.transactionID)
      Self.write(attribute.type, Array(value.readableBytesView), into: &buffer)
    }
    if let key {
      switch algorithm {
      case .sha1:
        Self.setLength(of: &buffer, from: start, adding: 4 + 20)
        Self.write(
          STUNAttribute.TypeCode.messageIntegrity, key.sha1(of: Self.bytes(of: buffer, from: start)), into: &buffer)
      case .sha256:
        Self.setLength(of: &buffer, from: start, adding: 4 + 32)
        Self.write(
          STUNAttribute.TypeCode.messageIntegritySHA256, key.sha256(of: Self.bytes(of: buffer, from: start)),
          into: &buffer)
      }
    }
    Self.setLength(of: &buffer, from: start, adding: hasFingerprint ? 8 : 0)
    guard hasFingerprint else { return }
    let checksum = CRC32.checksum(Self.bytes(of: buffer, from: start)) ^ Self.fingerprintKey
    buffer.writeMultipleIntegers(STUNAttribute.TypeCode.fingerprint, UInt16(4), checksum)
  }

  private mutating func append(type: UInt16, value: ByteBuffer, offset: Int) throws(ParsingError) {
    switch type {
    case STUNAttribute.TypeCode.messageIntegrity:
      guard value.readableBytes == 20 else { throw ParsingError(.invalid, field: "MESSAGE-INTEGRITY", offset: offset) }
      self.append(.sha1, value, offset)
    case STUNAttribute.TypeCode.messageIntegritySHA256:
      guard (16...32).contains(value.readableBytes), value.readableBytes % 4 == 0 else {
        throw ParsingError(.invalid, field: "MESSAGE-INTEGRITY-SHA256", offset: offset)
      }
      self.append(.sha256, value, offset)
    case STUNAttribute.TypeCode.fingerprint:
      let checksum =
        Self.fingerprintKey
        ^ self.datagram.withUnsafeReadableBytes { CRC32.checksum(UnsafeRawBufferPointer(rebasing: $0.prefix(offset))) }
      guard value.readableBytes == 4, value.getInteger(at: value.readerIndex, as: UInt32.self) == checksum else {
        throw ParsingError(.invalid, field: "FINGERPRINT", offset: offset)
      }
      self.hasFingerprint = true
    default:
      // Attributes that follow an integrity code are unprotected, §14.5.
      guard self.integrities.isEmpty else { return }
      do {
        self.attributes.append(try STUNAttribute(type: type, parsing: value, transactionID: self.transactionID))
      } catch {
        throw ParsingError(error.code, field: error.field, offset: offset)
      }
    }
  }

  /// Appends the first code of each algorithm.
  private mutating func append(_ algorithm: IntegrityAlgorithm, _ value: ByteBuffer, _ offset: Int) {
    guard !self.integrities.contains(where: { $0.algorithm == algorithm }) else { return }
    self.integrities.append(
      Integrity(algorithm: algorithm, code: Array(value.readableBytesView), coveredLength: offset))
  }

  // The bits of class and method, §5: M11…M7 C1 M6…M4 C0 M3…M0.

  private static func messageClass(of type: UInt16) -> Class {
    let bits = UInt8(type >> 7 & 0b10 | type >> 4 & 0b01)
    return bits == 0b00 ? .request : bits == 0b01 ? .indication : bits == 0b10 ? .success : .error
  }

  private static func method(of type: UInt16) -> UInt16 {
    type & 0b1111 | type >> 1 & 0b111_0000 | type >> 2 & 0b1111_1000_0000
  }

  private static func type(_ messageClass: Class, _ method: UInt16) -> UInt16 {
    let bits = UInt16(messageClass.rawValue)
    return method & 0b1111 | (method & 0b111_0000) << 1 | (method & 0b1111_1000_0000) << 2
      | (bits & 0b01) << 4 | (bits & 0b10) << 7
  }

  private static func write(_ type: UInt16, _ value: [UInt8], into buffer: inout ByteBuffer) {
    precondition(value.count <= 0xFFFF, "an attribute's length has 16 bits")
    buffer.writeMultipleIntegers(type, UInt16(value.count))
    buffer.writeBytes(value)
    buffer.writeRepeatingByte(0, count: -value.count & 3)
  }

  private static func setLength(of buffer: inout ByteBuffer, from start: Int, adding count: Int) {
    let length = buffer.writerIndex - start - Self.headerLength + count
    precondition(length <= 0xFFFF, "a message's length has 16 bits")
    buffer.setInteger(UInt16(length), at: start + 2)
  }

  private static func bytes(of buffer: ByteBuffer, from start: Int) -> some Sequence<UInt8> {
    buffer.viewBytes(at: start, length: buffer.writerIndex - start) ?? ByteBufferView()
  }
}

extension STUNMessage {
  /// The value of USERNAME; nil without one.
  package var username: String? {
    self.attributes.lazy.compactMap { if case .username(let name) = $0 { name } else { nil } }.first
  }

  /// The value of XOR-MAPPED-ADDRESS; nil without one.
  package var mappedAddress: TransportAddress? {
    self.attributes.lazy.compactMap { if case .xorMappedAddress(let address) = $0 { address } else { nil } }.first
  }

  /// The number of ERROR-CODE; nil without one.
  package var errorCode: UInt16? {
    self.attributes.lazy.compactMap { if case .errorCode(let code, _) = $0 { code } else { nil } }.first
  }

  /// Whether USE-CANDIDATE is among the attributes.
  package var nominates: Bool { self.attributes.contains(.useCandidate) }
}

/// The cyclic redundancy check of ITU-T V.42 §8.1.1.6.2, which Ethernet, ZIP and STUN's FINGERPRINT use.
enum CRC32 {
  /// Remainders of the 256 bytes for the reflected polynomial 0xEDB88320.
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { remainder, _ in remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0xEDB8_8320 }
  }

  /// Computes the check of some bytes.
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(UInt32.max) { $0 >> 8 ^ Self.table[Int(($0 ^ UInt32($1)) & 0xFF)] }
  }
}

/// The 96 bits that match a STUN response with its request, RFC 8489 §5.
package struct STUNTransactionID: Hashable, Sendable {
  /// The first 32 bits.
  let head: UInt32
  /// The other 64 bits.
  let tail: UInt64

  /// Creates an identifier from 96 bits, which must be random.
  package init(_ head: UInt32, _ tail: UInt64) {
    self.head = head
    self.tail = tail
  }
}
