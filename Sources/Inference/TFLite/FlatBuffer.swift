internal import Media

/// Bytes in the FlatBuffers format, read where they lie. All numbers are little-endian.
///
/// A table begins with the signed distance back to its vtable: 16 bits of the vtable's length, 16 of the table's, then
/// for each field 16 bits with its place in the table, 0 for an absent one. Strings, vectors and tables are referred to
/// by their distance from the reference; a vector begins with its count.
///
/// Each access is checked, so that any bytes can be read; only requested values are copied.
struct FlatBuffer {
  let bytes: [UInt8]

  /// A number at a place.
  func load<T: FixedWidthInteger>(_ type: T.Type, at place: Int, _ field: String) throws(ParsingError) -> T {
    let size = T.bitWidth / 8
    guard place >= 0, place <= self.bytes.count - size else {
      throw ParsingError(.truncated, field: field, offset: place)
    }
    return self.bytes.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: T.self)) }
  }

  /// The table that the reference at a place leads to.
  func table(at place: Int, _ field: String) throws(ParsingError) -> Table {
    // No overflow: the place is one in the bytes, the distance has 32 bits.
    let start = place + Int(try self.load(UInt32.self, at: place, field))
    let vtable = start - Int(try self.load(Int32.self, at: start, field))
    let length = Int(try self.load(UInt16.self, at: vtable, field))
    return Table(buffer: self, start: start, vtable: vtable, fieldCount: max(0, length - 4) / 2)
  }

  /// A table: its fields are numbered as in the schema.
  struct Table {
    let buffer: FlatBuffer
    let start: Int
    let vtable: Int
    let fieldCount: Int

    /// Where a field lies; nil if it is absent and has its default.
    func place(_ index: Int, _ field: String) throws(ParsingError) -> Int? {
      guard index < self.fieldCount else { return nil }
      let distance = try self.buffer.load(UInt16.self, at: self.vtable + 4 + 2 * index, field)
      return distance == 0 ? nil : self.start + Int(distance)
    }

    /// A number, or its default.
    func number<T: FixedWidthInteger>(
      _ index: Int, _ field: String, default absent: T
    ) throws(ParsingError) -> T {
      guard let place = try self.place(index, field) else { return absent }
      return try self.buffer.load(T.self, at: place, field)
    }

    /// A table, if there is one.
    func table(_ index: Int, _ field: String) throws(ParsingError) -> Table? {
      guard let place = try self.place(index, field) else { return nil }
      return try self.buffer.table(at: place, field)
    }

    /// A vector of so many bytes each, if there is one; it lies within the bytes.
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

    /// Tables, at most so many.
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

    /// Signed numbers, at most so many.
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

    /// A text; what is not UTF-8 in it is repaired. Empty if there is none.
    func text(_ index: Int, _ field: String, maximum: Int) throws(ParsingError) -> String {
      guard let vector = try self.vector(index, field, elementSize: 1) else { return "" }
      try vector.check(maximum: maximum)
      return String(decoding: self.buffer.bytes[vector.start..<vector.start + vector.count], as: UTF8.self)
    }
  }

  /// Where a vector's elements lie.
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
