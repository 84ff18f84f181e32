import ArgumentParser
import Authentication
import Foundation
import Media
import Pushing
import Vidicon

/// The configuration of `vidicon serve`, from the command line and the configuration file.
package struct ServeConfiguration: Equatable {
  package var streams: [StreamOptions] = []
  var bind: String?
  /// Whether the ports are open to this machine alone.
  var isLocal: Bool { self.bind.flatMap { IPAddress(parsing: $0) }?.isLoopback == true }
  /// Nil for 8554, or another one where that is in use; so are the other ports without one.
  package var rtspPort: Int?
  var rtspUDP = false
  /// Nil for 8080.
  package var httpPort: Int?
  /// Nil for 8443 with a source `whip:`, else for no HTTP over TLS.
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
  /// Nil for 1935 with a source `rtmp:`, else for no RTMP.
  var rtmpPort: Int?
  var rtmpsPort: Int?
  /// Nil for 8189.
  var webRTCPort: Int?
  var isWebRTCOn = true
  /// Addresses at which WebRTC clients reach this machine beside its own.
  var iceAddresses: [String] = []
  /// STUN and TURN servers for WebRTC clients.
  var iceServers: [ICEServer] = []
  var tlsCertificate: String?
  var tlsKey: String?
  /// The given ones of these settings with their origins; that of streams is with each.
  var given = GivenSettings<Key>()
  /// Lines about the configuration file that the owner is to know.
  var warnings: [String] = []

  /// Default settings, without a stream.
  package init() {}
}

extension ServeConfiguration {
  /// Reads the configuration file, if there is one, and checks it together with the options, which override it.
  ///
  /// - Parameter file: Text in place of the content of that file, with the path that errors name; nil for the content.
  init(_ command: ServeCommand, file: (text: String, path: String)? = nil) throws(VidiconError) {
    try self.init(unchecked: command, file: file)
    try self.validate()
  }

  /// Reads the configuration file, if there is one, and the options, without what ``validate()`` checks.
  ///
  /// - Parameter file: Text in place of the content of that file, with the path that errors name; nil for the content.
  init(unchecked command: ServeCommand, file: (text: String, path: String)? = nil) throws(VidiconError) {
    if let file {
      try self.init(yaml: file.text, path: file.path)
    } else {
      try self.init(file: command.options.config)
    }
    try self.apply(command)
    if !command.access.operators.isEmpty {
      if command.access.user.isEmpty { try self.set(.users, to: [], named: "--operator", from: .option) }
      for user in command.access.operators { self.given.append(.users, .text(Secret(user)), from: .option) }
      self.access.users += try Self.users(command.access.operators, role: .operator, "--operator")
    }
    try self.apply(command.push, environment: ProcessInfo.processInfo.environment)
    self.exitsOnFailure = command.options.exitOnFailure
  }

  /// Reads a configuration file, if there is one.
  private init(file path: String?) throws(VidiconError) {
    self = try path.map { path throws(VidiconError) in try ServeConfiguration(contentsOf: path) } ?? .init()
  }

  /// The only stream of `vidicon record`.
  static func stream(of command: RecordCommand) throws(VidiconError) -> StreamOptions {
    var configuration = try ServeConfiguration(file: command.options.config)
    try configuration.apply(command)
    guard configuration.streams.count == 1 else {
      throw .usage("--stream", "vidicon record records one stream", "for several use vidicon serve with --record")
    }
    var stream = configuration.streams[0]
    try stream.set(.record, to: command.output, from: .option)
    try stream.effects.validate()
    if let scheme = stream.publishScheme {
      throw .usage(
        "the source \(scheme.sourceName)", "vidicon record opens no port that a publisher reaches",
        "use vidicon serve with --record")
    }
    return stream
  }

  /// Applies the settings among a command's options. Those of a stream are defaults of each `--stream`, and override the only stream of
  /// a configuration file; those of recordings apply to every stream of a file.
  private mutating func apply(_ arguments: some ParsableArguments) throws(VidiconError) {
    let settings = arguments.settings(of: Key.self)
    let isReplacingStreams = settings.contains { $0.key == .streams }
    // Pushes are added to those of the file, and those of the environment to them.
    let ofStream = arguments.settings(of: StreamOptions.Key.self).filter { ![.push, .pushFile].contains($0.key) }
    if self.streams.count > 1, ofStream.contains(where: { !$0.key.isForEveryStream }) {
      throw .usage("--config", "the file has several streams", "change them there, or use --stream")
    }
    // The streams of the file are replaced with all that they say, such as where they are sent to.
    if self.streams.isEmpty || isReplacingStreams { self.streams = [StreamOptions()] }
    let values = ofStream.map { key, texts in
      (key, key == .rendition ? texts.joined(separator: String(StreamOptions.renditionSeparator)) : texts[0])
    }
    for index in self.streams.indices { try self.streams[index].set(values, from: .option) }
    if isReplacingStreams, ofStream.contains(where: { $0.key == .name }) {
      throw .usage("--name", "it cannot be given with --stream", "write --stream name=NAME")
    }
    for (key, texts) in settings { try self.set(key, to: texts, named: "--\(key.optionName)", from: .option) }
  }

  /// Adds the pushes of the options and the environment to the only stream; in a file or `--stream` each has its own.
  private mutating func apply(
    _ options: PushArguments, environment: [String: String]
  ) throws(VidiconError) {
    var given = GivenSettings<StreamOptions.Key>()
    var targets: [PushTarget] = []
    let fileToken = try options.pushTokenFile.map { path throws(VidiconError) in
      try StreamOptions.pushToken(inFile: path)
    }
    let token = fileToken ?? environment[StreamOptions.pushTokenVariable].map { Secret($0) }
    for text in options.push {
      do throws(VidiconError) {
        var values = try StreamOptions.pushValues(text)
        targets.append(try StreamOptions.push(values))
        // A configuration file has no other place for it; that of the environment is read at each start.
        if targets[targets.count - 1].isWHIP { values[.token] = values[.token] ?? fileToken?.text }
        given.append(.push, StreamOptions.form(ofPush: values), from: .option)
      } catch {
        throw error.of("--push")
      }
    }
    if let path = options.pushFile {
      targets += try StreamOptions.pushes(inFile: path)
      given.append(.pushFile, .text(Secret(path)), from: .option)
    }
    if let text = environment[StreamOptions.pushVariable] {
      let pushes = try StreamOptions.pushes(inVariable: text)
      for push in pushes { given.append(.push, .text(Secret(push.address)), from: .environment) }
      targets += pushes
    }
    if let token {
      for index in targets.indices { try targets[index].setDefaultToken(token) }
    }
    if options.pushTokenFile != nil, !targets.contains(where: \.isWHIP) {
      throw .usage("--push-token-file", "no push is of WHIP", "give --push whip+https://HOST/PATH")
    }
    guard !targets.isEmpty else { return }
    guard self.streams.count == 1 else {
      throw .usage(
        "--push", "there are several streams", "give each its own: push in the configuration file or in --stream")
    }
    self.streams[0].pushes += targets
    for key in [StreamOptions.Key.push, .pushFile] {
      for value in given[key] { self.streams[0].given.append(key, value.form, from: value.origin) }
    }
  }
}
