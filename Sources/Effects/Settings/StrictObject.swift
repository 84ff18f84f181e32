internal import Media

/// Decodes an object with known keys, and names the invalid key in errors.
struct StrictObject {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private let container: KeyedDecodingContainer<Key>
  /// Prefix of the keys in messages.
  private let path: String

  /// Opens the object at a decoder's position.
  ///
  /// - Parameters:
  ///   - path: Name of the object; empty for the root.
  ///   - keys: The allowed keys.
  init(_ decoder: any Decoder, _ path: String = "", keys: [String]) throws {
    guard let container = try? decoder.container(keyedBy: Key.self) else {
      throw VidiconError.invalidEffectSetting(path, "not a JSON object", "give one")
    }
    (self.container, self.path) = (container, path)
    if let unknown = container.allKeys.map(\.stringValue).filter({ !keys.contains($0) }).min() {
      throw self.error(
        String(unknown.prefix(40)), cause: "there is no such key", "the keys are \(keys.joined(separator: ", "))")
    }
  }

  /// Whether a key has a value that is not null.
  private func has(_ key: String) -> Bool {
    // A value whose nullness cannot be determined counts as present.
    self.container.contains(Key(stringValue: key))
      && (try? self.container.decodeNil(forKey: Key(stringValue: key))) != true
  }

  private func error(_ key: String, cause: String = "the value is not valid", _ nextStep: String) -> VidiconError {
    .invalidEffectSetting(self.path.isEmpty ? key : "\(self.path).\(key)", cause, nextStep)
  }

  /// One of several names; nil when absent or null.
  func name<Name: RawRepresentable<String> & CaseIterable>(_ key: String, of type: Name.Type) throws -> Name? {
    guard self.has(key) else { return nil }
    let text = try? self.container.decode(String.self, forKey: Key(stringValue: key))
    guard let name = text.flatMap(Name.init) else {
      throw self.error(key, "give one of \(Name.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return name
  }

  /// A number; nil when absent or null.
  func number(_ key: String, in range: ClosedRange<Double>) throws -> Double? {
    guard self.has(key) else { return nil }
    let value = try? self.container.decode(Double.self, forKey: Key(stringValue: key))
    guard let value, range.contains(value) else {
      throw self.error(key, "give a number from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))")
    }
    return value
  }

  private static func text(_ number: Double) -> String {
    number == number.rounded() ? "\(Int(number))" : "\(number)"
  }

  /// A boolean; nil when absent or null.
  func boolean(_ key: String) throws -> Bool? {
    guard self.has(key) else { return nil }
    guard let value = try? self.container.decode(Bool.self, forKey: Key(stringValue: key)) else {
      throw self.error(key, "give true or false")
    }
    return value
  }

  /// Two numbers: fractions of a width and a height. They may exceed 0 to 1, since eyes may be outside a mask's image.
  func point(_ key: String, in range: ClosedRange<Double>) throws -> SIMD2<Float> {
    let value = try? self.container.decode([Double].self, forKey: Key(stringValue: key))
    guard let value, value.count == 2, value.allSatisfy(range.contains) else {
      throw self.error(
        key, "give two numbers from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))")
    }
    return SIMD2(Float(value[0]), Float(value[1]))
  }

  /// A nested object; nil when absent or null.
  func object<Value>(_ key: String, _ read: (any Decoder, _ path: String) throws -> Value) throws -> Value? {
    guard self.has(key) else { return nil }
    let path = self.path.isEmpty ? key : "\(self.path).\(key)"
    return try read(self.container.superDecoder(forKey: Key(stringValue: key)), path)
  }
}

extension VidiconError {
  /// Error of invalid effect settings or mask anchors.
  ///
  /// - Parameter key: Path of the key, such as `color.brightness`; empty for the whole document.
  static func invalidEffectSetting(_ key: String, _ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: key.isEmpty ? "the settings" : "\"\(key)\"", cause: cause, nextStep: nextStep)
  }
}
