import Authentication
import CaptureDevices
internal import Effects
import Foundation
import Media
import Recording
import Serving
import StreamControl
import Streaming
import Vidicon

extension ServeConfiguration {
  /// Checks settings that depend on each other, whichever of the command line and the file they come from.
  func validate() throws(VidiconError) {
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
    for stream in self.streams where stream.pushes.count > StreamPushes.maximumCount {
      throw .usage(
        "--push", "\(stream.name) has \(stream.pushes.count) of them",
        "give at most \(StreamPushes.maximumCount) for a stream")
    }
    try self.validatePublishers()
    try self.validatePorts()
  }

  /// Checks that ports differ, and that what needs a certificate, or WebRTC, has it.
  private func validatePorts() throws(VidiconError) {
    if (self.tlsCertificate == nil) != (self.tlsKey == nil) {
      throw .usage(
        "--tls-cert", "a certificate and its key go together", "give both --tls-cert FILE and --tls-key FILE")
    }
    for (name, port) in [("rtsps", self.rtspsPort), ("rtmps", self.rtmpsPort)]
    where port != nil && self.tlsCertificate == nil && self.openHTTPSPort == nil {
      throw .usage(
        "--\(name)-port", "\(name.uppercased()) needs a certificate",
        "add --https-port 8443, whose certificate it takes, or --tls-cert FILE and --tls-key FILE")
    }
    if self.rtspsPort == nil, self.rtmpsPort == nil, self.openHTTPSPort == nil, self.tlsCertificate != nil {
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
      ("--rtsp-port", self.rtspPort ?? DefaultPort.rtsp), ("--rtsps-port", self.rtspsPort ?? 0),
      ("--http-port", self.httpPort ?? DefaultPort.http), ("--https-port", self.openHTTPSPort ?? 0),
      ("--rtmp-port", self.rtmpPort ?? 0),
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

  /// Checks users, host names, origins and proxies.
  private func validateAccess() throws(VidiconError) {
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
}

extension ServeConfiguration {
  /// Parses STUN and TURN servers; `@FILE` stands for those of a file, one on each line, which keeps passwords out of the list of
  /// processes.
  static func iceServers(_ texts: [String], named name: String) throws(VidiconError) -> [ICEServer] {
    var servers: [ICEServer] = []
    for text in texts {
      guard text.first == "@" else {
        servers.append(try ICEServer(text))
        continue
      }
      let content = try SettingsText.read(String(text.dropFirst()), option: "\(name) @FILE")
      for line in content.split(whereSeparator: \.isNewline) where !line.isEmpty && line.first != "#" {
        servers.append(try ICEServer(String(line)))
      }
    }
    guard servers.count <= Self.maximumICEServerCount else {
      throw .usage(
        name, "there are \(servers.count) of them", "give at most \(Self.maximumICEServerCount)")
    }
    return servers
  }

  /// Maximum number of STUN and TURN servers; each one delays the connections of browsers.
  private static let maximumICEServerCount = 8
}
