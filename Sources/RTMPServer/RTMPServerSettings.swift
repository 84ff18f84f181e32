public import Media

/// Ports, TLS and timeouts of an `RTMPServer`.
public struct RTMPServerSettings: Hashable, Sendable {
  /// Settings of RTMP over TLS, the scheme "rtmps".
  public struct TLS: Hashable, Sendable {
    /// A certificate in files.
    public struct Certificate: Hashable, Sendable {
      /// The path of the certificate chain, PEM.
      public var chainFile: String
      /// The path of the certificate's private key, PEM.
      public var keyFile: String

      /// A certificate with the paths of its chain and key.
      public init(chainFile: String, keyFile: String) {
        self.chainFile = chainFile
        self.keyFile = keyFile
      }
    }

    /// The TCP port, 0 to 65,535; 0 for any free one.
    public var port: Int
    /// The certificate; nil for that of HTTP over TLS, which may be self-signed.
    public var certificate: Certificate?

    /// Settings with a port, and the certificate of HTTP over TLS.
    public init(port: Int) {
      self.port = port
    }

    /// Settings with a port, a certificate chain and its key.
    public init(port: Int, certificateFile: String, keyFile: String) {
      self.port = port
      self.certificate = Certificate(chainFile: certificateFile, keyFile: keyFile)
    }
  }

  /// The TCP port, 0 to 65,535; 0 for any free one; nil for RTMP over TLS only.
  public var port: Int?
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// RTMP over TLS; nil for none.
  public var tls: TLS?
  /// Time without progress after which a viewer that is too slow is closed; 10 s by default.
  public var stallTimeout = MediaDuration.seconds(10)

  /// Creates settings of a TCP port, without TLS.
  public init(port: Int? = 1935) {
    self.port = port
  }
}
