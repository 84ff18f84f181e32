package import ControlAPI

/// The ports that a ``CameraServer`` listens on; nil for a protocol that is off.
public struct CameraServerPorts: Hashable, Sendable {
  /// TCP port of RTSP, 1 to 65,535.
  public var rtsp: Int
  /// TCP port of RTSP over TLS (`rtsps:`); nil without TLS.
  public var rtsps: Int?
  /// TCP port of HTTP; nil when HTTP is off.
  public var http: Int?
  /// TCP port of HTTP over TLS (`https:`), with HTTP/2; nil without TLS.
  public var https: Int?

  /// TCP port of RTMP; nil when RTMP is off.
  public var rtmp: Int?
  /// TCP port of RTMP over TLS (`rtmps:`); nil without TLS.
  public var rtmps: Int?
  /// UDP port of WebRTC; nil when WebRTC is off.
  public var webRTC: Int?

  package init(
    rtsp: Int, rtsps: Int? = nil, http: Int? = nil, https: Int? = nil, rtmp: Int? = nil, rtmps: Int? = nil,
    webRTC: Int? = nil
  ) {
    self.webRTC = webRTC
    self.rtmp = rtmp
    self.rtmps = rtmps
    self.rtsp = rtsp
    self.rtsps = rtsps
    self.http = http
    self.https = https
  }
}

extension StreamAddresses {
  /// - Parameter path: Percent-encoded, with the first slash.
  package init(path: String, hosts: [String], ports: CameraServerPorts) {
    func urls(_ scheme: String, _ port: Int?, prefix: String = "") -> [String] {
      guard let port else { return [] }
      return hosts.map { "\(scheme)://\($0):\(port)\(prefix)\(path)" }
    }
    let page = urls("http", ports.http) + urls("https", ports.https)
    self.init(
      rtsp: urls("rtsp", ports.rtsp) + urls("rtsps", ports.rtsps),
      rtmp: urls("rtmp", ports.rtmp, prefix: "/live") + urls("rtmps", ports.rtmps, prefix: "/live"), page: page,
      whep: ports.webRTC == nil ? [] : page.map { "\($0)/whep" },
      whip: ports.webRTC == nil
        ? [] : (urls("https", ports.https) + urls("http", ports.http)).map { "\($0)/whip" })
  }
}
