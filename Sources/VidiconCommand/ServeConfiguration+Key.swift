import Authentication
import Media

extension ServeConfiguration {
  /// The table of the server's settings; ``StreamOptions/Key`` is that of a stream's.
  enum Key: String, SettingKey {
    case bind, rtspPort, rtspUDP, rtspsPort, httpPort, httpsPort, rtmpPort, rtmpsPort
    case webrtc, webrtcPort, iceAddresses, iceServers, discovery
    case tlsCertificate, tlsKey, users, userFile, control, recordingsFor, files, linkLocal
    case hosts, cors, embed, insecureBasic, behindProxy, pushAuthorities
    case streams

    var optionName: String {
      switch self {
      case .iceAddresses: "ice-address"
      case .iceServers: "ice-server"
      case .discovery: "no-discovery"
      case .tlsCertificate: "tls-cert"
      case .users: "user"
      case .hosts: "host"
      case .embed: "no-embed"
      case .pushAuthorities: "push-ca"
      case .streams: "stream"
      default: self.rawValue.hyphenated
      }
    }

    /// Whether the file has a list, or one value, and the option can be repeated; either replaces the whole list.
    var isList: Bool {
      switch self {
      case .iceAddresses, .iceServers, .users, .files, .hosts, .cors, .behindProxy, .streams: true
      default: false
      }
    }

    /// Options without a key, each with the reason.
    static let optionsWithoutKey = [
      "config": "it names the file",
      "operator": "a user of the file has a role",
      "push-token-file": "a push of the file has its token",
      "no-qr": "it is about the terminal of one run",
      "json": "it is about the output of one run",
      "log": "it is about the output of one run",
      "exit-on-failure": "it is about the end of one run",
      "exit-on-eof": "it is about the end of one run",
    ]
  }

  /// Parses and sets a setting, whichever of the command line and the file it comes from.
  ///
  /// - Parameters:
  ///   - texts: The members of a list; one text for other settings.
  ///   - name: The option or key, for messages.
  mutating func set(
    _ key: Key, to texts: [String], named name: String, from origin: SettingOrigin
  ) throws(VidiconError) {
    self.given.set(key, to: texts, from: origin)
    for text in texts { try key.secrecy.check(text, named: name) }
    let text = texts.first ?? ""
    switch key {
    case .bind: self.bind = text
    case .rtspPort: self.rtspPort = try Self.port(text, name)
    case .rtspUDP: self.rtspUDP = try Self.boolean(text, name)
    case .rtspsPort: self.rtspsPort = try Self.port(text, name)
    case .httpPort: self.httpPort = try Self.port(text, name)
    case .httpsPort: self.httpsPort = try Self.port(text, name)
    case .rtmpPort: self.rtmpPort = try Self.port(text, name)
    case .rtmpsPort: self.rtmpsPort = try Self.port(text, name)
    case .webrtc: self.isWebRTCOn = try Self.isOn(text, name)
    case .webrtcPort: self.webRTCPort = try Self.port(text, name)
    case .iceAddresses: self.iceAddresses = texts
    case .iceServers: self.iceServers = try Self.iceServers(texts, named: name)
    case .discovery: self.isAnnounced = try Self.boolean(text, name)
    case .tlsCertificate: self.tlsCertificate = text
    case .tlsKey: self.tlsKey = text
    case .users: (self.access.users, self.access.tokens) = (try Self.users(texts, role: .viewer, name), [])
    case .userFile: self.userFile = text
    case .control: self.access.control = try Self.policy(text, name, "operators, machine, all or none")
    case .recordingsFor: self.access.recordings = try Self.policy(text, name, "operators or viewers")
    case .files: self.fileFolders = texts
    case .linkLocal: self.allowsLinkLocal = try Self.boolean(text, name)
    case .hosts: self.access.hosts = texts
    case .cors: self.access.corsOrigins = texts
    case .embed: self.access.allowsEmbedding = try Self.boolean(text, name)
    case .insecureBasic: self.access.allowsInsecureBasic = try Self.boolean(text, name)
    case .behindProxy: self.access.proxies = texts
    case .pushAuthorities: self.pushAuthorityFile = text
    case .streams:
      let defaults = self.streams.first ?? StreamOptions()
      self.streams = try texts.map { text throws(VidiconError) in try StreamOptions(parsing: text, defaults: defaults) }
    }
  }

  /// Parses a port number; 0 stands for any free one.
  private static func port(_ text: String, _ name: String) throws(VidiconError) -> Int {
    let number = Int(text)
    guard let number, (0...65_535).contains(number) else {
      throw .usage(
        name, "\(number.map(String.init) ?? quoted(text)) is not a port", "give 1 to 65535, or 0 for any free one")
    }
    return number
  }

  /// Checks a port number; 0 stands for any free one.
  static func port(_ number: Int, _ name: String) throws(VidiconError) -> Int { try Self.port("\(number)", name) }

  private static func boolean(_ text: String, _ name: String) throws(VidiconError) -> Bool {
    do throws(VidiconError) {
      return try StreamOptions.boolean(text)
    } catch {
      throw error.of(name)
    }
  }

  /// Parses `on` or `off`, which are also `true` and `false`.
  private static func isOn(_ text: String, _ name: String) throws(VidiconError) -> Bool {
    switch text {
    case "on", "true": return true
    case "off", "false": return false
    default: throw .usage(name, "\(quoted(text)) is neither on nor off", "give on or off")
    }
  }

  /// Parses the name of a policy.
  ///
  /// - Parameter policies: The names of all policies, for the message.
  private static func policy<Policy: RawRepresentable<String>>(
    _ text: String, _ name: String, _ policies: String
  ) throws(VidiconError) -> Policy {
    guard let policy = Policy(rawValue: text) else {
      throw .usage(name, "\(quoted(text)) is not a setting of it", "give \(policies)")
    }
    return policy
  }

  /// Parses users such as `NAME:PASSWORD`; no error quotes them, since a text may be a password alone by mistake.
  static func users(_ texts: [String], role: Role, _ name: String) throws(VidiconError) -> [Credentials] {
    try texts.map { text throws(VidiconError) in
      guard let user = Credentials(parsing: text, role: role) else {
        throw .usage(name, "a name, a colon and a password are expected", "give NAME:PASSWORD")
      }
      try SettingSecrecy.secret.check(String(text.drop { $0 != ":" }.dropFirst()), named: name)
      guard user.isUsable else { throw .usage(name, "a user has no password", "give NAME:PASSWORD") }
      return user
    }
  }
}
