/// Ports, TLS and limits of an `HTTPServer`.
public struct HTTPServerSettings: Hashable, Sendable {
  /// HTTP over TLS (`https:`): HTTP/2 when negotiated, else HTTP/1.1.
  public struct TLS: Hashable, Sendable {
    /// Origin of the certificate.
    public enum Certificate: Hashable, Sendable {
      /// Paths of the certificate chain and its private key, both PEM.
      case files(chain: String, key: String)
      /// Self-signed, generated on first use and stored in a folder; nil for the default, `$XDG_STATE_HOME/vidicon` or
      /// `~/.local/state/vidicon`.
      case selfSigned(folder: String?)
    }

    /// The TCP port; 0 for any free one.
    public var port: Int
    /// Origin of the server's certificate, whose SHA-256 fingerprint is shown to users.
    public var certificate: Certificate

    /// Creates TLS settings from a port and a certificate.
    public init(port: Int, certificate: Certificate) {
      self.port = port
      self.certificate = certificate
    }
  }

  /// The TCP port; 0 for any free one.
  public var port: Int
  /// Numeric IPv4 or IPv6 address to listen on; nil for all.
  public var address: String?
  /// TLS settings; nil for plain HTTP only.
  public var tls: TLS?
  /// Limits on connections, requests and downloads.
  public var limits = HTTPServerLimits()

  /// Creates settings for plain HTTP on all addresses; port 0 selects any free one.
  public init(port: Int = 8080) {
    self.port = port
  }
}
