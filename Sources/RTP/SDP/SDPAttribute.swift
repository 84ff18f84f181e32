/// An attribute line, `a=name` or `a=name:value`, RFC 8866 §5.13.
public struct SDPAttribute: Hashable, Sendable {
  /// What stands before the colon, such as "control".
  public var name: String
  /// What stands behind it; nil when there is no colon.
  public var value: String?

  /// An attribute.
  public init(_ name: String, _ value: String? = nil) {
    self.name = name
    self.value = value
  }

  init(parsing text: Substring) {
    if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
      self.init(String(text[..<colon]), String(text[text.utf8.index(after: colon)...]).trimmed)
    } else {
      self.init(String(text))
    }
  }
}

extension [SDPAttribute] {
  /// The value of the first attribute of a name; nil when there is none, or it has no value.
  public func value(of name: String) -> String? {
    self.first { $0.name == name }?.value
  }

  /// In which direction media flows, where it is told.
  public var direction: SDPDirection? {
    self.lazy.compactMap { SDPDirection(rawValue: $0.name) }.first
  }
}

/// In which direction media flows, seen from who wrote the description, RFC 8866 §6.7.
public enum SDPDirection: String, Hashable, Sendable {
  /// The writer sends.
  case sendOnly = "sendonly"
  /// The writer receives.
  case receiveOnly = "recvonly"
  /// Both.
  case sendReceive = "sendrecv"
  /// None.
  case inactive
}
