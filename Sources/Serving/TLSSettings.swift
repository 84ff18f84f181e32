/// Settings of a protocol over TLS: RTSP by the scheme "rtsps", RTMP by "rtmps".
public struct TLSSettings: Hashable, Sendable {
  /// The TCP port, 0 to 65,535; 0 for any free one.
  public var port: Int
  /// The certificate; nil for that of HTTP over TLS, which may be one of a local authority.
  public var certificate: CertificateFiles?

  /// Creates settings of a port and a certificate.
  public init(port: Int, certificate: CertificateFiles? = nil) {
    self.port = port
    self.certificate = certificate
  }
}
