public import Media
public import NIOCore

/// A session description, RFC 8866 (SDP).
///
/// | line | field |
/// |------|-------|
/// | `v=` | always 0 |
/// | `o=` | ``origin`` |
/// | `s=` | ``name`` |
/// | `i=` | ``information`` |
/// | `c=` | ``connection`` |
/// | `b=` | ``bandwidths`` |
/// | `t=` | always `0 0`, an unbounded session |
/// | `a=` | ``attributes`` |
/// | `m=` | ``media``, each with its own `i=`, `c=`, `b=`, `a=` |
///
/// Other lines, such as `u=` or `k=`, are ignored.
public struct SessionDescription: Hashable, Sendable {
  /// The six fields of `o=` as one text: originator and session identifier.
  public var origin: String
  /// The session name; serialized as "-" when it is empty.
  public var name: String
  /// The session information (`i=`), RFC 8866 §5.4: a text for users; nil without one.
  public var information: String?
  /// The fields of `c=`, such as "IN IP4 0.0.0.0".
  public var connection: String?
  /// The values of `b=`, such as "AS:2300".
  public var bandwidths: [String] = []
  /// The session-level attributes (`a=`), in their order, RFC 8866 §5.13.
  public var attributes: [SDPAttribute] = []
  /// The tracks (`m=`), in their order, RFC 8866 §5.14.
  public var media: [MediaDescription] = []

  /// Maximum length of a parsed text in bytes: 64 KiB.
  public static let maximumLength = 64 * 1024
  /// Maximum number of tracks in a parsed text; more are an error.
  public static let maximumMediaCount = 64

  /// A session without tracks.
  ///
  /// - Parameters:
  ///   - name: The session name, for users.
  ///   - sessionID: An identifier, unique among the host's sessions.
  ///   - address: The server's address; IPv6 when it contains a colon.
  public init(name: String, sessionID: UInt64, address: String) {
    let family = address.utf8.contains(UInt8(ascii: ":")) ? "IP6" : "IP4"
    self.origin = "- \(sessionID) 1 IN \(family) \(address)"
    self.name = name
    self.connection = "IN \(family) \(family == "IP6" ? "::" : "0.0.0.0")"
  }

  /// The description of a live stream over RTSP: `a=control:*`, `a=range:npt=now-`.
  public init(live name: String, sessionID: UInt64, address: String, media: [MediaDescription]) {
    self.init(name: name, sessionID: sessionID, address: address)
    self.attributes = [SDPAttribute("control", "*"), SDPAttribute("range", "npt=now-")]
    self.media = media
  }

  /// Parses a description as cameras write it: lines may end with LF, be in any order, empty, unknown or missing,
  /// except for `v=` at the start.
  ///
  /// - Throws: `ParsingError`: `.tooLarge` beyond ``maximumLength`` or ``maximumMediaCount``, `.missing` without `v=`,
  ///   `.invalid` when an `m=` line lacks a field.
  public init(parsing text: ByteBuffer) throws(ParsingError) {
    guard text.readableBytes <= Self.maximumLength else { throw ParsingError(.tooLarge, field: "SDP") }
    self.origin = ""
    self.name = ""
    var offset = 0
    var hasVersion = false
    // An array, whose bytes a debug build reads ten times as fast as those of a view.
    for line in Array(buffer: text).split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x0A }) {
      defer { offset += line.count + 1 }
      // Some cameras end the text with a zero byte.
      let content = line.drop { $0 == UInt8(ascii: " ") }
      guard
        let kind = content.first, content.dropFirst().first == UInt8(ascii: "="),
        let last = content.lastIndex(where: { $0 > UInt8(ascii: " ") })
      else { continue }
      let value = Substring(String(decoding: content[...last].dropFirst(2), as: UTF8.self).singleLine)
      guard hasVersion || kind == UInt8(ascii: "v") else { throw ParsingError(.missing, field: "v=", offset: offset) }
      hasVersion = true
      try self.handleLine(kind: kind, value: value, offset: offset)
    }
    guard hasVersion else { throw ParsingError(.missing, field: "v=") }
  }

  /// Appends the description as text, with CR LF line ends.
  public func serialize(into buffer: inout ByteBuffer) {
    buffer.writeSDPLine("v", "0")
    buffer.writeSDPLine("o", self.origin.isEmpty ? "- 0 0 IN IP4 0.0.0.0" : self.origin)
    buffer.writeSDPLine("s", self.name.isEmpty ? "-" : self.name)
    if let information = self.information { buffer.writeSDPLine("i", information) }
    if let connection = self.connection { buffer.writeSDPLine("c", connection) }
    for bandwidth in self.bandwidths { buffer.writeSDPLine("b", bandwidth) }
    buffer.writeSDPLine("t", "0 0")
    buffer.writeSDPAttributes(self.attributes)
    for media in self.media { media.serialize(into: &buffer) }
  }

  /// Parses a line of the session, or of the last track after the first `m=`.
  private mutating func handleLine(kind: UInt8, value: Substring, offset: Int) throws(ParsingError) {
    if kind == UInt8(ascii: "m") {
      guard self.media.count < Self.maximumMediaCount else {
        throw ParsingError(.tooLarge, field: "m=", offset: offset)
      }
      guard let media = MediaDescription(parsing: value) else {
        throw ParsingError(.invalid, field: "m=", offset: offset)
      }
      self.media.append(media)
      return
    }
    if !self.media.isEmpty {
      self.media[self.media.count - 1].handleLine(kind: kind, value: value)
      return
    }
    switch kind {
    case UInt8(ascii: "o"): self.origin = String(value)
    case UInt8(ascii: "s"): self.name = String(value)
    case UInt8(ascii: "i"): self.information = String(value)
    case UInt8(ascii: "c"): self.connection = String(value)
    case UInt8(ascii: "b"): self.bandwidths.append(String(value))
    case UInt8(ascii: "a"): self.attributes.append(SDPAttribute(parsing: value))
    default: break
    }
  }
}

extension ByteBuffer {
  mutating func writeSDPLine(_ kind: String, _ value: String) {
    self.writeString("\(kind)=\(value.singleLine)\r\n")
  }

  mutating func writeSDPAttributes(_ attributes: [SDPAttribute]) {
    for attribute in attributes {
      self.writeSDPLine("a", attribute.value.map { "\(attribute.name):\($0)" } ?? attribute.name)
    }
  }
}

/// Text of SDP lines, without their line ends.
extension StringProtocol {
  /// The text without spaces and tabs at its ends.
  var trimmed: String {
    let bytes = Substring(self).utf8
    guard
      let first = bytes.firstIndex(where: { !$0.isBlank }), let last = bytes.lastIndex(where: { !$0.isBlank })
    else { return "" }
    return String(Substring(bytes[first...last]))
  }

  /// The words between spaces and tabs.
  var words: [String] {
    Substring(self).utf8.split { $0.isBlank }.map { String(Substring($0)) }
  }

  /// The text with a space for each control character, so that a value cannot start a new line.
  var singleLine: String {
    guard self.utf8.contains(where: { $0 < 0x20 }) else { return String(self) }
    return String(decoding: self.utf8.map { $0 < 0x20 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }
}

extension UInt8 {
  /// Whether the byte is a space or a tab.
  var isBlank: Bool {
    self == UInt8(ascii: " ") || self == UInt8(ascii: "\t")
  }
}
