/// A record of DTLS 1.2, RFC 6347 §4.1, whose handshake messages tests read and cut: those of epoch 0 are in the clear.
struct DTLSRecord {
  var type: UInt8
  var version: [UInt8]
  var epoch: UInt16
  var sequenceNumber: UInt64
  var body: [UInt8]

  static let handshake: UInt8 = 22
  /// Length of the header of a handshake message, RFC 6347 §4.2.2.
  static let messageHeaderLength = 12

  /// The records of a datagram; those behind a malformed one are left out.
  static func all(in datagram: [UInt8]) -> [DTLSRecord] {
    var records: [DTLSRecord] = []
    var rest = datagram[...]
    while rest.count >= 13 {
      let header = Array(rest.prefix(13))
      let length = Int(Self.integer(header[11...]))
      guard rest.count >= 13 + length else { break }
      records.append(
        DTLSRecord(
          type: header[0], version: Array(header[1...2]), epoch: UInt16(Self.integer(header[3...4])),
          sequenceNumber: Self.integer(header[5...10]), body: Array(rest.dropFirst(13).prefix(length))))
      rest = rest.dropFirst(13 + length)
    }
    return records
  }

  var bytes: [UInt8] {
    [self.type] + self.version + Self.bytes(UInt64(self.epoch), count: 2) + Self.bytes(self.sequenceNumber, count: 6)
      + Self.bytes(UInt64(self.body.count), count: 2) + self.body
  }

  /// The record's handshake message in two fragments, each in a record of its own.
  var halves: [DTLSRecord] {
    let header = Array(self.body.prefix(Self.messageHeaderLength))
    let message = Array(self.body.dropFirst(Self.messageHeaderLength))
    let middle = message.count / 2
    return [(0, 0..<middle), (1, middle..<message.count)].map { index, range in
      var half = self
      half.sequenceNumber += UInt64(index)
      half.body =
        Array(header.prefix(6)) + Self.bytes(UInt64(range.lowerBound), count: 3)
        + Self.bytes(UInt64(range.count), count: 3) + message[range]
      return half
    }
  }

  /// The first certificate of a message of that type, RFC 5246 §7.4.2, as DER; nil for another message, and for a fragment.
  var certificate: [UInt8]? {
    let message = self.body.dropFirst(Self.messageHeaderLength)
    guard self.type == Self.handshake, self.epoch == 0, self.body.first == 11, message.count > 6,
      Self.integer(self.body[1...3]) == UInt64(message.count)
    else { return nil }
    let length = Int(Self.integer(Array(message.dropFirst(3).prefix(3))[...]))
    let certificate = Array(message.dropFirst(6).prefix(length))
    return certificate.count == length ? certificate : nil
  }

  private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  private static func bytes(_ value: UInt64, count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
  }
}
