/// A value of the Action Message Format, in which RTMP's commands and metadata are written: AMF 0, and AMF 3 as far as
/// clients send it.
///
/// Types that differ only in their encoding are one case: long strings and XML documents are strings, typed objects are
/// objects.
package indirect enum AMFValue: Hashable, Sendable {
  /// A number; every number of AMF 0 is an IEEE 754 double.
  case number(Double)
  /// True or false.
  case boolean(Bool)
  /// UTF-8 text; invalid bytes were replaced.
  case string(String)
  /// No value, written by the sender.
  case null
  /// No value, never set by the sender.
  case undefined
  /// Milliseconds since 1970 in UTC.
  case date(Double)
  /// Values by name.
  case object(AMFObject)
  /// Values by name, as ActionScript's array with named keys: `onMetaData` has one.
  case ecmaArray(AMFObject)
  /// Values by position.
  case array([AMFValue])

  /// The number; nil for other types.
  package var number: Double? {
    if case .number(let value) = self { value } else { nil }
  }

  /// The text; nil for other types.
  package var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The truth value; nil for other types.
  package var boolean: Bool? {
    if case .boolean(let value) = self { value } else { nil }
  }

  /// The values by name of an object or ECMA array; nil for other types.
  package var object: AMFObject? {
    switch self {
    case .object(let value), .ecmaArray(let value): value
    default: nil
    }
  }
}

/// Values by name, in the order in which they were written.
package struct AMFObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  /// A name and its value.
  package struct Property: Hashable, Sendable {
    /// The name; at most 65,535 bytes of UTF-8 are serialized.
    package var name: String
    /// The value, of any type, objects among them.
    package var value: AMFValue

    /// Creates a property of an object; one with an empty name is not serialized.
    package init(name: String, value: AMFValue) {
      self.name = name
      self.value = value
    }
  }

  /// The properties in the order of the encoding; a name may occur more than once.
  package var properties: [Property]

  /// Creates an object; its properties keep their order.
  package init(_ properties: [Property] = []) {
    self.properties = properties
  }

  /// Creates an object of names and values, in their order.
  package init(dictionaryLiteral elements: (String, AMFValue)...) {
    self.properties = elements.map { Property(name: $0.0, value: $0.1) }
  }

  /// The first value with the name; nil without one.
  package subscript(name: String) -> AMFValue? {
    self.properties.first { $0.name == name }?.value
  }
}

/// Limits of parsed AMF values.
package struct AMFLimits: Hashable, Sendable {
  /// Maximum number of objects and arrays around a value; 16 by default, `connect` has 2.
  package var depth = 16
  /// Maximum number of values in all, keys not counted; 4096 by default.
  package var values = 4096

  /// Limits of a message's values: 16 levels and 4096 values.
  package static let message = AMFLimits()

  /// Limits of 16 levels and 4096 values.
  package init() {}
}
