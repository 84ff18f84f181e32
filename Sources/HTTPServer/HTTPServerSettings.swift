public import Authentication

/// Ports, TLS, roles and limits of an `HTTPServer`.
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
    /// Origin of the certificate.
    public var certificate: Certificate

    /// Creates TLS settings from a port and a certificate.
    public init(port: Int, certificate: Certificate) {
      self.port = port
      self.certificate = certificate
    }
  }

  /// Clients with the operator role: they may change sources, settings and recordings of running streams.
  public enum Control: String, Hashable, Sendable, CaseIterable {
    /// Every viewer, within the sources that viewers may choose.
    case all
    /// Programs on this machine; with passwords, every viewer.
    case local
    /// No client.
    case none
  }

  /// The TCP port; 0 for any free one.
  public var port: Int
  /// Numeric IPv4 or IPv6 address to listen on; nil for all.
  public var address: String?
  /// TLS settings; nil for plain HTTP only.
  public var tls: TLS?
  /// Credentials of the viewers; empty: no password is required.
  public var credentials: [Credentials] = []
  /// Clients with the operator role.
  public var control = Control.all
  /// Whether programs on this machine are trusted without a password. Disable it behind a reverse proxy on this machine
  /// that does not send `Forwarded` or `X-Forwarded-For`: its clients would all be trusted.
  public var trustsThisMachine = true
  /// Limits on connections, requests and downloads.
  public var limits = HTTPServerLimits()

  /// Default settings with a port.
  public init(port: Int = 8080) {
    self.port = port
  }
}
