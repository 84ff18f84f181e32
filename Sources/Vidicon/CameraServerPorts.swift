/// The TCP ports that a ``CameraServer`` listens on.
public struct CameraServerPorts: Hashable, Sendable {
  /// RTSP.
  public var rtsp: Int
  /// RTSP over TLS, where it is on.
  public var rtsps: Int?
  /// HTTP, where it is on.
  public var http: Int?
  /// HTTP over TLS, where it is on.
  public var https: Int?

  /// Ports in use.
  public init(rtsp: Int, rtsps: Int? = nil, http: Int? = nil, https: Int? = nil) {
    self.rtsp = rtsp
    self.rtsps = rtsps
    self.http = http
    self.https = https
  }
}
