import Authentication
import MediaInput
import Vidicon

extension ServeConfiguration {
  /// Settings of the server with other values than in another configuration, in the order of the table; without users and streams, which
  /// ``ConfigurationChanges`` compares.
  func settings(thatDifferFrom other: ServeConfiguration) -> [Key] {
    Key.allCases.filter { !self.hasSame($0, as: other) }
  }

  private func hasSame(_ key: Key, as other: ServeConfiguration) -> Bool {
    switch key {
    case .bind: self.bind == other.bind
    case .rtspPort: self.rtspPort == other.rtspPort
    case .rtspUDP: self.rtspUDP == other.rtspUDP
    case .rtspsPort: self.rtspsPort == other.rtspsPort
    case .httpPort: self.httpPort == other.httpPort
    case .httpsPort: self.httpsPort == other.httpsPort
    case .rtmpPort: self.rtmpPort == other.rtmpPort
    case .rtmpsPort: self.rtmpsPort == other.rtmpsPort
    case .webrtc: self.isWebRTCOn == other.isWebRTCOn
    case .webrtcPort: self.webRTCPort == other.webRTCPort
    case .iceAddresses: self.iceAddresses == other.iceAddresses
    case .iceServers: self.iceServers == other.iceServers
    case .discovery: self.isAnnounced == other.isAnnounced
    case .tlsCertificate: self.tlsCertificate == other.tlsCertificate
    case .tlsKey: self.tlsKey == other.tlsKey
    case .userFile: self.userFile == other.userFile
    case .control: self.access.control == other.access.control
    case .recordingsFor: self.access.recordings == other.access.recordings
    case .files: self.fileFolders == other.fileFolders
    case .linkLocal: self.allowsLinkLocal == other.allowsLinkLocal
    case .hosts: self.access.hosts == other.access.hosts
    case .cors: self.access.corsOrigins == other.access.corsOrigins
    case .embed: self.access.allowsEmbedding == other.access.allowsEmbedding
    case .insecureBasic: self.access.allowsInsecureBasic == other.access.allowsInsecureBasic
    case .behindProxy: self.access.proxies == other.access.proxies
    case .pushAuthorities: self.pushAuthorityFile == other.pushAuthorityFile
    case .users, .streams: true
    }
  }

  /// Protocols over which publishers reach a program that was started with this configuration.
  var publishing: Set<PublishedSource.Scheme> {
    var schemes: Set<PublishedSource.Scheme> = [.rtsp]
    if self.opensRTMP { schemes.insert(.rtmp) }
    if self.isWebRTCOn, self.openHTTPSPort != nil { schemes.insert(.whip) }
    return schemes
  }

  /// Tokens that were given: those of users, and those of publishers, which are in the sources of streams.
  var givenTokens: [AccessToken] {
    self.access.tokens
      + self.streams.compactMap { stream in
        stream.publishToken.flatMap { AccessToken(parsing: $0.secret.text, role: .publisher(stream: stream.name)) }
      }
  }
}
