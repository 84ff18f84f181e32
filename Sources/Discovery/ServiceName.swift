/// The instance name of a service, shown to users: RFC 6763 §4.1.1.
public struct ServiceName: Hashable, Sendable, CustomStringConvertible {
  /// Maximum length in bytes: one DNS label.
  public static let maximumLength = 63

  /// The name, 1 to 63 bytes of UTF-8 without control characters.
  public let text: String

  /// The name of a stream on a machine, such as "hello on myhost"; truncated at a character, the host's part first.
  ///
  /// - Parameters:
  ///   - stream: The stream's name.
  ///   - host: The machine's host name, of which the part before the first dot is used; may be empty.
  public init(stream: String, host: String) {
    let stream = Self.cleaned(stream)
    let host = Self.cleaned(host.prefix { $0 != "." })
    guard !host.isEmpty else {
      self.text = stream.isEmpty ? "camera" : Self.cut(stream, to: Self.maximumLength)
      return
    }
    let separator = stream.isEmpty ? "" : " on "
    // At least half of the length is for the stream's part.
    let room = Self.maximumLength - separator.utf8.count
    let hostPart = Self.cut(host, to: max(room - stream.utf8.count, room / 2))
    self.text = Self.cut(stream, to: room - hostPart.utf8.count) + separator + hostPart
  }

  private init(text: String) {
    self.text = text
  }

  /// The name with a numeric suffix, such as "hello on myhost (2)".
  ///
  /// - Parameter number: The suffix; 1 returns the name unchanged.
  public func numbered(_ number: Int) -> ServiceName {
    guard number > 1 else { return self }
    let suffix = " (\(number))"
    return ServiceName(text: Self.cut(self.text, to: Self.maximumLength - suffix.utf8.count) + suffix)
  }

  /// The instance name as announced, such as "live on myhost".
  public var description: String {
    self.text
  }

  private static func cleaned(_ text: some StringProtocol) -> String {
    var cleaned = String.UnicodeScalarView()
    cleaned.append(contentsOf: text.unicodeScalars.lazy.filter { $0.properties.generalCategory != .control })
    return String(cleaned)
  }

  /// The longest prefix of whole characters with at most `count` bytes.
  private static func cut(_ text: String, to count: Int) -> String {
    guard text.utf8.count > count else { return text }
    var end = text.startIndex
    var room = count
    while end < text.endIndex {
      let next = text.index(after: end)
      room -= text[end..<next].utf8.count
      guard room >= 0 else { break }
      end = next
    }
    return String(text[..<end])
  }
}
