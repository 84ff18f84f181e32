public import Authentication
public import Media

/// How an ``RTSPServer`` listens and whom it lets in.
public struct RTSPServerSettings: Hashable, Sendable {
  /// RTSP over TLS ("rtsps").
  public struct TLS: Hashable, Sendable {
    /// The TCP port; 0 for any free one.
    public var port: Int
    /// The path of the certificate chain, PEM.
    public var certificateFile: String
    /// The path of the certificate's private key, PEM.
    public var keyFile: String

    /// A port and the files it needs.
    public init(port: Int, certificateFile: String, keyFile: String) {
      self.port = port
      self.certificateFile = certificateFile
      self.keyFile = keyFile
    }
  }

  /// The TCP port; 0 for any free one.
  public var port: Int
  /// The numeric address to listen on; nil for all of the machine's, IPv4 and IPv6.
  public var address: String?
  /// Whether viewers may ask for UDP; else they are told at once to use TCP, which loses nothing on its way.
  public var offersUDP = false
  /// Who may watch; everybody when empty.
  public var credentials: [Credentials] = []
  /// RTSP over TLS, in addition.
  public var tls: TLS?
  /// How long a viewer may be silent (no request, no RTCP) before it is taken for gone.
  public var sessionTimeout = MediaDuration.seconds(60)
  /// How long a viewer may take nothing of what waits for it before it is closed.
  public var stallTimeout = MediaDuration.seconds(10)

  /// A configuration with everything at its default but the port.
  public init(port: Int = 8554) {
    self.port = port
  }
}
