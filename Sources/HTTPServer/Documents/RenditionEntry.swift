internal import Media
internal import Serving
internal import Streaming

/// A rendition of a stream beside the main one, element of `renditions` of ``StreamEntry``. Keys are documented in `openapi.json`.
struct RenditionEntry: Encodable, Sendable {
  var name: String
  var hls: String
  var snapshot: String
  var rtsp: [String]
  /// Empty when RTMP is off.
  var rtmp: [String]
  var width: Int
  var height: Int
  var frameRate: Double
  var bitrate: Int
  /// Whether its encoder is open.
  var encoding: Bool
  /// Whether its encoder has failed, so that it cannot be viewed.
  var failed: Bool
  /// Current viewers by protocol; they are among those of the stream.
  var viewers: [String: Int]
  var framesEncoded: Int
  var framesDropped: Int
  /// Mean time of encoding a frame; nil before the first.
  var encodeMilliseconds: Double?

  /// - Returns: Nil for the main one.
  init?(
    _ rendition: Rendition, of published: PublishedStream, providers: HTTPServerProviders,
    addresses: StreamAddresses, at now: MediaTime
  ) {
    guard let format = rendition.format else { return nil }
    let path = rendition.path
    let statistics = rendition.statistics
    self.name = rendition.name
    self.hls = "\(path)/live.m3u8"
    self.snapshot = "\(path)/snapshot.jpg"
    self.rtsp = addresses.rtsp.map { "\($0)/\(rendition.name)" }
    self.rtmp = addresses.rtmp.map { "\($0)/\(rendition.name)" }
    self.width = format.width
    self.height = format.height
    self.frameRate = format.frameRate.framesPerSecond
    self.bitrate = rendition.bitrate
    self.encoding = statistics.isRunning
    self.failed = rendition.hasFailed
    self.viewers = ["rtsp": 0, "hls": published.hlsViewers(of: rendition.name, at: now)]
    for other in providers.renditionStatistics(rendition) { self.viewers[other.name] = other.statistics.viewers }
    self.framesEncoded = statistics.framesEncoded
    self.framesDropped = statistics.framesDropped
    self.encodeMilliseconds = statistics.meanEncodeMilliseconds.map { ($0 * 100).rounded() / 100 }
  }
}
