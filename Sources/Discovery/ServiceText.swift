public import Media

/// The TXT record of a service: what a client must know besides host and port, RFC 6763 §6.
///
/// Each pair is one character string of the record: a length byte and `key=value`, in UTF-8.
public struct ServiceText: Hashable, Sendable {
  /// The bytes of the longest `key=value`: what its length byte can say.
  public static let maximumPairLength = 255
  /// The bytes of the longest record: what fits one Ethernet packet with its headers, RFC 6763 §6.2.
  public static let maximumLength = 1300

  /// The record's data; one empty string where there is no pair, RFC 6763 §6.1.
  public let bytes: [UInt8]

  /// A record of pairs, in this order.
  ///
  /// - Parameter pairs: Keys of printable US-ASCII without `=`, each once in whatever case, RFC 6763 §6.4; at least one
  ///   character.
  /// - Throws: `VidiconError` `.invalidSpecification` when a key is none, comes twice, or something is too long.
  public init(_ pairs: KeyValuePairs<String, String> = [:]) throws(VidiconError) {
    var bytes: [UInt8] = []
    var keys: Set<String> = []
    for (key, value) in pairs {
      guard !key.isEmpty, key.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }) else {
        throw Self.error("\"\(key)\" is not a valid key", "use printable ASCII characters except =")
      }
      guard keys.insert(key.lowercased()).inserted else {
        throw Self.error("it has the key \"\(key)\" twice", "give each key once")
      }
      let pair = Array("\(key)=\(value)".utf8)
      guard pair.count <= Self.maximumPairLength else {
        throw Self.error(
          "\(key) has \(pair.count) bytes, more than \(Self.maximumPairLength)",
          "give the stream a shorter name")
      }
      bytes.append(UInt8(pair.count))
      bytes += pair
    }
    guard bytes.count <= Self.maximumLength else {
      throw Self.error(
        "it has \(bytes.count) bytes, more than \(Self.maximumLength)", "give it fewer or shorter values")
    }
    self.bytes = bytes.isEmpty ? [0] : bytes
  }

  private static func error(_ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(.invalidSpecification, subject: "TXT record", cause: cause, nextStep: nextStep)
  }
}
