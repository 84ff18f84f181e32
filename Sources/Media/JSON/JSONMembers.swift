/// Mistake in a JSON object whose keys are known.
package enum JSONMistake: Hashable, Sendable {
  /// The value is no object.
  case notAnObject
  /// The object has another key.
  case unknownKey(String, known: [String])
  /// The value of a key is another one than the rule says.
  case value(key: String, rule: String)
}

/// Members of a JSON object whose keys are known, such as the body of a request, and the settings of effects.
///
/// Of several mistakes always the same one is reported: of unknown keys the one that sorts first, then values in the order in which
/// they are read. Each room has errors of its own, which it makes of a ``JSONMistake``.
package struct JSONMembers<Key: RawRepresentable<String> & CaseIterable & Hashable, Failure: Error> {
  private var values: [Key: JSONValue] = [:]
  private let failure: (JSONMistake) -> Failure

  /// Checks that a value is an object without unknown keys.
  ///
  /// - Parameter failure: Makes the error of a mistake.
  package init(
    _ json: JSONValue, keys: Key.Type = Key.self, failure: @escaping (JSONMistake) -> Failure
  ) throws(Failure) {
    guard case .object(let members) = json else { throw failure(.notAnObject) }
    self.failure = failure
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let key = Key(rawValue: name) else {
        throw failure(.unknownKey(name, known: Key.allCases.map(\.rawValue)))
      }
      self.values[key] = value
    }
  }

  /// Number of members.
  package var count: Int { self.values.count }

  /// Converts the value of a key.
  ///
  /// - Parameters:
  ///   - rule: What the value must be, for the error of another one.
  ///   - convert: Returns nil for a value that is not allowed. Null is a value.
  /// - Returns: nil where the object has no such key.
  package func value<Value>(
    _ key: Key, _ rule: String, as convert: (JSONValue) -> Value?
  ) throws(Failure) -> Value? {
    guard let json = self.values[key] else { return nil }
    guard let value = convert(json) else { throw self.failure(.value(key: key.rawValue, rule: rule)) }
    return value
  }

  /// Converts the value of a key that must be there.
  package func requiredValue<Value>(
    _ key: Key, _ rule: String, as convert: (JSONValue) -> Value?
  ) throws(Failure) -> Value {
    guard let value = try self.value(key, rule, as: convert) else {
      throw self.failure(.value(key: key.rawValue, rule: rule))
    }
    return value
  }

  /// Converts the value of a key for which null stands for no value.
  ///
  /// - Returns: nil where the object has no such key, and for null.
  package func optionalValue<Value>(
    _ key: Key, _ rule: String, as convert: (JSONValue) -> Value?
  ) throws(Failure) -> Value? {
    self.values[key] == .null ? nil : try self.value(key, rule, as: convert)
  }
}
