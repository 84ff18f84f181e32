/// The parameters of a format: `name=value;name=value` of `a=fmtp`, RFC 8866 §6.15.
public struct SDPFormatParameters: Hashable, Sendable {
  /// A parameter `NAME=VALUE` of an `fmtp` attribute.
  public struct Parameter: Hashable, Sendable {
    /// The name; compared case-insensitively, since cameras write "sizeLength" and "sizelength".
    public var name: String
    /// The value; may be empty, and may contain equals signs, as Base64 does.
    public var value: String

    /// Creates a parameter; names are compared case-insensitively.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The parameters, in the order of the text; a name may occur several times.
  public var parameters: [Parameter]

  /// Creates parameters that are serialized in this order.
  public init(_ parameters: [Parameter]) {
    self.parameters = parameters
  }

  /// Parses the value of `a=fmtp` behind the payload type; any text is a list, parts without a name are left out.
  package init(parsing text: String) {
    self.parameters = text.split(separator: ";").compactMap { part in
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = pair[0].trimmed
      return name.isEmpty ? nil : Parameter(name, pair.count > 1 ? pair[1].trimmed : "")
    }
  }

  /// The value of the first parameter with a name, compared case-insensitively; nil when it is absent.
  public subscript(_ name: String) -> String? {
    let name = name.lowercased()
    return self.parameters.first { $0.name.lowercased() == name }?.value
  }

  /// The value of `a=fmtp` behind the payload type.
  public var text: String {
    self.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: ";")
  }
}
