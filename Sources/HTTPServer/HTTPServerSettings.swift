public import Authentication

/// How an ``HTTPServer`` listens and whom it lets in.
public struct HTTPServerSettings: Hashable, Sendable {
  /// HTTP over TLS ("https"): HTTP/2 for clients that know it, else HTTP/1.1.
  public struct TLS: Hashable, Sendable {
    /// Whose certificate it is.
    public enum Certificate: Hashable, Sendable {
      /// Given by the user: the path of the certificate chain and that of its private key, both PEM.
      case files(chain: String, key: String)
      /// Self-signed, made on first use and kept in a folder; nil for the usual one, `$XDG_STATE_HOME/vidicon` or
      /// `~/.local/state/vidicon`.
      case selfSigned(folder: String?)
    }

    /// The TCP port; 0 for any free one.
    public var port: Int
    /// Whose certificate it is.
    public var certificate: Certificate

    /// A port and a certificate.
    public init(port: Int, certificate: Certificate) {
      self.port = port
      self.certificate = certificate
    }
  }

  /// Who may change streams while they run: their sources, settings and recordings.
  public enum Control: String, Hashable, Sendable, CaseIterable {
    /// Everybody who may watch; of sources those that are open to them.
    case all
    /// Programs of this machine, and everybody where there are passwords.
    case local
    /// Nobody.
    case none
  }

  /// The TCP port; 0 for any free one.
  public var port: Int
  /// The numeric address to listen on; nil for all of the machine's, IPv4 and IPv6.
  public var address: String?
  /// HTTP over TLS, in addition.
  public var tls: TLS?
  /// Who may watch; everybody when empty.
  public var credentials: [Credentials] = []
  /// Who may change streams.
  public var control = Control.all
  /// Whether programs of this machine are trusted without a password. A proxy on this machine that does not say for whom it
  /// asks would lend that to everybody.
  public var trustsThisMachine = true
  /// What one client, and all together, can make the server hold.
  public var limits = HTTPServerLimits()

  /// A configuration with everything at its default but the port.
  public init(port: Int = 8080) {
    self.port = port
  }
}
