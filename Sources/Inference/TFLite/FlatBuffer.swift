internal import Media

/// Reader of the FlatBuffers format that parses in place. All numbers are little-endian.
///
/// A table begins with the signed distance back to its vtable. The vtable has 16 bits of its length, 16 bits of the
/// table's length, and for each field 16 bits with the field's offset in the table, 0 for an absent field. Strings,
/// vectors and tables are referenced by their distance from the reference; a vector begins with its count.
///
/// Every access is bounds-checked, so that arbitrary bytes can be read; only requested values are copied.
struct FlatBuffer {
  let bytes: [UInt8]

  /// Reads a number at an offset.
  func load<T: FixedWidthInteger>(_ type: T.Type, at place: Int, _ field: String) throws(ParsingError) -> T {
    let size = T.bitWidth / 8
    guard place >= 0, place <= self.bytes.count - size else {
      throw ParsingError(.truncated, field: field, offset: place)
    }
    return self.bytes.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: T.self)) }
  }

  /// Reads the table that the reference at an offset points to.
  func table(at place: Int, _ field: String) throws(ParsingError) -> Table {
    // No overflow: the offset is within the bytes, the distance has 32 bits.
    let start = place + Int(try self.load(UInt32.self, at: place, field))
    let vtable = start - Int(try self.load(Int32.self, at: start, field))
    let length = Int(try self.load(UInt16.self, at: vtable, field))
    return Table(buffer: self, start: start, vtable: vtable, fieldCount: max(0, length - 4) / 2)
  }

  /// A table, whose fields are numbered as in the schema.
  struct Table {
    let buffer: FlatBuffer
    let start: Int
    let vtable: Int
    let fieldCount: Int

    /// Offset of a field; nil when the field is absent, which stands for its default.
    func place(_ index: Int, _ field: String) throws(ParsingError) -> Int? {
      guard index < self.fieldCount else { return nil }
      let distance = try self.buffer.load(UInt16.self, at: self.vtable + 4 + 2 * index, field)
      return distance == 0 ? nil : self.start + Int(distance)
    }

    /// Reads a number; the default when the field is absent.
    func number<T: FixedWidthInteger>(
      _ index: Int, _ field: String, default absent: T
    ) throws(ParsingError) -> T {
      guard let place = try self.place(index, field) else { return absent }
      return try self.buffer.load(T.self, at: place, field)
    }

    /// Reads a reference to a table; nil when the field is absent.
    func table(_ index: Int, _ field: String) throws(ParsingError) -> Table? {
      guard let place = try self.place(index, field) else { return nil }
      return try self.buffer.table(at: place, field)
    }

    /// Reads a reference to a vector, checked to lie within the bytes; nil when the field is absent.
    ///
    /// - Parameter elementSize: Size of an element in bytes, at most 8.
    func vector(_ index: Int, _ field: String, elementSize: Int) throws(ParsingError) -> Vector? {
      guard let reference = try self.place(index, field) else { return nil }
      let place = reference + Int(try self.buffer.load(UInt32.self, at: reference, field))
      let count = Int(try self.buffer.load(UInt32.self, at: place, field))
      // No overflow: 32 bits times at most 8.
      guard count * elementSize <= self.buffer.bytes.count - place - 4 else {
        throw ParsingError(.truncated, field: field, offset: place)
      }
      return Vector(field: field, start: place + 4, count: count)
    }

    /// Reads a vector of tables; empty when the field is absent, an error above `maximum` elements.
    func tables(_ index: Int, _ field: String, maximum: Int) throws(ParsingError) -> [Table] {
      guard let vector = try self.vector(index, field, elementSize: 4) else { return [] }
      try vector.check(maximum: maximum)
      var tables: [Table] = []
      tables.reserveCapacity(vector.count)
      for place in stride(from: vector.start, to: vector.start + 4 * vector.count, by: 4) {
        tables.append(try self.buffer.table(at: place, field))
      }
      return tables
    }

    /// Reads a vector of signed 32-bit numbers; empty when the field is absent, an error above `maximum` elements.
    func integers(_ index: Int, _ field: String, maximum: Int) throws(ParsingError) -> [Int] {
      guard let vector = try self.vector(index, field, elementSize: 4) else { return [] }
      try vector.check(maximum: maximum)
      var integers: [Int] = []
      integers.reserveCapacity(vector.count)
      for place in stride(from: vector.start, to: vector.start + 4 * vector.count, by: 4) {
        integers.append(Int(try self.buffer.load(Int32.self, at: place, field)))
      }
      return integers
    }

    /// Reads a string of at most `maximum` bytes, with invalid UTF-8 replaced; empty when the field is absent.
    func text(_ index: Int, _ field: String, maximum: Int) throws(ParsingError) -> String {
      guard let vector = try self.vector(index, field, elementSize: 1) else { return "" }
      try vector.check(maximum: maximum)
      return String(decoding: self.buffer.bytes[vector.start..<vector.start + vector.count], as: UTF8.self)
    }
  }

  /// Position and count of a vector's elements.
  struct Vector {
    let field: String
    let start: Int
    let count: Int

    func check(maximum: Int) throws(ParsingError) {
      guard self.count <= maximum else {
        throw ParsingError(.tooLarge, field: self.field, offset: self.start - 4)
      }
    }
  }
}
