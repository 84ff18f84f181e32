public import Authentication
internal import ControlAPI
public import HLSServer
internal import RTMPServer
internal import RTSPServer
public import Serving
public import Streaming
internal import WebRTCServer

// MARK: Counters

extension CameraServer {
  /// Current number of viewers of a stream over all protocols.
  public func viewers(of stream: LiveStream) -> Int {
    let http = self.httpStatistics(of: stream)
    return self.servers.reduce(http.hlsViewers + http.motionJPEGViewers) { $0 + $1.statistics(of: stream).viewers }
  }

  /// Current number of viewers of a rendition over RTSP, RTMP, WebRTC and HLS; they are among those of the stream.
  public func viewers(of rendition: Rendition) -> Int {
    self.viewersByProtocol(of: rendition).values.reduce(0, +)
  }

  /// Current number of viewers of a rendition by protocol, such as `rtsp`; they are among those of the stream.
  package func viewersByProtocol(of rendition: Rendition) -> [String: Int] {
    var viewers = ["hls": self.http?.hlsViewers(of: rendition) ?? 0]
    for server in self.servers { viewers[type(of: server).protocolName] = server.statistics(of: rendition).viewers }
    return viewers
  }

  /// Counters of a stream's viewers by protocol, such as `rtsp`; without those over HTTP.
  package func viewerStatistics(of stream: LiveStream) -> [String: ViewerStatistics] {
    Dictionary(uniqueKeysWithValues: self.servers.map { (type(of: $0).protocolName, $0.statistics(of: stream)) })
  }

  /// Counters of a stream's viewers over RTSP; all zero when it is not served.
  public func rtspStatistics(of stream: LiveStream) -> ViewerStatistics {
    self.rtsp.statistics(of: stream)
  }

  /// Counters of a stream's viewers over RTMP; all zero when it is not served, or RTMP is off.
  public func rtmpStatistics(of stream: LiveStream) -> ViewerStatistics {
    self.rtmp?.statistics(of: stream) ?? ViewerStatistics()
  }

  /// Counters of a stream's viewers over WebRTC; all zero when it is not served, or WebRTC is off.
  public func webRTCStatistics(of stream: LiveStream) -> ViewerStatistics {
    self.webRTC?.statistics(of: stream) ?? ViewerStatistics()
  }

  /// Counters of a stream's publishers over WebRTC; nil for a stream without the source `whip:`, and where WebRTC is off.
  public func publisherStatistics(of stream: LiveStream) -> WebRTCPublisherStatistics? {
    self.webRTC?.publisherStatistics(of: stream)
  }

  /// Counters of a stream over HTTP; all zero when HTTP is off.
  public func httpStatistics(of stream: LiveStream) -> HTTPStreamStatistics {
    self.http?.statistics(of: stream) ?? HTTPStreamStatistics()
  }

  /// Requests, connections and datagrams refused since the start, by reason, over all protocols; every reason has an entry.
  public var refusals: [RefusalReason: Int] {
    Dictionary(uniqueKeysWithValues: self.registry.refusals.all.map { ($0.reason, $0.count) })
  }

  /// Times that the system had no file descriptor or memory for a new connection, upon which none is accepted for a second.
  public var acceptFailures: Int {
    self.registry.acceptFailures
  }

  /// Messages that were not RTSP, received on the RTSP ports since the start.
  public var malformedRequests: Int {
    self.rtsp.malformedRequests
  }
}
