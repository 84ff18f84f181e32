import ArgumentParser
import Authentication
import CaptureDevices
internal import Effects
import Foundation
import Media
import MediaInput
import Publishing
import Pushing
import Recording
import StreamControl
import Streaming
import Vidicon

/// The command-line options of `vidicon serve`.
struct ServeOptions: ParsableArguments {
  @OptionGroup var stream: StreamArguments

  @Option(
    help: """
      Record into files of this name, such as recordings/%F_%H-%M-%S.mp4; {name} stands for the stream's. SIGUSR1 \
      pauses and resumes.
      """)
  var record: String?

  @Option(
    help: """
      An existing folder for recordings that are started on the web page or over HTTP; without it or --record they \
      cannot be started.
      """)
  var recordings: String?

  @OptionGroup var parts: PartArguments

  @OptionGroup var push: PushArguments

  @Option(help: "The address to listen on; by default all, IPv4 and IPv6.")
  var bind: String?

  @Option(help: "The TCP port for RTSP; 0 for any free one. (default: 8554)")
  var rtspPort: Int?

  @Option(help: "The TCP port for HTTP: web page, HLS, images; 0 for any free one. (default: 8080)")
  var httpPort: Int?

  @Option(
    help: """
      The TCP port for HTTP over TLS and HTTP/2; 0 for any free one. With --tls-cert and --tls-key, or with a \
      certificate of an authority that is created once and kept, and that phones can trust: /ca. (default: none; 8443 with \
      the source whip:)
      """)
  var httpsPort: Int?

  @Flag(help: "Also send RTP over UDP to clients that request it.")
  var rtspUDP = false

  @OptionGroup var access: AccessOptions

  @Option(help: "The TCP port for RTSP over TLS; 0 for any free one. Needs --https-port, or --tls-cert and --tls-key.")
  var rtspsPort: Int?

  @Option(help: "The TCP port for RTMP, usually 1935; 0 for any free one. (default: no RTMP)")
  var rtmpPort: Int?

  @Option(help: "The TCP port for RTMP over TLS; 0 for any free one. Needs --https-port, or --tls-cert and --tls-key.")
  var rtmpsPort: Int?

  @Option(
    name: .customLong("webrtc-port"),
    help: """
      The UDP and TCP port for WebRTC, by which browsers play within a tenth of a second; 0 for any free one. (default: 8189, \
      another one where that is in use)
      """)
  var webRTCPort: Int?

  @Option(
    name: .customLong("webrtc"),
    help: """
      on, or off: no WebRTC, and larger keyframes unless --vbv is given. (default: on)
      """)
  var webRTC: String?

  @Option(
    help: """
      An address at which WebRTC clients reach this machine beside its own: that of a router that forwards the port, or \
      of a container's host. Repeatable.
      """)
  var iceAddress: [String] = []

  @Option(
    help: """
      A server by which WebRTC clients get through their networks: stun:HOST[:PORT], or \
      turn:USER:PASSWORD@HOST[:PORT][?transport=tcp]; @FILE for one on each line of a file. Repeatable.
      """)
  var iceServer: [String] = []

  @Option(
    name: .customLong("whip-token"),
    help: """
      The token of publishers to the source whip:, 16 to 256 letters, digits and -._~+/; @FILE for the first line of a file. \
      (default: one that is made at the start)
      """)
  var whipToken: String?

  @Option(help: "The certificate chain, a PEM file.")
  var tlsCert: String?

  @Option(help: "The certificate's private key, a PEM file.")
  var tlsKey: String?

  @Flag(help: "Do not announce the streams by mDNS (Bonjour).")
  var noDiscovery = false

  @Flag(name: .customLong("no-qr"), help: "Do not show a QR code of the page's address on the terminal.")
  var noQR = false

  @Flag(help: "Status as JSON, one object per line, on standard output.")
  var json = false

  @Flag(help: "End at the start where a network source cannot be reached, instead of trying it again under the slate.")
  var exitOnFailure = false

  @Flag(help: "Play files once, and end with exit status 0 when a source ends.")
  var exitOnEOF = false
}

/// The configuration of `vidicon serve`, from the command line and the configuration file.
package struct ServeConfiguration: Equatable {
  package var streams: [StreamOptions] = []
  var bind: String?
  package var rtspPort = 8554
  var rtspUDP = false
  package var httpPort = 8080
  var httpsPort: Int?
  var isAnnounced = true
  /// Whether a network source must be there at the start.
  var exitsOnFailure = false
  var access = AccessSettings()
  /// Path of a PEM file of further authorities for `rtmps` servers.
  var pushAuthorityFile: String?
  /// Path of the file of further users and tokens.
  var userFile: String?
  /// Folders whose files may be chosen over HTTP.
  var fileFolders: [String] = []
  /// Whether network sources at link-local addresses may be chosen over HTTP.
  var allowsLinkLocal = false
  var rtspsPort: Int?
  var rtmpPort: Int?
  var rtmpsPort: Int?
  /// Nil for 8189, or any free one where that is in use.
  var webRTCPort: Int?
  var isWebRTCOn = true
  /// Addresses at which WebRTC clients reach this machine beside its own.
  var iceAddresses: [String] = []
  /// STUN and TURN servers for WebRTC clients.
  var iceServers: [ICEServer] = []
  var tlsCertificate: String?
  var tlsKey: String?
  /// Lines about the configuration file that the owner is to know.
  var warnings: [String] = []

  /// Default settings, without a stream.
  package init() {}
}

extension ServeConfiguration {
  /// Reads the configuration file, if there is one; options override it.
  init(_ options: ServeOptions) throws(VidiconError) {
    try self.init(fileOf: options.stream)
    if let bind = options.bind { self.bind = bind }
    if let port = options.rtspPort { self.rtspPort = try Self.port(port, "--rtsp-port") }
    if options.rtspUDP { self.rtspUDP = true }
    if let path = options.push.authorityFile { self.pushAuthorityFile = path }
    if let port = options.httpPort { self.httpPort = try Self.port(port, "--http-port") }
    if let port = options.httpsPort { self.httpsPort = try Self.port(port, "--https-port") }
    if options.noDiscovery { self.isAnnounced = false }
    self.exitsOnFailure = options.exitOnFailure
    try self.apply(options.access)
    if let port = options.rtspsPort { self.rtspsPort = try Self.port(port, "--rtsps-port") }
    if let port = options.rtmpPort { self.rtmpPort = try Self.port(port, "--rtmp-port") }
    if let port = options.rtmpsPort { self.rtmpsPort = try Self.port(port, "--rtmps-port") }
    if let port = options.webRTCPort { self.webRTCPort = try Self.port(port, "--webrtc-port") }
    if !options.iceAddress.isEmpty { self.iceAddresses = options.iceAddress }
    if !options.iceServer.isEmpty { self.iceServers = try Self.iceServers(options.iceServer) }
    if let path = options.tlsCert { self.tlsCertificate = path }
    if let path = options.tlsKey { self.tlsKey = path }
    try self.apply(
      options.stream,
      recording: options.parts.values + [
        (.record, options.record), (.recordings, options.recordings), (.whipToken, options.whipToken),
      ])
    try self.apply(options.push, environment: ProcessInfo.processInfo.environment)
    if let text = options.webRTC {
      guard ["on", "off"].contains(text) else {
        throw .usage("--webrtc \(quoted(text))", "it is neither on nor off", "give on or off")
      }
      self.isWebRTCOn = text == "on"
    }
    for index in self.streams.indices { self.streams[index].isForWebRTC = self.isWebRTCOn }
    self.openPublishPort()
    try self.validate()
  }

  /// Reads the configuration file, if there is one.
  private init(fileOf arguments: StreamArguments) throws(VidiconError) {
    self = try arguments.config.map { path throws(VidiconError) in try ServeConfiguration(contentsOf: path) } ?? .init()
  }

  /// The only stream of `vidicon record`.
  static func stream(
    _ arguments: StreamArguments, parts: PartArguments, into pattern: String
  ) throws(VidiconError) -> StreamOptions {
    var configuration = try ServeConfiguration(fileOf: arguments)
    try configuration.apply(arguments, recording: parts.values + [(.record, pattern)])
    guard configuration.streams.count == 1 else {
      throw .usage("--stream", "vidicon record records one stream", "for several use vidicon serve with --record")
    }
    try configuration.streams[0].effects.validate()
    if let scheme = configuration.streams[0].publishScheme {
      throw .usage(
        "the source \(scheme.sourceName)", "vidicon record opens no port that a publisher reaches",
        "use vidicon serve with --record")
    }
    return configuration.streams[0]
  }

  /// Applies the options of a stream: they are defaults of each `--stream`, and override the only stream of a configuration
  /// file. Options of recordings apply to every stream of a file.
  private mutating func apply(
    _ arguments: StreamArguments, recording: [(StreamOptions.Key, String?)]
  ) throws(VidiconError) {
    let values = arguments.values
    let given = values.contains { $0.1 != nil }
    if given, self.streams.count > 1 {
      throw .usage("--config", "the file has several streams", "change them there, or use --stream")
    }
    if self.streams.isEmpty || !arguments.streams.isEmpty { self.streams = [self.streams.first ?? StreamOptions()] }
    for index in self.streams.indices {
      for case (let key, let text?) in values + recording { try self.streams[index].set(key, to: text) }
    }
    guard !arguments.streams.isEmpty else { return }
    if arguments.name != nil { throw .usage("--name", "it cannot be given with --stream", "write --stream name=NAME") }
    let defaults = self.streams[0]
    self.streams = []
    for text in arguments.streams { self.streams.append(try StreamOptions(parsing: text, defaults: defaults)) }
  }

  /// Adds the pushes of the options and the environment to the only stream; in a file or `--stream` each has its own.
  private mutating func apply(
    _ options: PushArguments, environment: [String: String]
  ) throws(VidiconError) {
    var targets: [PushTarget] = []
    for text in options.targets { targets.append(try StreamOptions.push(text)) }
    if let path = options.file { targets += try StreamOptions.pushes(inFile: path) }
    if let text = environment[StreamOptions.pushVariable] { targets += try StreamOptions.pushes(inVariable: text) }
    let token =
      try options.tokenFile.map { path throws(VidiconError) in try StreamOptions.pushToken(inFile: path) }
      ?? environment[StreamOptions.pushTokenVariable].map { Secret($0) }
    if let token {
      for index in targets.indices { try targets[index].setDefaultToken(token) }
    }
    if options.tokenFile != nil, !targets.contains(where: \.isWHIP) {
      throw .usage("--push-token-file", "no push is of WHIP", "give --push whip+https://HOST/PATH")
    }
    guard !targets.isEmpty else { return }
    guard self.streams.count == 1 else {
      throw .usage(
        "--push", "there are several streams", "give each its own: push in the configuration file or in --stream")
    }
    self.streams[0].pushes += targets
  }

  private func validatePushes() throws(VidiconError) {
    for stream in self.streams where stream.pushes.count > StreamPushes.maximumCount {
      throw .usage(
        "--push", "\(stream.name) has \(stream.pushes.count) of them",
        "give at most \(StreamPushes.maximumCount) for a stream")
    }
  }

  private func validate() throws(VidiconError) {
    var names: Set<String> = []
    for stream in self.streams where !names.insert(stream.name).inserted {
      throw .usage(quoted(stream.name), "two streams have this name", "give each its own")
    }
    for stream in self.streams {
      for path in stream.renditions.paths(of: stream.name) where names.contains(path) {
        throw .usage(
          quoted(path), "a stream and a rendition of \(quoted(stream.name)) have this path", "rename one of them")
      }
    }
    if self.streams.count(where: { $0.source == "pipe:" }) > 1 {
      throw .usage("standard input", "it can feed one stream only", "use pipe: once")
    }
    for stream in self.streams {
      try stream.effects.validate()
      try stream.recording.checkRendition(of: stream.name, among: stream.renditions)
    }
    try self.validatePrivacy()
    try self.validateRecordings()
    try self.validateAccess()
    try self.validatePushes()
    try self.validatePublishers()
    if (self.tlsCertificate == nil) != (self.tlsKey == nil) {
      throw .usage(
        "--tls-cert", "a certificate and its key go together", "give both --tls-cert FILE and --tls-key FILE")
    }
    for (name, port) in [("rtsps", self.rtspsPort), ("rtmps", self.rtmpsPort)]
    where port != nil && self.tlsCertificate == nil && self.httpsPort == nil {
      throw .usage(
        "--\(name)-port", "\(name.uppercased()) needs a certificate",
        "add --https-port 8443, whose certificate it takes, or --tls-cert FILE and --tls-key FILE")
    }
    if self.rtspsPort == nil, self.rtmpsPort == nil, self.httpsPort == nil, self.tlsCertificate != nil {
      throw .usage(
        "--tls-cert", "a certificate is given but no port for it", "add --https-port 8443 or --rtsps-port 8322")
    }
    if !self.isWebRTCOn {
      for (name, isGiven) in [
        ("--webrtc-port", self.webRTCPort != nil), ("--ice-address", !self.iceAddresses.isEmpty),
        ("--ice-server", !self.iceServers.isEmpty),
      ] where isGiven { throw .usage(name, "WebRTC is off", "leave --webrtc off out") }
    }
    let ports = [
      ("--rtsp-port", self.rtspPort), ("--rtsps-port", self.rtspsPort ?? 0), ("--http-port", self.httpPort),
      ("--https-port", self.httpsPort ?? 0), ("--rtmp-port", self.rtmpPort ?? 0),
      ("--rtmps-port", self.rtmpsPort ?? 0), ("--webrtc-port", self.webRTCPort ?? 0),
    ].filter { $0.1 != 0 }
    for (index, (name, port)) in ports.enumerated() {
      if let other = ports[..<index].first(where: { $0.1 == port }) {
        throw .usage(name, "it is \(port), as \(other.0) is", "give each a port of its own")
      }
    }
  }

  /// Checks that no stream shows without privacy what another one shows with it.
  private func validatePrivacy() throws(VidiconError) {
    let hiding = self.streams.filter { $0.effects.settings.faces == .privacy }
    guard !hiding.isEmpty, hiding.count < self.streams.count else { return }
    let devices = SystemDevices()
    func identity(of stream: StreamOptions) -> SourceIdentity {
      SourceIdentity(stream.source.flatMap { try? .init(naming: $0) }, cameraNames: devices.uniqueNames)
    }
    let identities = hiding.map { ($0.name, identity(of: $0)) }
    for stream in self.streams where stream.effects.settings.faces != .privacy {
      let identity = identity(of: stream)
      guard let (other, _) = identities.first(where: { $0.1.isSame(as: identity) }) else { continue }
      throw .usage(
        quoted(stream.name), "it would show the source of \"\(other)\" without privacy", "add faces=privacy to it")
    }
  }

  /// Checks that no two streams share files, and that options of recordings come with a recording.
  private func validateRecordings() throws(VidiconError) {
    var patterns: Set<String> = []
    for stream in self.streams {
      guard let settings = try stream.recordingSettings(existing: .number) else { continue }
      guard patterns.insert(settings.pattern.description).inserted else {
        throw .usage(
          quoted("\(settings.pattern)"), "two streams record into it", "put {name} into it, or give each its own")
      }
    }
    if patterns.isEmpty, self.streams.contains(where: { $0.recording != RecordingOptions() }) {
      throw .usage(
        "options of recordings", "nothing is recorded",
        "add --record PATTERN, such as --record %F_%H-%M-%S.mp4, or --recordings FOLDER")
    }
  }

  /// Checks a port number; 0 stands for any free one.
  static func port(_ number: Int, _ name: String) throws(VidiconError) -> Int {
    guard (0...65_535).contains(number) else {
      throw .usage(name, "\(number) is not a port", "give 1 to 65535, or 0 for any free one")
    }
    return number
  }
}
