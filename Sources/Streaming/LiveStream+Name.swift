internal import Media

extension LiveStream {
  /// First path components that a name must not have: the server's own addresses.
  public static let reservedNames: Set<String> = ["_page", "api", "health", "metrics", "recordings"]

  /// Last path components that a name must not have: addresses within a stream.
  public static let reservedEndings: Set<String> = [
    "ca", "low", RenditionName.main, "mjpeg", "publish", "whep", "whip",
  ]

  /// Maximum length of a name in UTF-8 bytes.
  public static let maximumNameLength = 200

  /// The path of the stream in addresses: ``path(ofName:)``.
  public var path: String { Self.path(ofName: self.name) }

  /// A slash and the percent-encoded name, RFC 3986 §2.3; slashes are kept.
  public static func path(ofName name: String) -> String {
    "/" + PercentEncoding.encode(name, keepsSlashes: true)
  }

  /// Reason why a name cannot be part of an address, for a user to read; nil when it can.
  ///
  /// A name is one component or several between single slashes, none of them `.` or `..`, without control characters,
  /// `?`, `#` and `\`.
  public static func problem(withName name: String) -> String? {
    let components = name.split(separator: "/", omittingEmptySubsequences: false)
    if name.isEmpty { return "it is empty" }
    if name.utf8.count > Self.maximumNameLength { return "it has more than \(Self.maximumNameLength) bytes" }
    if components.contains("") { return "a slash is only to stand between two parts" }
    if components.contains(".") || components.contains("..") { return "its parts are not to be . or .." }
    if name.unicodeScalars.contains(where: {
      $0.properties.generalCategory == .control || "?#\\".unicodeScalars.contains($0)
    }) {
      return "it has a character that cannot stand in an address"
    }
    if let first = components.first, Self.reservedNames.contains(first.lowercased()) {
      return "\(first) is an address of the server itself"
    }
    if let last = components.last, Self.reservedEndings.contains(last.lowercased()) {
      return "\(last) is an address within a stream"
    }
    return nil
  }
}
