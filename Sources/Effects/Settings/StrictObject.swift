internal import Media

/// An object whose keys are all known: reads values of one kind each, and says which one is wrong.
struct StrictObject {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private let container: KeyedDecodingContainer<Key>
  /// What stands before the keys in messages.
  private let path: String

  /// The object that a decoder is at.
  ///
  /// - Parameters:
  ///   - path: What the object is called; empty for all of it.
  ///   - keys: Those that it may have.
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

  /// Whether there is a value that is not null.
  private func has(_ key: String) -> Bool {
    // What cannot be looked at is there, and no null.
    self.container.contains(Key(stringValue: key))
      && (try? self.container.decodeNil(forKey: Key(stringValue: key))) != true
  }

  private func error(_ key: String, cause: String = "the value is not valid", _ nextStep: String) -> VidiconError {
    .invalidEffectSetting(self.path.isEmpty ? key : "\(self.path).\(key)", cause, nextStep)
  }

  /// One of several names; nil where it is left out or null.
  func name<Name: RawRepresentable<String> & CaseIterable>(_ key: String, of type: Name.Type) throws -> Name? {
    guard self.has(key) else { return nil }
    let text = try? self.container.decode(String.self, forKey: Key(stringValue: key))
    guard let name = text.flatMap(Name.init) else {
      throw self.error(key, "give one of \(Name.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return name
  }

  /// A number; nil where it is left out or null.
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

  /// True or false; nil where it is left out or null.
  func boolean(_ key: String) throws -> Bool? {
    guard self.has(key) else { return nil }
    guard let value = try? self.container.decode(Bool.self, forKey: Key(stringValue: key)) else {
      throw self.error(key, "give true or false")
    }
    return value
  }

  /// Two numbers: shares of a width and a height. They may reach beyond, since eyes may be outside of a mask's image.
  func point(_ key: String, in range: ClosedRange<Double>) throws -> SIMD2<Float> {
    let value = try? self.container.decode([Double].self, forKey: Key(stringValue: key))
    guard let value, value.count == 2, value.allSatisfy(range.contains) else {
      throw self.error(
        key, "give two numbers from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))")
    }
    return SIMD2(Float(value[0]), Float(value[1]))
  }

  /// Another object; nil where it is left out or null.
  func object<Value>(_ key: String, _ read: (any Decoder, _ path: String) throws -> Value) throws -> Value? {
    guard self.has(key) else { return nil }
    let path = self.path.isEmpty ? key : "\(self.path).\(key)"
    return try read(self.container.superDecoder(forKey: Key(stringValue: key)), path)
  }
}

extension VidiconError {
  /// Settings of effects, or mask anchors, that cannot be used.
  ///
  /// - Parameter key: Path of the key, such as `color.brightness`; empty for the whole document.
  static func invalidEffectSetting(_ key: String, _ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: key.isEmpty ? "the settings" : "\"\(key)\"", cause: cause, nextStep: nextStep)
  }
}
