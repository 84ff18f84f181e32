package import Media
package import NIOCore

/// Reads values of AMF 3 ("Action Message Format -- AMF 3", Adobe 2013), which some clients use although the server
/// announces AMF 0.
///
/// Strings, objects and traits that repeat are references into tables. A reference to an object is resolved to its value,
/// which counts as often as it is used, so that a short message cannot describe a huge value; one to an object that is not
/// complete yet is refused. XML is a string, a byte array is undefined; vectors, dictionaries and externalizable objects
/// are refused.
package struct AMF3Reader: Sendable {
  /// The class of an object: its sealed members, and whether others follow.
  private struct Traits {
    var names: [String]
    var isDynamic: Bool
  }

  private var bytes: ByteBuffer
  private let total: Int
  private let firstOffset: Int
  private let maximumDepth: Int
  private let firstDepth: Int
  private(set) var remainingValues: Int
  private var strings: [String] = []
  /// Complete objects with the number of values in them; nil while they are read.
  private var objects: [(value: AMFValue, count: Int)?] = []
  private var traits: [Traits] = []

  /// A reader of bytes behind the AMF 0 marker 0x11.
  package init(_ bytes: ByteBuffer, limits: AMFLimits = AMFLimits()) {
    self.init(bytes, offset: 0, depth: 0, maximumDepth: limits.depth, remainingValues: limits.values)
  }

  /// A reader within a value of AMF 0.
  init(_ bytes: ByteBuffer, offset: Int, depth: Int, maximumDepth: Int, remainingValues: Int) {
    self.bytes = bytes
    self.total = bytes.readableBytes
    self.firstOffset = offset
    self.firstDepth = depth
    self.maximumDepth = maximumDepth
    self.remainingValues = remainingValues
  }

  /// The bytes that were not read yet.
  package var unread: ByteBuffer { self.bytes }

  /// Reads the next value.
  ///
  /// - Throws: `.truncated`; `.unsupported` for types without a use in RTMP; `.invalid` for a reference to nothing or to
  ///   an object around it; `.tooLarge` beyond the limits.
  package mutating func next() throws(ParsingError) -> AMFValue {
    try self.value(depth: self.firstDepth)
  }

  private var offset: Int { self.firstOffset + self.total - self.bytes.readableBytes }

  private mutating func value(depth: Int) throws(ParsingError) -> AMFValue {
    let start = self.offset
    guard depth <= self.maximumDepth else { throw ParsingError(.tooLarge, field: "AMF3 depth", offset: start) }
    try self.count(1, at: start)
    switch AMF3Marker(rawValue: try self.byte("AMF3 marker")) {
    case .undefined: return .undefined
    case .null: return .null
    case .false: return .boolean(false)
    case .true: return .boolean(true)
    case .integer:
      // 29 bits, two's complement.
      let number = Int32(bitPattern: try self.unsigned29() << 3) >> 3
      return .number(Double(number))
    case .double: return .number(try self.double())
    case .string: return .string(try self.string())
    case .xmlDocument, .xml:
      return try self.referable { reader, length throws(ParsingError) in .string(try reader.text(length)) }
    case .date:
      return try self.referable { reader, _ throws(ParsingError) in .date(try reader.double()) }
    case .byteArray:
      return try self.referable { reader, length throws(ParsingError) in
        _ = try reader.text(length)
        return .undefined
      }
    case .array:
      return try self.referable { reader, count throws(ParsingError) in try reader.array(count, depth: depth) }
    case .object:
      return try self.referable { reader, header throws(ParsingError) in try reader.object(header, depth: depth) }
    case nil: throw ParsingError(.unsupported, field: "AMF3 marker", offset: start)
    }
  }

  /// Subtracts values from the number that may still be read.
  private mutating func count(_ values: Int, at offset: Int) throws(ParsingError) {
    guard self.remainingValues >= values else {
      throw ParsingError(.tooLarge, field: "AMF3 value count", offset: offset)
    }
    self.remainingValues -= values
  }

  /// A value of a type whose header is a reference (lowest bit 0) or inline; `read` gets the rest of an inline header.
  private mutating func referable(
    _ read: (inout AMF3Reader, UInt32) throws(ParsingError) -> AMFValue
  ) throws(ParsingError) -> AMFValue {
    let start = self.offset
    let header = try self.unsigned29()
    guard header & 1 != 0 else {
      let index = Int(header >> 1)
      guard index < self.objects.count, let known = self.objects[index] else {
        throw ParsingError(.invalid, field: "object reference", offset: start)
      }
      try self.count(known.count, at: start)
      return known.value
    }
    let index = self.objects.count
    self.objects.append(nil)
    let before = self.remainingValues
    let value = try read(&self, header >> 1)
    self.objects[index] = (value, before - self.remainingValues)
    return value
  }

  /// Named values up to an empty name, then `count` values by position.
  private mutating func array(_ count: UInt32, depth: Int) throws(ParsingError) -> AMFValue {
    let named = try self.dynamicMembers(depth: depth)
    guard count <= self.bytes.readableBytes else {
      throw ParsingError(.truncated, field: "array", offset: self.offset)
    }
    var values: [AMFValue] = []
    for _ in 0..<count { values.append(try self.value(depth: depth + 1)) }
    guard !named.isEmpty else { return .array(values) }
    return .ecmaArray(
      AMFObject(named + values.enumerated().map { .init(name: "\($0.offset)", value: $0.element) }))
  }

  /// - Parameter header: The header without its lowest bit: a reference to traits, or traits inline.
  private mutating func object(_ header: UInt32, depth: Int) throws(ParsingError) -> AMFValue {
    let start = self.offset
    let traits: Traits
    if header & 1 == 0 {
      guard Int(header >> 1) < self.traits.count else {
        throw ParsingError(.invalid, field: "traits reference", offset: start)
      }
      traits = self.traits[Int(header >> 1)]
    } else {
      guard header & 0b10 == 0 else { throw ParsingError(.unsupported, field: "externalizable object", offset: start) }
      _ = try self.string()  // The class name.
      let count = Int(header >> 3)
      guard count <= self.bytes.readableBytes else { throw ParsingError(.truncated, field: "traits", offset: start) }
      try self.count(count, at: start)
      var names: [String] = []
      for _ in 0..<count { names.append(try self.string()) }
      traits = Traits(names: names, isDynamic: header & 0b100 != 0)
      self.traits.append(traits)
    }
    var object = AMFObject()
    for name in traits.names { object.properties.append(.init(name: name, value: try self.value(depth: depth + 1))) }
    if traits.isDynamic { object.properties += try self.dynamicMembers(depth: depth) }
    return .object(object)
  }

  /// Names and values up to an empty name.
  private mutating func dynamicMembers(depth: Int) throws(ParsingError) -> [AMFObject.Property] {
    var members: [AMFObject.Property] = []
    while true {
      let name = try self.string()
      if name.isEmpty { return members }
      members.append(.init(name: name, value: try self.value(depth: depth + 1)))
    }
  }

  /// `UTF-8-vr`: a length and text, or a reference to earlier text; empty text has no reference.
  private mutating func string() throws(ParsingError) -> String {
    let start = self.offset
    let header = try self.unsigned29()
    guard header & 1 != 0 else {
      guard Int(header >> 1) < self.strings.count else {
        throw ParsingError(.invalid, field: "string reference", offset: start)
      }
      return self.strings[Int(header >> 1)]
    }
    let text = try self.text(header >> 1)
    if !text.isEmpty { self.strings.append(text) }
    return text
  }

  private mutating func text(_ length: UInt32) throws(ParsingError) -> String {
    guard let text = self.bytes.readSlice(length: Int(length)) else {
      throw ParsingError(.truncated, field: "string", offset: self.offset)
    }
    return String(decoding: text.readableBytesView, as: UTF8.self)
  }

  private mutating func double() throws(ParsingError) -> Double {
    guard let bits = self.bytes.readInteger(as: UInt64.self) else {
      throw ParsingError(.truncated, field: "double", offset: self.offset)
    }
    return Double(bitPattern: bits)
  }

  private mutating func byte(_ field: String) throws(ParsingError) -> UInt8 {
    guard let byte = self.bytes.readInteger(as: UInt8.self) else {
      throw ParsingError(.truncated, field: field, offset: self.offset)
    }
    return byte
  }

  /// `U29`, §1.3.1: one to four bytes with 7, 7, 7 and 8 bits.
  private mutating func unsigned29() throws(ParsingError) -> UInt32 {
    var number: UInt32 = 0
    for _ in 0..<3 {
      let byte = try self.byte("U29")
      number = number << 7 | UInt32(byte & 0x7F)
      if byte & 0x80 == 0 { return number }
    }
    return number << 8 | UInt32(try self.byte("U29"))
  }
}

/// Type markers of AMF 3, §3.1, that are read.
private enum AMF3Marker: UInt8 {
  case undefined = 0x00
  case null = 0x01
  case `false` = 0x02
  case `true` = 0x03
  case integer = 0x04
  case double = 0x05
  case string = 0x06
  case xmlDocument = 0x07
  case date = 0x08
  case array = 0x09
  case object = 0x0a
  case xml = 0x0b
  case byteArray = 0x0c
}
