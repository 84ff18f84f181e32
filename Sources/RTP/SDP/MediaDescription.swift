internal import NIOCore

/// A media description: `m=` and the lines that belong to it, RFC 8866 §5.14.
public struct MediaDescription: Hashable, Sendable {
  /// The media type, such as "video", "audio" or "application".
  public var media: String
  /// The transport port; 0 with RTSP, where SETUP negotiates ports.
  public var port: UInt16
  /// The transport protocol, such as "RTP/AVP": RTP with the profile of RFC 3551, without encryption.
  public var transport: String
  /// The formats; with RTP the payload types.
  public var formats: [String]
  /// The title of the track (`i=`).
  public var information: String?
  /// The fields of `c=`; nil for the session's.
  public var connection: String?
  /// The values of `b=`, such as "AS:2300".
  public var bandwidths: [String] = []
  /// The attributes of the track (`a=`), in their order, RFC 8866 §5.13.
  public var attributes: [SDPAttribute] = []

  /// A media description without attributes; by default with port 0 and "RTP/AVP".
  public init(media: String, port: UInt16 = 0, transport: String = "RTP/AVP", formats: [String]) {
    self.media = media
    self.port = port
    self.transport = transport
    self.formats = formats
  }

  /// Parses the value of `m=`: `media port[/count] transport formats…`; nil when a field is missing or invalid.
  package init?(parsing line: Substring) {
    let words = line.words
    guard words.count >= 3, let port = words[1].split(separator: "/").first.flatMap({ UInt16($0) }) else { return nil }
    self.init(media: words[0], port: port, transport: words[2], formats: Array(words[3...]))
  }

  /// The first format as an RTP payload type, 0 to 127; nil when it is another format.
  public var payloadType: UInt8? {
    self.formats.first.flatMap { UInt8($0) }.flatMap { $0 < 128 ? $0 : nil }
  }

  /// The track's URL for SETUP: absolute, or relative to `Content-Base`; nil without `a=control`.
  public var control: String? {
    self.attributes.value(of: "control")
  }

  /// The encoding of a payload type from `a=rtpmap`; nil when it is absent or invalid.
  public func rtpMap(payloadType: UInt8) -> RTPMap? {
    self.formatAttribute("rtpmap", payloadType).flatMap { RTPMap(parsing: $0) }
  }

  /// The parameters of a payload type from `a=fmtp`; empty when it is absent.
  public func formatParameters(payloadType: UInt8) -> SDPFormatParameters {
    SDPFormatParameters(parsing: self.formatAttribute("fmtp", payloadType) ?? "")
  }

  /// Appends the track's lines to a buffer.
  func serialize(into buffer: inout ByteBuffer) {
    buffer.writeSDPLine("m", "\(self.media) \(self.port) \(self.transport) \(self.formats.joined(separator: " "))")
    if let information = self.information { buffer.writeSDPLine("i", information) }
    if let connection = self.connection { buffer.writeSDPLine("c", connection) }
    for bandwidth in self.bandwidths { buffer.writeSDPLine("b", bandwidth) }
    buffer.writeSDPAttributes(self.attributes)
  }

  mutating func handleLine(kind: UInt8, value: Substring) {
    switch kind {
    case UInt8(ascii: "i"): self.information = String(value)
    case UInt8(ascii: "c"): self.connection = String(value)
    case UInt8(ascii: "b"): self.bandwidths.append(String(value))
    case UInt8(ascii: "a"): self.attributes.append(SDPAttribute(parsing: value))
    default: break
    }
  }

  /// The value behind `a=name:payloadType `.
  private func formatAttribute(_ name: String, _ payloadType: UInt8) -> String? {
    for attribute in self.attributes where attribute.name == name {
      guard let value = attribute.value else { continue }
      let parts = Substring(value).utf8.split(maxSplits: 1) { $0.isBlank }
      if parts.count == 2, UInt8(Substring(parts[0])) == payloadType { return Substring(parts[1]).trimmed }
    }
    return nil
  }
}
