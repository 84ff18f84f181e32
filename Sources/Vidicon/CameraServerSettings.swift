public import Authentication
public import HTTPServer
public import RTMPServer
public import RTSPServer
public import WebRTCServer

/// Ports, addresses, access and announcement of a ``CameraServer``.
public struct CameraServerSettings: Hashable, Sendable {
  /// Port, TLS and timeouts of RTSP.
  public var rtsp: RTSPServerSettings
  /// Port, TLS and limits of HTTP: web page, HLS, motion JPEG, snapshots, API; nil turns it off.
  public var http: HTTPServerSettings?
  /// Port, TLS and timeouts of RTMP; nil, the default, turns it off.
  public var rtmp: RTMPServerSettings?
  /// Port and addresses of WebRTC, whose sessions are opened over HTTP; nil, the default, turns it off.
  ///
  /// Viewers that do not decode a stream's profile, such as Chromium High, have an encoding of their own, as Constrained Baseline,
  /// while they watch.
  public var webRTC: WebRTCServerSettings?
  /// Users, tokens and rules of access, for all protocols.
  public var access = AccessSettings()
  /// Whether streams are announced by multicast DNS (DNS-SD, "Bonjour") as `_http._tcp` and `_rtsp._tcp`.
  public var isAnnounced: Bool

  /// A PEM file of authorities that certificates of `rtmps` servers may come from, beside those of the system; nil for none.
  public var pushAuthorityFile: String?

  /// Maximum number of open connections of all protocols; nil derives it from the limit of open files of the process, at
  /// most 10,000.
  ///
  /// At the limit a new connection displaces the least useful one of the address with the most connections.
  public var maximumConnections: Int?

  /// Creates settings; by default RTSP on port 8554, HTTP on port 8080, announced.
  public init(
    rtsp: RTSPServerSettings = RTSPServerSettings(), http: HTTPServerSettings? = HTTPServerSettings(),
    isAnnounced: Bool = true
  ) {
    self.rtsp = rtsp
    self.http = http
    self.isAnnounced = isAnnounced
  }
}

extension CameraServerSettings {
  /// A line for the owner about each port that is in use by another program, and replaced by an alternative one.
  ///
  /// - Parameter ports: The ports that are open.
  func replacements(by ports: CameraServerPorts) -> [String] {
    let pairs = [
      ("RTSP", self.rtsp.port, ports.rtsp), ("HTTP", self.http?.port, ports.http),
      ("HTTPS", self.http?.tls?.port, ports.https), ("RTMP", self.rtmp?.port, ports.rtmp),
      ("WebRTC", self.webRTC?.port, ports.webRTC),
    ]
    return pairs.compactMap { name, wanted, opened in
      guard let wanted, let opened, wanted != 0, wanted != opened else { return nil }
      return "port \(wanted) is in use; \(name) is served on port \(opened) instead"
    }
  }
}
