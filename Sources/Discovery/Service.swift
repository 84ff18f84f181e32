/// What is announced on the network: one way to reach one stream.
public struct Service: Hashable, Sendable {
  /// The service's protocol, from the registry of RFC 6335.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A web page, with its path in the TXT record.
    case http = "_http._tcp"
    /// An RTSP presentation, with its path in the TXT record.
    case rtsp = "_rtsp._tcp"
  }

  /// The name that people see; a number is put behind it when it is taken.
  public var name: ServiceName
  /// The protocol.
  public var kind: Kind
  /// The TCP port.
  public var port: UInt16
  /// What a client must know besides.
  public var text: ServiceText

  /// A service.
  public init(name: ServiceName, kind: Kind, port: UInt16, text: ServiceText) {
    self.name = name
    self.kind = kind
    self.port = port
    self.text = text
  }

  /// A stream over one protocol: its TXT record is `path=/NAME`, percent-encoded as in an address.
  ///
  /// - Parameters:
  ///   - stream: The stream's name, the path of its addresses.
  ///   - host: The machine's name.
  /// - Throws: ``DiscoveryError`` when the name is too long for a TXT record.
  public init(
    stream: String, kind: Kind, port: UInt16, host: String = NetworkAddresses.machineName
  ) throws(DiscoveryError) {
    self.init(
      name: ServiceName(stream: stream, host: host), kind: kind, port: port,
      text: try ServiceText(["path": "/\(Self.percentEncoded(stream))"]))
  }

  /// A path with everything encoded that is not unreserved or a slash, RFC 3986 §2.
  package static func percentEncoded(_ path: String) -> String {
    var bytes: [UInt8] = []
    let hex = Array("0123456789ABCDEF".utf8)
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"), UInt8(ascii: "/"):
        bytes.append(byte)
      default:
        bytes += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 0xF)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
