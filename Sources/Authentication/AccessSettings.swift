/// Users, tokens, and the rules of access that all protocols share.
public struct AccessSettings: Hashable, Sendable {
  /// Users with a password or its hash; a viewer among them makes watching need credentials.
  public var users: [Credentials] = []
  /// Tokens that give a role without a name; a viewer's token makes watching need credentials.
  public var tokens: [AccessToken] = []
  /// Whether watching needs a password or token although no viewer has one: set where viewers come from a user file.
  public var protectsWatching = false
  /// Clients that control streams beside operators.
  public var control = ControlPolicy.operators
  /// Clients that list and download recordings.
  public var recordings = RecordingsPolicy.operators
  /// Host names of HTTP requests that are answered beside numeric addresses and names of private domains.
  public var hosts: [String] = []
  /// Origins of web pages elsewhere that may read media, such as `https://example.org`; `*` for all.
  public var corsOrigins: [String] = []
  /// Whether pages of other sites may show images of streams.
  public var allowsEmbedding = true
  /// Numeric addresses of reverse proxies: the last address that they forward counts as the client's.
  public var proxies: [String] = []
  /// Whether Basic is offered and accepted over HTTP and RTMP without TLS from other machines.
  public var allowsInsecureBasic = false

  /// Settings with open watching, and control for operators only.
  public init() {}
}

extension AccessSettings {
  /// Whether a text is a host name for ``hosts``: without port.
  public static func isHostName(_ text: String) -> Bool {
    guard let authority = Authority(parsing: text) else { return false }
    return authority.port == nil && authority.host.utf8.count == text.utf8.count
  }

  /// Whether a text is a numeric address for ``proxies``.
  public static func isNumericAddress(_ text: String) -> Bool {
    IPAddress(parsing: text) != nil
  }
}
