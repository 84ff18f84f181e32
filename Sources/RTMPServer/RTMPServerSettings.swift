public import Media
public import Serving

/// Ports, TLS and timeouts of an `RTMPServer`.
public struct RTMPServerSettings: Hashable, Sendable {
  /// The TCP port, 0 to 65,535; 0 for any free one; nil for RTMP over TLS only.
  public var port: Int?
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// RTMP over TLS; nil for none.
  public var tls: TLSSettings?
  /// Time without progress after which a viewer that is too slow is closed; 10 s by default.
  public var stallTimeout = MediaDuration.seconds(10)

  /// Creates settings of a TCP port, without TLS.
  public init(port: Int? = 1935) {
    self.port = port
  }
}
