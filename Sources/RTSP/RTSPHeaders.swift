internal import Authentication

/// The header lines of a message in their order, RFC 2326 §12. Names are compared case-insensitively.
package struct RTSPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  /// One header line, its folded lines included.
  package struct Field: Hashable, Sendable {
    /// The name, in the case in which it was written.
    package let name: String
    /// The value without surrounding white space and without line breaks.
    package fileprivate(set) var value: String
  }

  /// All header lines in their order.
  package private(set) var fields: [Field] = []

  /// Creates an empty list of headers.
  package init() {}

  /// Headers in the order of the literal.
  package init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { self.append(name, value) }
  }

  /// The value of the first line with a name; setting a value replaces all lines with that name, nil removes them.
  package subscript(_ name: String) -> String? {
    get { self.fields.first { $0.name.equalsIgnoringCase(name) }?.value }
    set {
      self.fields.removeAll { $0.name.equalsIgnoringCase(name) }
      if let newValue { self.append(name, newValue) }
    }
  }

  /// The values of all lines with a name, in their order.
  package func values(of name: String) -> [String] {
    self.fields.lazy.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
  }

  /// The values of all lines with a name as one comma-separated list, RFC 2616 §4.2; nil without such a line.
  package func list(of name: String) -> String? {
    let values = self.values(of: name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// Appends a line. Control characters in name and value become spaces, so that a value cannot start a new line.
  package mutating func append(_ name: String, _ value: String) {
    self.fields.append(Field(name: name.withoutControls(), value: value.withoutControls().trimmingSpace()))
  }

  /// Appends a folded line to the last line, RFC 2616 §2.2: line break and white space become one space.
  mutating func continueLast(with text: String) {
    guard !self.fields.isEmpty, !text.isEmpty else { return }
    let last = self.fields.count - 1
    if !self.fields[last].value.isEmpty { self.fields[last].value += " " }
    self.fields[last].value += text
  }
}
