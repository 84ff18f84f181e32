/// The TCP ports that a ``CameraServer`` listens on; nil for a protocol that is off.
public struct CameraServerPorts: Hashable, Sendable {
  /// TCP port of RTSP, 1 to 65 535.
  public var rtsp: Int
  /// TCP port of RTSP over TLS (`rtsps:`); nil without TLS.
  public var rtsps: Int?
  /// TCP port of HTTP; nil when HTTP is off.
  public var http: Int?
  /// TCP port of HTTP over TLS (`https:`), with HTTP/2; nil without TLS.
  public var https: Int?

  package init(rtsp: Int, rtsps: Int? = nil, http: Int? = nil, https: Int? = nil) {
    self.rtsp = rtsp
    self.rtsps = rtsps
    self.http = http
    self.https = https
  }
}

/// The addresses of a stream to show to users.
public struct StreamAddresses: Hashable, Sendable {
  /// For players: `rtsp://HOST:PORT/NAME` for each host, then `rtsps:`.
  public var rtsp: [String]
  /// For browsers: `http://HOST:PORT/NAME` for each host, then `https:`.
  public var page: [String]

  /// - Parameter path: Percent-encoded, with the first slash.
  package init(path: String, hosts: [String], ports: CameraServerPorts) {
    func urls(_ scheme: String, _ port: Int?) -> [String] {
      guard let port else { return [] }
      return hosts.map { "\(scheme)://\($0):\(port)\(path)" }
    }
    self.rtsp = urls("rtsp", ports.rtsp) + urls("rtsps", ports.rtsps)
    self.page = urls("http", ports.http) + urls("https", ports.https)
  }
}
