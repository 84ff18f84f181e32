package import NIOCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A value of JSON, RFC 8259 §3.
package enum JSONValue: Hashable, Sendable {
  case null
  case boolean(Bool)
  /// A number without a fraction that fits.
  case integer(Int)
  /// Any other number.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])
}

extension JSONValue {
  /// Reads a document; nil for anything else.
  package init?(parsing bytes: ByteBuffer) {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes.readableBytesView)) else { return nil }
    self = value
  }
}

extension JSONValue: Decodable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }
}
