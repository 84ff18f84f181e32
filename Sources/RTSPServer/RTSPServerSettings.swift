public import Media
public import Serving

/// Ports, TLS and timeouts of an `RTSPServer`.
public struct RTSPServerSettings: Hashable, Sendable {
  /// The TCP port, 0 to 65,535; 0 for any free one.
  public var port: Int
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// Whether clients may set up UDP; otherwise UDP is refused with status 461, and clients use TCP.
  public var offersUDP = false
  /// RTSP over TLS in addition to RTSP; nil for none.
  public var tls: TLSSettings?
  /// Time without a request or RTCP packet after which a connection is closed; whole seconds.
  public var sessionTimeout = MediaDuration.seconds(60)
  /// Time without progress after which a viewer that is too slow is closed; 10 s by default.
  public var stallTimeout = MediaDuration.seconds(10)

  /// Creates settings of a TCP port, without TLS and UDP.
  public init(port: Int = 8554) {
    self.port = port
  }
}
