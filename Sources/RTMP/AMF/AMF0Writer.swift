package import NIOCore

extension AMFValue {
  /// Appends the value as AMF 0.
  ///
  /// A string of more than 65,535 bytes becomes a long string, a longer name is cut, and a property with an empty name is
  /// left out, since an empty name ends the object.
  package func serialize(into buffer: inout ByteBuffer) {
    switch self {
    case .number(let value):
      Self.write(.number, to: &buffer)
      buffer.writeInteger(value.bitPattern)
    case .boolean(let value):
      Self.write(.boolean, to: &buffer)
      buffer.writeInteger(UInt8(value ? 1 : 0))
    case .string(let value):
      if value.utf8.count <= UInt16.max {
        Self.write(.string, to: &buffer)
        buffer.writeInteger(UInt16(value.utf8.count))
      } else {
        Self.write(.longString, to: &buffer)
        buffer.writeInteger(UInt32(value.utf8.count))
      }
      buffer.writeString(value)
    case .null: Self.write(.null, to: &buffer)
    case .undefined: Self.write(.undefined, to: &buffer)
    case .date(let milliseconds):
      Self.write(.date, to: &buffer)
      buffer.writeInteger(milliseconds.bitPattern)
      buffer.writeInteger(UInt16(0))
    case .object(let object):
      Self.write(.object, to: &buffer)
      object.serialize(into: &buffer)
    case .ecmaArray(let object):
      Self.write(.ecmaArray, to: &buffer)
      buffer.writeInteger(UInt32(clamping: object.properties.count { !$0.name.isEmpty }))
      object.serialize(into: &buffer)
    case .array(let values):
      Self.write(.strictArray, to: &buffer)
      buffer.writeInteger(UInt32(clamping: values.count))
      for value in values { value.serialize(into: &buffer) }
    }
  }

  private static func write(_ marker: AMF0Marker, to buffer: inout ByteBuffer) {
    buffer.writeInteger(marker.rawValue)
  }
}

extension AMFObject {
  /// Names and values, then an empty name and the end marker.
  fileprivate func serialize(into buffer: inout ByteBuffer) {
    for property in self.properties where !property.name.isEmpty {
      let name = property.name.utf8.prefix(Int(UInt16.max))
      buffer.writeInteger(UInt16(name.count))
      buffer.writeBytes(name)
      property.value.serialize(into: &buffer)
    }
    buffer.writeInteger(UInt16(0))
    buffer.writeInteger(AMF0Marker.objectEnd.rawValue)
  }
}

extension AMFValue: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
  ExpressibleByBooleanLiteral
{
  /// Creates a ``number(_:)`` from a literal such as `2.5`.
  package init(floatLiteral value: Double) { self = .number(value) }
  /// Creates a ``number(_:)`` from a literal such as `7`; AMF 0 has no integers.
  package init(integerLiteral value: Int) { self = .number(Double(value)) }
  /// Creates a ``string(_:)`` from a literal.
  package init(stringLiteral value: String) { self = .string(value) }
  /// Creates a ``boolean(_:)`` from `true` or `false`.
  package init(booleanLiteral value: Bool) { self = .boolean(value) }
}
