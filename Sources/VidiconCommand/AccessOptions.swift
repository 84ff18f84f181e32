import ArgumentParser
import Authentication
import Media

/// The command-line options of `vidicon serve` for access: users, roles, host names, origins.
struct AccessOptions: ParsableArguments {
  @Option(
    name: .customLong("user"),
    help: """
      NAME:PASSWORD of a user with the viewer role; repeatable. Without such users watching needs no password. Other \
      users of this machine see options in the list of processes; --user-file hides them.
      """)
  var users: [String] = []

  @Option(
    name: .customLong("operator"),
    help: """
      NAME:PASSWORD of a user with the operator role: watches, changes streams, downloads recordings; repeatable.
      """)
  var operators: [String] = []

  @Option(help: "A file of users and tokens, readable by its owner only; read again when it changes.")
  var userFile: String?

  @Option(
    help: """
      Who controls streams without an operator's password or token: machine (programs on this machine), all (everybody \
      with the viewer role), or none, which excludes operators too. (default: operators only)
      """)
  var control: String?

  @Option(help: "Who lists and downloads recordings: operators or viewers. (default: operators)")
  var recordingsFor: String?

  @Option(
    name: .customLong("files"), help: "A folder whose files operators may choose as sources over HTTP; repeatable.")
  var fileFolders: [String] = []

  @Flag(
    help: """
      Let operators choose network sources at link-local addresses over HTTP: 169.254.*, where some cameras are, and cloud \
      machines keep secrets.
      """)
  var linkLocal = false

  @Option(
    name: .customLong("host"),
    help: "A further host name under which HTTP requests are answered, such as a proxy's; repeatable.")
  var hosts: [String] = []

  @Option(
    name: .customLong("cors"),
    help: "An origin, such as https://example.org, whose web pages may play the streams; * for all; repeatable.")
  var corsOrigins: [String] = []

  @Flag(help: "Do not let web pages of other sites show images of the streams.")
  var noEmbed = false

  @Flag(help: "Accept passwords in plain text (Basic) over HTTP without TLS from other machines.")
  var insecureBasic = false

  @Option(
    name: .customLong("behind-proxy"),
    help: "The numeric address of a reverse proxy, whose last forwarded address counts as the client's; repeatable.")
  var proxies: [String] = []
}

extension ServeConfiguration {
  /// Applies the options; each replaces the value of the configuration file.
  mutating func apply(_ options: AccessOptions) throws(VidiconError) {
    if !options.users.isEmpty || !options.operators.isEmpty {
      self.access.users = []
      for user in options.users { self.access.users.append(try Self.user(user, option: "--user", role: .viewer)) }
      for user in options.operators {
        self.access.users.append(try Self.user(user, option: "--operator", role: .operator))
      }
    }
    if let path = options.userFile { self.userFile = path }
    if let control = options.control { self.access.control = try Self.control(control, "--control") }
    if let text = options.recordingsFor { self.access.recordings = try Self.recordings(text, "--recordings-for") }
    if !options.fileFolders.isEmpty { self.fileFolders = options.fileFolders }
    if options.linkLocal { self.allowsLinkLocal = true }
    if !options.hosts.isEmpty { self.access.hosts = options.hosts }
    if !options.corsOrigins.isEmpty { self.access.corsOrigins = options.corsOrigins }
    if options.noEmbed { self.access.allowsEmbedding = false }
    if options.insecureBasic { self.access.allowsInsecureBasic = true }
    if !options.proxies.isEmpty { self.access.proxies = options.proxies }
  }

  /// Checks values from the command line and the configuration file.
  func validateAccess() throws(VidiconError) {
    var names: Set<String> = []
    for user in self.access.users where !names.insert(user.user).inserted {
      throw .usage("--user", "two users have the same name", "give each its own")
    }
    for host in self.access.hosts where !AccessSettings.isHostName(host) {
      throw .usage("--host", "\(quoted(host)) is not a host name", "give one without port, such as cam.example.org")
    }
    for origin in self.access.corsOrigins where !OriginPolicy.isOrigin(origin) {
      throw .usage("--cors", "\(quoted(origin)) is not an origin", "give one such as https://example.org, or *")
    }
    for proxy in self.access.proxies where !AccessSettings.isNumericAddress(proxy) {
      throw .usage("--behind-proxy", "\(quoted(proxy)) is not a numeric address", "give the proxy's, such as 127.0.0.1")
    }
  }

  /// Parses a value of `control`.
  static func control(_ text: String, _ name: String) throws(VidiconError) -> ControlPolicy {
    guard let control = ControlPolicy(rawValue: text) else {
      throw .usage(name, "\(quoted(text)) is not a setting of it", "give operators, machine, all or none")
    }
    return control
  }

  /// Parses a value of `recordingsFor`.
  static func recordings(_ text: String, _ name: String) throws(VidiconError) -> RecordingsPolicy {
    guard let policy = RecordingsPolicy(rawValue: text) else {
      throw .usage(name, "\(quoted(text)) is not a setting of it", "give operators or viewers")
    }
    return policy
  }

  /// Parses `NAME:PASSWORD`. Messages do not quote the text, since a user may give the password alone by mistake.
  private static func user(_ text: String, option: String, role: Role) throws(VidiconError) -> Credentials {
    guard let user = Credentials(parsing: text, role: role) else {
      throw .usage(option, "a name, a colon and a password are expected", "give NAME:PASSWORD")
    }
    guard user.isUsable else { throw .usage(option, "a user has no password", "give NAME:PASSWORD") }
    return user
  }
}
