internal import Media

/// Members of settings; absent and null ones are nil.
extension JSONMembers where Failure == VidiconError {
  /// Checks that settings, or a part of them, are an object without unknown keys.
  ///
  /// The rule of a value is the next step in the error of another one, such as "give true or false".
  ///
  /// - Parameter path: Name of the object; empty for the root.
  init(_ json: JSONValue, _ path: String = "", keys: Key.Type = Key.self) throws(VidiconError) {
    try self.init(json, keys: keys) { mistake in
      func place(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
      switch mistake {
      case .notAnObject:
        return .invalidEffectSetting(path, "not a JSON object", "give one")
      case .unknownKey(let key, let known):
        return .invalidEffectSetting(
          place(String(key.prefix(40))), "there is no such key", "the keys are \(known.joined(separator: ", "))")
      case .value(let key, let rule):
        return .invalidEffectSetting(place(key), "the value is not valid", rule)
      }
    }
  }

  /// One of several names.
  func name<Name: RawRepresentable<String> & CaseIterable>(
    _ key: Key, of type: Name.Type
  ) throws(VidiconError) -> Name? {
    let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
    return try self.optionalValue(key, "give one of \(names)") { $0.text.flatMap(Name.init) }
  }

  /// A number of a range.
  func number(_ key: Key, in range: ClosedRange<Double>) throws(VidiconError) -> Double? {
    try self.optionalValue(key, "give a number from \(Self.text(range))") { json in
      json.double.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// A boolean.
  func boolean(_ key: Key) throws(VidiconError) -> Bool? {
    try self.optionalValue(key, "give true or false", as: \.boolean)
  }

  /// Two numbers, which must be there: fractions of a width and a height. They may exceed 0 to 1, since eyes may be outside a mask's
  /// image.
  func point(_ key: Key, in range: ClosedRange<Double>) throws(VidiconError) -> SIMD2<Float> {
    try self.requiredValue(key, "give two numbers from \(Self.text(range))") { json in
      let numbers = json.array?.map(\.double)
      guard let numbers, numbers.count == 2, let x = numbers[0], let y = numbers[1], range.contains(x),
        range.contains(y)
      else { return nil }
      return SIMD2(Float(x), Float(y))
    }
  }

  /// A value of any kind, to be read as an object.
  func object(_ key: Key) throws(VidiconError) -> JSONValue? {
    try self.optionalValue(key, "") { $0 }
  }

  private static func text(_ range: ClosedRange<Double>) -> String {
    func text(_ number: Double) -> String { number == number.rounded() ? "\(Int(number))" : "\(number)" }
    return "\(text(range.lowerBound)) to \(text(range.upperBound))"
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
