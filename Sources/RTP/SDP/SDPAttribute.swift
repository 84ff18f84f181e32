/// An attribute line, `a=name` or `a=name:value`, RFC 8866 §5.13.
public struct SDPAttribute: Hashable, Sendable {
  /// The name before the colon, such as "control".
  public var name: String
  /// The value behind the colon; nil without a colon.
  public var value: String?

  /// An attribute with an optional value.
  public init(_ name: String, _ value: String? = nil) {
    self.name = name
    self.value = value
  }

  /// Parses the value of `a=`; any text is an attribute.
  package init(parsing text: Substring) {
    if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
      self.init(String(text[..<colon]), String(text[text.utf8.index(after: colon)...]).trimmed)
    } else {
      self.init(String(text))
    }
  }
}

extension [SDPAttribute] {
  /// The value of the first attribute with a name; nil when it is absent or has no value.
  public func value(of name: String) -> String? {
    self.first { $0.name == name }?.value
  }

  /// The direction of the media; nil without a direction attribute.
  public var direction: SDPDirection? {
    self.lazy.compactMap { SDPDirection(rawValue: $0.name) }.first
  }
}

/// The direction of the media, as seen by the author of the description, RFC 8866 §6.7.
public enum SDPDirection: String, Hashable, Sendable {
  /// The author sends.
  case sendOnly = "sendonly"
  /// The author receives.
  case receiveOnly = "recvonly"
  /// The author sends and receives.
  case sendReceive = "sendrecv"
  /// The author neither sends nor receives.
  case inactive
}
