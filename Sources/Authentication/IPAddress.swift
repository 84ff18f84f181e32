internal import Media

/// A numeric IPv4 or IPv6 address, RFC 4291 §2.2. IPv6 addresses that hold an IPv4 address (`::ffff:1.2.3.4`) are IPv4.
package enum IPAddress: Hashable, Sendable {
  case v4(UInt32)
  /// The upper and lower 64 bits.
  case v6(UInt64, UInt64)

  /// Parses an address without brackets; a zone (`%eth0`) is ignored. nil for other text.
  package init?(parsing text: some StringProtocol) {
    if let number = Self.v4(text) {
      self = .v4(number)
      return
    }
    let address = text.prefix { $0 != "%" }
    guard let groups = Self.groups(String(address)), groups.count == 8 else { return nil }
    let upper = groups[..<4].reduce(0) { $0 << 16 | UInt64($1) }
    let lower = groups[4...].reduce(0) { $0 << 16 | UInt64($1) }
    self = .v6(upper, lower)
    if upper == 0, lower >> 32 == 0xffff { self = .v4(UInt32(truncatingIfNeeded: lower)) }
  }

  /// The text of an IPv4 address where a text has its IPv6 form (`::ffff:192.0.2.1`), as sockets of both families report it;
  /// other text unchanged.
  package static func plainText(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: ":")), case .v4(let address)? = IPAddress(parsing: text) else { return text }
    return [24, 16, 8, 0].map { "\(address >> UInt32($0) & 0xff)" }.joined(separator: ".")
  }

  /// Whether it is an address of the loopback interface, RFC 1122 §3.2.1.3 and RFC 4291 §2.5.3.
  package var isLoopback: Bool {
    switch self {
    case .v4(let address): address >> 24 == 127
    case .v6(let upper, let lower): upper == 0 && lower == 1
    }
  }

  /// Whether every host of a link chooses such an address itself: `fe80::/10`, RFC 4291 §2.5.6, or `169.254.0.0/16`,
  /// RFC 3927.
  package var isLinkLocal: Bool {
    switch self {
    case .v4(let address): address >> 16 == 0xa9fe
    case .v6(let upper, _): upper >> 54 == 0xfe80 >> 6
    }
  }

  /// Whether it is a link-local, unspecified or cloud metadata address: RFC 3927, RFC 4291 §2.5.2 and §2.5.6, RFC 1122
  /// §3.2.1.3 (`0.0.0.0/8`), and addresses of providers; also IPv4 addresses in the forms of RFC 4291 §2.5.5, NAT64 (RFC 6052)
  /// and 6to4 (RFC 3056).
  package var isLinkLocalOrMetadata: Bool {
    if self.isLoopback { return false }
    if let embedded = self.embeddedV4 { return IPAddress.v4(embedded).isLinkLocalOrMetadata }
    switch self {
    case .v4(let address):
      return self.isLinkLocal || address >> 24 == 0 || Self.metadataV4.contains(address)
    case .v6(let upper, let lower):
      return self.isLinkLocal || Self.metadataV6.contains { $0 == upper && $1 == lower }
    }
  }

  /// Metadata services outside of 169.254.0.0/16: 100.100.100.200 (Alibaba), 168.63.129.16 (Azure), 192.0.0.192 (Oracle).
  private static let metadataV4: [UInt32] = [0x6464_64c8, 0xa83f_8110, 0xc000_00c0]

  /// Metadata services of IPv6: `fd00:ec2::254` (Amazon), `fd20:ce::254` (Google), `fd00:42::42` (Scaleway).
  private static let metadataV6: [(UInt64, UInt64)] = [
    (0xfd00_0ec2 << 32, 0x254), (0xfd20_00ce << 32, 0x254), (0xfd00_0042 << 32, 0x42),
  ]

  /// The IPv4 address within an IPv6 address; nil without one.
  private var embeddedV4: UInt32? {
    guard case .v6(let upper, let lower) = self else { return nil }
    // RFC 6052 and, with prefixes of 96 bits, RFC 8215.
    let isTranslated = upper == 0x0064_ff9b << 32 && lower >> 32 == 0 || upper >> 16 == 0x0064_ff9b_0001
    let isLast = isTranslated || upper == 0 && [0, 0xffff].contains(lower >> 32)
    if isLast { return UInt32(truncatingIfNeeded: lower) }
    return upper >> 48 == 0x2002 ? UInt32(truncatingIfNeeded: upper >> 16) : nil
  }

  /// The address, or the first 64 bits of an IPv6 address, the smallest network that one subscriber has.
  package var network: IPAddress {
    if case .v6(let upper, _) = self { .v6(upper, 0) } else { self }
  }

  /// Whether the address is in the network of another one that has a prefix of this length, of which at most 64 bits count
  /// in IPv6: hosts choose the other 64 themselves.
  package func shares(prefix length: Int, with other: IPAddress) -> Bool {
    switch (self, other) {
    case (.v4(let own), .v4(let other)):
      let bits = max(0, min(length, 32))
      return bits == 0 || (own ^ other) >> UInt32(32 - bits) == 0
    case (.v6(let own, _), .v6(let other, _)):
      let bits = max(0, min(length, 64))
      return bits == 0 || (own ^ other) >> UInt64(64 - bits) == 0
    default: return false
    }
  }

  private static func v4(_ text: some StringProtocol) -> UInt32? {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var address: UInt32 = 0
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy(\.isDigit),
        let number = UInt8(String(decoding: part, as: UTF8.self))
      else { return nil }
      address = address << 8 | UInt32(number)
    }
    return address
  }

  private static func groups(_ text: String) -> [UInt16]? {
    guard text.utf8.count <= 45 else { return nil }
    guard let gap = text.firstRange(of: "::") else { return Self.parts(text[...], allowsV4: true) }
    let (head, tail) = (text[..<gap.lowerBound], text[gap.upperBound...])
    guard let first = head.isEmpty ? [] : Self.parts(head, allowsV4: false),
      let last = tail.isEmpty ? [] : Self.parts(tail, allowsV4: true), first.count + last.count < 8
    else { return nil }
    return first + Array(repeating: 0, count: 8 - first.count - last.count) + last
  }

  private static func parts(_ text: Substring, allowsV4: Bool) -> [UInt16]? {
    var groups: [UInt16] = []
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      let digits = String(decoding: part, as: UTF8.self)
      if allowsV4, index == parts.count - 1, let address = Self.v4(digits) {
        groups += [UInt16(truncatingIfNeeded: address >> 16), UInt16(truncatingIfNeeded: address)]
        continue
      }
      guard (1...4).contains(part.count), part.allSatisfy({ $0.hexadecimalValue != nil }),
        let group = UInt16(digits, radix: 16)
      else { return nil }
      groups.append(group)
    }
    return groups.count <= 8 ? groups : nil
  }
}
