import Foundation

/// The output of a process that a test has started.
struct OutputLines {
  let text: String
  let lines: [String]

  /// Marks the start of the output; the test library removes it only from processes that return from the test's body.
  private static let mark: [UInt8] = [
    0x39, 0x74, 0x87, 0x6D, 0x96, 0xDD, 0xF6, 0x17, 0x7F, 0x05, 0x61, 0x5D, 0x46, 0xEB, 0x37, 0x0C, 0x90, 0x07, 0xCA,
    0xE5,
    0xED, 0x0B, 0xC4, 0xC4, 0x46, 0x36, 0xC5, 0xB8, 0x9C, 0xC7, 0x86, 0x57,
  ]

  init(_ bytes: [UInt8]) {
    self.text = String(
      decoding: bytes.starts(with: Self.mark) ? bytes.dropFirst(Self.mark.count) : bytes[...], as: UTF8.self)
    self.lines = self.text.split(separator: "\n").map(String.init)
  }

  /// The lines that the program writes to standard error; those of the test library are left out.
  var own: [String] { self.lines.filter { $0.hasPrefix("vidicon: ") } }
}

/// A value of JSON, to compare objects with literals.
enum JSONValue: Hashable, Sendable {
  case text(String)
  case number(Double)
  case boolean(Bool)
  case list([JSONValue])
  case object([String: JSONValue])
}

extension JSONValue: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .list(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  init(stringLiteral value: String) { self = .text(value) }
  init(integerLiteral value: Int) { self = .number(Double(value)) }
  init(floatLiteral value: Double) { self = .number(value) }
  init(booleanLiteral value: Bool) { self = .boolean(value) }
  init(arrayLiteral elements: JSONValue...) { self = .list(elements) }
  init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(uniqueKeysWithValues: elements))
  }
}
