internal import Authentication

/// Members of a JSON object whose keys are known, as the body of a request has them.
///
/// Of several mistakes always the same one is reported: of unknown keys the one that sorts first, then values in the order in which
/// they are read.
struct JSONMembers<Key: RawRepresentable<String> & CaseIterable & Hashable> {
  private var values: [Key: JSONValue] = [:]
  private let secretsReason: String?

  /// Checks that a value is an object without unknown keys.
  ///
  /// - Parameters:
  ///   - form: Form of the body, for the error of a value that is no object.
  ///   - secretsReason: Reason of all other errors, for objects that have secrets, which may stand at the place of a key; nil for
  ///     reasons that name the key.
  init(
    _ json: JSONValue, keys: Key.Type = Key.self, form: String, secretsReason: String? = nil
  ) throws(HTTPRefusal) {
    guard case .object(let members) = json else { throw HTTPRefusal("the body is \(form)") }
    self.secretsReason = secretsReason
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let key = Key(rawValue: name) else {
        let known = Key.allCases.map(\.rawValue).joined(separator: ", ")
        throw HTTPRefusal(secretsReason ?? "\(HTTPRefusal.quoted(name)) is not a key; the keys are \(known)")
      }
      self.values[key] = value
    }
  }

  /// Number of members.
  var count: Int { self.values.count }

  /// Converts the value of a key.
  ///
  /// - Parameters:
  ///   - rule: What follows the key in the error of a value that is another one, such as "is true or false".
  ///   - convert: Returns nil for a value that is not allowed. Null is a value.
  /// - Returns: nil where the object has no such key.
  func value<Value>(
    _ key: Key, _ rule: String, as convert: (JSONValue) -> Value?
  ) throws(HTTPRefusal) -> Value? {
    guard let json = self.values[key] else { return nil }
    guard let value = convert(json) else {
      throw HTTPRefusal(self.secretsReason ?? "\"\(key.rawValue)\" \(rule)")
    }
    return value
  }

  /// Reads a text without control characters; nil where the object has no such key.
  func line(_ key: Key, _ rule: String) throws(HTTPRefusal) -> String? {
    let text = try self.value(key, rule, as: \.text)
    guard text?.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) != true else {
      throw HTTPRefusal(self.secretsReason ?? "\"\(key.rawValue)\" contains a control character")
    }
    return text
  }
}

extension JSONValue {
  /// The value of a boolean; nil for other values.
  var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  /// The value of a number without a fraction; nil for other values.
  var integer: Int? { if case .integer(let value) = self { value } else { nil } }
  /// The value of a string; nil for other values.
  var text: String? { if case .string(let value) = self { value } else { nil } }
  /// The elements of an array; nil for other values.
  var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
}

extension HTTPRefusal {
  /// A key as the client wrote it, at most 40 characters, escaped for a line of text.
  static func quoted(_ key: String) -> String {
    let start = key.count > 40 ? key.prefix(40) + "…" : key[...]
    return String(start).debugDescription
  }
}
