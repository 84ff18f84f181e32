public import Connections
public import Media

/// Ports, TLS and timeouts of an `RTSPServer`.
public struct RTSPServerSettings: Hashable, Sendable {
  /// Settings of RTSP over TLS, the scheme "rtsps".
  public struct TLS: Hashable, Sendable {
    /// The TCP port, 0 to 65,535; 0 for any free one.
    public var port: Int
    /// Chain and private key of the server's certificate.
    public var certificate: CertificateFiles

    /// Creates settings of a port and a certificate.
    public init(port: Int, certificate: CertificateFiles) {
      self.port = port
      self.certificate = certificate
    }
  }

  /// The TCP port, 0 to 65,535; 0 for any free one.
  public var port: Int
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// Whether clients may set up UDP; otherwise UDP is refused with status 461, and clients use TCP.
  public var offersUDP = false
  /// RTSP over TLS in addition to RTSP; nil for none.
  public var tls: TLS?
  /// Time without a request or RTCP packet after which a connection is closed; whole seconds.
  public var sessionTimeout = MediaDuration.seconds(60)
  /// Time without progress after which a viewer that is too slow is closed; 10 s by default.
  public var stallTimeout = MediaDuration.seconds(10)

  /// Creates settings of a TCP port, without TLS and UDP.
  public init(port: Int = 8554) {
    self.port = port
  }
}
