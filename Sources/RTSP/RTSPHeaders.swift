internal import Authentication

/// The header lines of a message in their order, RFC 2326 §12. Names are compared without regard to case.
public struct RTSPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  /// One header line.
  public struct Field: Hashable, Sendable {
    /// The name as it was written.
    public let name: String
    /// The value without surrounding white space and without line breaks.
    public fileprivate(set) var value: String
  }

  /// All lines in their order.
  public private(set) var fields: [Field] = []

  /// No headers.
  public init() {}

  /// Headers in the order given.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { self.append(name, value) }
  }

  /// The value of the first line of a name; setting replaces all lines of it, nil removes them.
  public subscript(_ name: String) -> String? {
    get { self.fields.first { $0.name.equalsIgnoringCase(name) }?.value }
    set {
      self.fields.removeAll { $0.name.equalsIgnoringCase(name) }
      if let newValue { self.append(name, newValue) }
    }
  }

  /// The values of all lines of a name, in their order.
  public func values(of name: String) -> [String] {
    self.fields.lazy.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
  }

  /// The values of all lines of a name as one comma-separated list, RFC 2616 §4.2; nil when there is none.
  public func list(of name: String) -> String? {
    let values = self.values(of: name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// Adds a line. Control characters in a name or value become spaces, so that no value can start a line of its own.
  public mutating func append(_ name: String, _ value: String) {
    self.fields.append(Field(name: name.withoutControls(), value: value.withoutControls().trimmingSpace()))
  }

  /// Continues the last line, RFC 2616 §2.2: a line break and white space count as one space.
  mutating func continueLast(with text: String) {
    guard !self.fields.isEmpty, !text.isEmpty else { return }
    let last = self.fields.count - 1
    if !self.fields[last].value.isEmpty { self.fields[last].value += " " }
    self.fields[last].value += text
  }
}
