internal import Authentication
internal import HTTPServer
internal import Media

extension JSONMembers where Failure == HTTPRefusal {
  /// Checks that the body of a request, or a part of it, is an object without unknown keys.
  ///
  /// The rule of a value follows the key in the error of another one, such as "is true or false".
  ///
  /// - Parameters:
  ///   - form: Form of the body, for the error of a value that is no object.
  ///   - secretsReason: Reason of all other errors, for objects that have secrets, which may stand at the place of a key; nil for
  ///     reasons that name the key.
  init(
    _ json: JSONValue, keys: Key.Type = Key.self, form: String, secretsReason: String? = nil
  ) throws(HTTPRefusal) {
    try self.init(json, keys: keys) { mistake in
      switch mistake {
      case .notAnObject:
        HTTPRefusal("the body is \(form)")
      case .unknownKey(let key, let known):
        HTTPRefusal(
          secretsReason ?? "\(HTTPRefusal.quoted(key)) is not a key; the keys are \(known.joined(separator: ", "))")
      case .value(let key, let rule):
        HTTPRefusal(secretsReason ?? "\"\(key)\" \(rule)")
      }
    }
  }

  /// Reads a text without control characters; nil where the object has no such key.
  func line(_ key: Key, _ rule: String) throws(HTTPRefusal) -> String? {
    _ = try self.value(key, rule, as: \.text)
    return try self.value(key, "contains a control character") { json in
      json.text.flatMap { text in text.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : text }
    }
  }
}

extension HTTPRefusal {
  /// A key as the client wrote it, at most 40 characters, escaped for a line of text.
  static func quoted(_ key: String) -> String {
    let start = key.count > 40 ? key.prefix(40) + "…" : key[...]
    return String(start).debugDescription
  }
}
