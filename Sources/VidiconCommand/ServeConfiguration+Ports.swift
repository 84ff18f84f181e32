import Serving

extension ServeConfiguration {
  /// Ports where none are given. Those of HTTPS and RTMP are opened only for publishers: of a source `whip:`, since browsers have cameras
  /// for pages over `https:` only, and of a source `rtmp:`.
  enum DefaultPort {
    static let rtsp = 8554
    static let http = 8080
    static let https = 8443
    static let rtmp = 1935
    static let webRTC = 8189
  }

  /// Number of ports after a default one that are tried where it is in use, before any free one.
  private static let nearbyPortCount = 8

  /// Port of HTTP over TLS, given or for publishers; nil without it.
  var openHTTPSPort: Int? { self.httpsPort ?? (self.receivesWHIP ? DefaultPort.https : nil) }

  /// Whether a port of RTMP is opened, given or for publishers.
  var opensRTMP: Bool { self.rtmpPort != nil || self.rtmpsPort != nil || self.receivesRTMP }

  /// The ports that are tried for a protocol: a given one alone, or the default one and those that replace it where it is in use.
  ///
  /// The next ports come before any free one: the second `vidicon` of a machine then has the same ports at each start. Ports that are
  /// given for other protocols are left to those.
  func portChoice(_ given: Int?, default port: Int) -> PortChoice {
    if let given { return PortChoice(given) }
    let others = [self.rtspPort, self.rtspsPort, self.httpPort, self.httpsPort, self.rtmpPort, self.rtmpsPort]
    let ports = (port...port + Self.nearbyPortCount).filter { !others.contains($0) && $0 != self.webRTCPort } + [0]
    return PortChoice(ports[0], alternatives: Array(ports.dropFirst()))
  }
}
