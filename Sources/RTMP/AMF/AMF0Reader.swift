package import Media
package import NIOCore

/// Reads values of AMF 0 ("Action Message Format -- AMF 0", Adobe 2007) one after another.
///
/// | marker | type | contents |
/// |--------|------|----------|
/// | 0x00   | number | 8 bytes, big-endian double |
/// | 0x01   | boolean | 1 byte |
/// | 0x02   | string | 16 bits of length, UTF-8 |
/// | 0x03   | object | names (strings without marker) and values, then an empty name and 0x09 |
/// | 0x05   | null | – |
/// | 0x06   | undefined | – |
/// | 0x07   | reference to an earlier object | 16 bits; read as undefined |
/// | 0x08   | ECMA array | 32 bits of count, which is not relied on, then as an object |
/// | 0x0a   | strict array | 32 bits of count, values |
/// | 0x0b   | date | 8 bytes of milliseconds, 16 bits of time zone, ignored |
/// | 0x0d   | unsupported | –; read as undefined |
/// | 0x0c, 0x0f | long string, XML document | 32 bits of length, UTF-8 |
/// | 0x10   | typed object | class name, then as an object |
/// | 0x11   | AMF 3 value | see ``AMF3Reader`` |
///
/// A value of another type, whose length is not known, ends the message: what comes before it is read, properties of the same
/// object too. Encoders send such values in metadata that nothing depends on.
///
/// Depth and number of values are limited by ``AMFLimits``; the lengths are limited by the bytes that are there.
package struct AMF0Reader: Sendable {
  private let total: Int
  private let maximumDepth: Int
  private var remainingValues: Int
  private var bytes: ByteBuffer
  /// Whether a value could not be read, so that the rest is not either.
  private var isCut = false

  /// A reader of a message's bytes.
  package init(_ bytes: ByteBuffer, limits: AMFLimits = AMFLimits()) {
    self.bytes = bytes
    self.total = bytes.readableBytes
    self.maximumDepth = limits.depth
    self.remainingValues = limits.values
  }

  /// Number of bytes that were not read yet.
  package var unreadByteCount: Int { self.bytes.readableBytes }

  /// Reads the next value.
  ///
  /// - Returns: nil at the end of the bytes, and at a value that is not read: a movie clip, a record set, one of an unknown type.
  /// - Throws: `.truncated`; `.tooLarge` beyond the limits.
  package mutating func next() throws(ParsingError) -> AMFValue? {
    self.isCut || self.bytes.readableBytes == 0 ? nil : try self.value(depth: 0)
  }

  /// Reads all values up to the end.
  ///
  /// - Throws: As ``next()``.
  package static func values(parsing data: ByteBuffer, limits: AMFLimits = .message) throws(ParsingError) -> [AMFValue]
  {
    var reader = AMF0Reader(data, limits: limits)
    var values: [AMFValue] = []
    while let value = try reader.next() { values.append(value) }
    return values
  }

  private var offset: Int { self.total - self.bytes.readableBytes }

  /// - Returns: nil where no more is read.
  private mutating func value(depth: Int) throws(ParsingError) -> AMFValue? {
    let start = self.offset
    guard depth <= self.maximumDepth else { throw ParsingError(.tooLarge, field: "AMF0 depth", offset: start) }
    guard self.remainingValues > 0 else { throw ParsingError(.tooLarge, field: "AMF0 value count", offset: start) }
    self.remainingValues -= 1
    let marker = try self.integer(UInt8.self, "AMF0 marker")
    switch AMF0Marker(rawValue: marker) {
    case .number: return .number(try self.double())
    case .boolean: return .boolean(try self.integer(UInt8.self, "boolean") != 0)
    case .string: return .string(try self.text(UInt16.self))
    case .longString, .xmlDocument: return .string(try self.text(UInt32.self))
    case .null: return .null
    case .undefined, .unsupported: return .undefined
    case .reference:
      _ = try self.integer(UInt16.self, "reference")
      return .undefined
    case .object: return .object(try self.properties(depth: depth))
    case .typedObject:
      _ = try self.text(UInt16.self)
      return .object(try self.properties(depth: depth))
    case .ecmaArray:
      // Senders write 0 or a wrong number; the end is the marker.
      _ = try self.integer(UInt32.self, "associative-count")
      return .ecmaArray(try self.properties(depth: depth))
    case .strictArray:
      let count = try self.integer(UInt32.self, "array-count")
      guard count <= self.bytes.readableBytes else {
        throw ParsingError(.truncated, field: "array-count", offset: start + 1)
      }
      var values: [AMFValue] = []
      for _ in 0..<count where !self.isCut {
        if let value = try self.value(depth: depth + 1) { values.append(value) }
      }
      return .array(values)
    case .date:
      let milliseconds = try self.double()
      _ = try self.integer(UInt16.self, "time-zone")
      return .date(milliseconds)
    case .avmPlus:
      let offset = self.offset
      var reader = AMF3Reader(
        self.bytes, offset: offset, depth: depth, maximumDepth: self.maximumDepth,
        remainingValues: self.remainingValues)
      do throws(ParsingError) {
        let value = try reader.next()
        self.remainingValues = reader.remainingValues
        self.bytes = reader.unread
        return value
      } catch {
        guard error.code == .unsupported else { throw error }
        self.isCut = true
        return nil
      }
    case .objectEnd, nil:
      self.isCut = true
      return nil
    }
  }

  private mutating func properties(depth: Int) throws(ParsingError) -> AMFObject {
    var object = AMFObject()
    while !self.isCut {
      let name = try self.text(UInt16.self)
      if name.isEmpty, self.peek() == AMF0Marker.objectEnd.rawValue {
        self.bytes.moveReaderIndex(forwardBy: 1)
        return object
      }
      if let value = try self.value(depth: depth + 1) { object.properties.append(.init(name: name, value: value)) }
    }
    return object
  }

  private func peek() -> UInt8? {
    self.bytes.getInteger(at: self.bytes.readerIndex)
  }

  private mutating func double() throws(ParsingError) -> Double {
    Double(bitPattern: try self.integer(UInt64.self, "double"))
  }

  private mutating func text<Length: FixedWidthInteger>(_: Length.Type) throws(ParsingError) -> String {
    let start = self.offset
    let length = try self.integer(Length.self, "string length")
    guard length <= self.bytes.readableBytes, let text = self.bytes.readSlice(length: Int(length)) else {
      throw ParsingError(.truncated, field: "string", offset: start)
    }
    return String(decoding: text.readableBytesView, as: UTF8.self)
  }

  private mutating func integer<Number: FixedWidthInteger>(
    _: Number.Type, _ field: String
  ) throws(ParsingError) -> Number {
    guard let number = self.bytes.readInteger(as: Number.self) else {
      throw ParsingError(.truncated, field: field, offset: self.offset)
    }
    return number
  }
}

/// Type markers of AMF 0, §2.1.
enum AMF0Marker: UInt8 {
  case number = 0x00
  case boolean = 0x01
  case string = 0x02
  case object = 0x03
  case null = 0x05
  case undefined = 0x06
  case reference = 0x07
  case ecmaArray = 0x08
  case objectEnd = 0x09
  case strictArray = 0x0a
  case date = 0x0b
  case longString = 0x0c
  case unsupported = 0x0d
  case xmlDocument = 0x0f
  case typedObject = 0x10
  case avmPlus = 0x11
}
