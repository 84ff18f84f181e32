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
  /// The value of a boolean; nil for other values.
  package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  /// The value of a number without a fraction; nil for other values.
  package var integer: Int? { if case .integer(let value) = self { value } else { nil } }
  /// The value of a string; nil for other values.
  package var text: String? { if case .string(let value) = self { value } else { nil } }
  /// The elements of an array; nil for other values.
  package var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }

  /// The value of any number; nil for other values.
  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
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
