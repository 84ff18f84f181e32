public import HTTPServer
public import RTSPServer

/// How a ``CameraServer`` listens, whom it lets in, and whether it is announced.
public struct CameraServerSettings: Hashable, Sendable {
  /// RTSP.
  public var rtsp: RTSPServerSettings
  /// HTTP: web page, HLS, pictures, API; nil for none.
  public var http: HTTPServerSettings?
  /// Whether streams are announced by multicast DNS (DNS-SD, "Bonjour") as `_http._tcp` and `_rtsp._tcp`.
  public var isAnnounced: Bool

  /// Settings with everything at its default but what is given.
  public init(
    rtsp: RTSPServerSettings = RTSPServerSettings(), http: HTTPServerSettings? = HTTPServerSettings(),
    isAnnounced: Bool = true
  ) {
    self.rtsp = rtsp
    self.http = http
    self.isAnnounced = isAnnounced
  }
}
