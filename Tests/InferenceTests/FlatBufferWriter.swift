/// Writes FlatBuffers: each table follows its vtable, and referenced values follow the table.
struct FlatBufferWriter {
  /// Value of a field.
  indirect enum Value {
    /// Bytes of a number.
    case number([UInt8])
    /// Fields in the schema's order; nil for an absent one.
    case table([Value?])
    /// Element count and bytes.
    case vector(count: Int, [UInt8])
    case tables([Value])

    static func byte(_ value: Int) -> Value { .number([UInt8(truncatingIfNeeded: value)]) }
    static func int(_ value: Int) -> Value { .number(FlatBufferWriter.bytes(Int32(value))) }
    static func ints(_ values: [Int]) -> Value {
      .vector(count: values.count, values.flatMap { FlatBufferWriter.bytes(Int32($0)) })
    }
    static func text(_ text: String) -> Value { .vector(count: text.utf8.count, Array(text.utf8)) }
  }

  private var bytes: [UInt8] = []

  /// A file: the place of the root table, the identifier, and everything.
  static func write(_ root: Value, identifier: String) -> [UInt8] {
    var writer = FlatBufferWriter()
    writer.bytes = [0, 0, 0, 0] + Array(identifier.utf8)
    writer.refer(from: 0, to: root)
    return writer.bytes
  }

  static func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value.littleEndian, Array.init) }

  private mutating func refer(from place: Int, to value: Value) {
    while self.bytes.count % 4 != 0 { self.bytes.append(0) }
    switch value {
    case .number(let number): self.bytes.replaceSubrange(place..<place + number.count, with: number)
    case .table(let fields):
      let vtable = self.bytes.count
      let length = 4 + 2 * fields.count
      let start = vtable + (length + 3) / 4 * 4
      self.bytes += Self.bytes(UInt16(length)) + Self.bytes(UInt16(4 + 4 * fields.count))
      for (index, field) in fields.enumerated() { self.bytes += Self.bytes(UInt16(field == nil ? 0 : 4 + 4 * index)) }
      self.bytes += [UInt8](repeating: 0, count: start - self.bytes.count)
      self.bytes += Self.bytes(Int32(start - vtable)) + [UInt8](repeating: 0, count: 4 * fields.count)
      self.patch(place, start)
      for (index, field) in fields.enumerated() {
        if let field { self.refer(from: start + 4 + 4 * index, to: field) }
      }
    case .vector(let count, let content):
      self.patch(place, self.bytes.count)
      self.bytes += Self.bytes(UInt32(count)) + content
    case .tables(let tables):
      let start = self.bytes.count
      self.patch(place, start)
      self.bytes += Self.bytes(UInt32(tables.count)) + [UInt8](repeating: 0, count: 4 * tables.count)
      for (index, table) in tables.enumerated() { self.refer(from: start + 4 + 4 * index, to: table) }
    }
  }

  private mutating func patch(_ place: Int, _ target: Int) {
    self.bytes.replaceSubrange(place..<place + 4, with: Self.bytes(UInt32(target - place)))
  }
}
