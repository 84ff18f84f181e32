public import Authentication
public import HTTPServer
public import RTMPServer
public import RTSPServer
package import Serving
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
  /// The ports of the servers that are on, as they are tried.
  package var portChoices: [ListeningSockets.Role: PortChoice] {
    var choices = [
      ListeningSockets.Role.rtsp: PortChoice(self.rtsp.port, alternatives: self.rtsp.alternativePorts)
    ]
    choices[.rtsps] = self.rtsp.tls.map { PortChoice($0.port) }
    choices[.http] = self.http.map { PortChoice($0.port, alternatives: $0.alternativePorts) }
    choices[.https] = self.http?.tls.map { PortChoice($0.port, alternatives: $0.alternativePorts) }
    choices[.rtmp] = self.rtmp.flatMap { rtmp in
      rtmp.port.map { PortChoice($0, alternatives: rtmp.alternativePorts) }
    }
    choices[.rtmps] = self.rtmp?.tls.map { PortChoice($0.port) }
    let webRTC = self.webRTC.map { PortChoice($0.port, alternatives: $0.alternativePorts) }
    (choices[.webRTC], choices[.webRTCOverTCP]) = (webRTC, webRTC)
    return choices
  }

  /// A line for the owner about each port that is in use by another program, and replaced by an alternative one.
  ///
  /// - Parameters:
  ///   - ports: The ports that are open.
  ///   - inherited: Ports whose sockets were inherited, and not replaced.
  func replacements(by ports: CameraServerPorts, except inherited: Set<ListeningSockets.Role> = []) -> [String] {
    let pairs: [(ListeningSockets.Role, String, Int?, Int?)] = [
      (.rtsp, "RTSP", self.rtsp.port, ports.rtsp), (.http, "HTTP", self.http?.port, ports.http),
      (.https, "HTTPS", self.http?.tls?.port, ports.https), (.rtmp, "RTMP", self.rtmp?.port, ports.rtmp),
      (.webRTC, "WebRTC", self.webRTC?.port, ports.webRTC),
    ]
    return pairs.compactMap { role, name, wanted, opened in
      guard !inherited.contains(role), let wanted, let opened, wanted != 0, wanted != opened else { return nil }
      return "port \(wanted) is in use; \(name) is served on port \(opened) instead"
    }
  }
}
