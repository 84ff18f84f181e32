public import Media

/// The TXT record of a service: key/value pairs for clients, RFC 6763 §6.
///
/// Each pair is one character string: a length byte and `key=value` in UTF-8.
public struct ServiceText: Hashable, Sendable {
  /// Maximum length of `key=value` in bytes, the maximum of its length byte.
  public static let maximumPairLength = 255
  /// Maximum length of the record in bytes, to fit an Ethernet frame, RFC 6763 §6.2.
  public static let maximumLength = 1300

  /// The record's data; one empty string without pairs, RFC 6763 §6.1.
  public let bytes: [UInt8]

  /// A record with pairs in this order.
  ///
  /// - Parameter pairs: Keys of printable US-ASCII without `=`, at least one character, unique case-insensitively, RFC
  ///   6763 §6.4.
  /// - Throws: `VidiconError` `.invalidSpecification` when a key is invalid or repeated, or a pair or the record is too
  ///   long.
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
