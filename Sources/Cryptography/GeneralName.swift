internal import CCryptography

/// A name or an address in a certificate, RFC 5280 §4.2.1.6; those of other kinds are left out everywhere.
package enum GeneralName: Hashable, Sendable {
  /// A DNS name, or in name constraints one with all names below it.
  case dns(String)
  /// A numeric address of 4 or 16 bytes, or in name constraints a network: an address with a mask behind it.
  case address([UInt8])

  /// The names of a list of C, which is destroyed; nil without one.
  static func all(moving list: OpaquePointer?) -> [GeneralName]? {
    guard let list else { return nil }
    defer { vidicon_names_destroy(list) }
    return (0..<vidicon_names_count(list)).compactMap { index -> GeneralName? in
      let name = vidicon_names_get(list, index)
      let bytes = UnsafeBufferPointer(start: name.bytes, count: name.count)
      switch name.kind {
      case VIDICON_NAME_DNS: return .dns(String(decoding: bytes, as: UTF8.self))
      case VIDICON_NAME_ADDRESS: return .address(Array(bytes))
      default: return nil
      }
    }
  }

  /// Appends the name to a list of C; false where memory is lacking.
  func append(to list: OpaquePointer) -> Bool {
    func append(_ kind: vidicon_name_kind, _ bytes: some Sequence<UInt8>) -> Bool {
      bytes.withContiguousBytes { bytes in
        vidicon_names_append(list, vidicon_name(kind: kind, bytes: bytes.baseAddress, count: bytes.count))
      }
    }
    switch self {
    case .dns(let name): return append(VIDICON_NAME_DNS, name.utf8)
    case .address(let bytes): return append(VIDICON_NAME_ADDRESS, bytes)
    }
  }
}
