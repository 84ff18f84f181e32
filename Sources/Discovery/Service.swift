public import Media

/// A DNS-SD service instance: one stream over one protocol, RFC 6763 §4.
public struct Service: Hashable, Sendable {
  /// The service's protocol, from the registry of RFC 6335.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A web page, with its path in the TXT record.
    case http = "_http._tcp"
    /// An RTSP presentation, with its path in the TXT record.
    case rtsp = "_rtsp._tcp"
  }

  /// The instance name, shown to users; a number is appended when it is taken.
  public var name: ServiceName
  /// Protocol of the service, part of its DNS-SD type.
  public var kind: Kind
  /// TCP port on which the service listens.
  public var port: UInt16
  /// TXT record with the stream's path.
  public var text: ServiceText

  /// A service instance with its TXT record.
  public init(name: ServiceName, kind: Kind, port: UInt16, text: ServiceText) {
    self.name = name
    self.kind = kind
    self.port = port
    self.text = text
  }

  /// A stream over one protocol; its TXT record is `path=PATH`.
  ///
  /// - Parameters:
  ///   - stream: The stream's name.
  ///   - path: The path of its URL, percent-encoded, with the leading slash.
  ///   - host: The machine's host name.
  /// - Throws: `VidiconError` `.invalidSpecification` when the path is too long for a TXT record.
  public init(
    stream: String, path: String, kind: Kind, port: UInt16, host: String = NetworkAddresses.machineName
  ) throws(VidiconError) {
    self.init(
      name: ServiceName(stream: stream, host: host), kind: kind, port: port,
      text: try ServiceText(["path": path]))
  }
}
