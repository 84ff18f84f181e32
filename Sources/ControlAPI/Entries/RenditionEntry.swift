internal import Media
package import Streaming

/// A rendition of a stream beside the main one, as the HTTP API and the status of `--json` have it. `openapi.json` documents its keys.
package struct RenditionEntry: Codable, Hashable, Sendable {
  package var name: String
  // Addresses; nil in the status of `--json`.
  package var hls: String?
  package var snapshot: String?
  package var rtsp: [String]?
  /// Empty when RTMP is off.
  package var rtmp: [String]?
  package var width: Int
  package var height: Int
  package var frameRate: Double
  /// Target bitrate in bits per second.
  package var bitrate: Int
  /// Whether its encoder is open.
  package var encoding: Bool
  /// Whether its encoder has failed, so that it cannot be viewed.
  package var failed: Bool
  /// Current viewers by protocol; they are among those of the stream.
  package var viewers: [String: Int]
  package var framesEncoded: Int
  package var framesDropped: Int
  /// Mean time of encoding a frame; nil before the first.
  package var encodeMilliseconds: Double?

  /// Describes a rendition without its addresses.
  ///
  /// - Parameter viewers: Current viewers by protocol.
  /// - Returns: Nil for the main one.
  package init?(_ rendition: Rendition, viewers: [String: Int]) {
    guard let format = rendition.format else { return nil }
    let statistics = rendition.statistics
    self.name = rendition.name
    self.width = format.width
    self.height = format.height
    self.frameRate = format.frameRate.framesPerSecond
    self.bitrate = rendition.bitrate
    self.encoding = statistics.isRunning
    self.failed = rendition.hasFailed
    self.viewers = viewers
    self.framesEncoded = statistics.framesEncoded
    self.framesDropped = statistics.framesDropped
    self.encodeMilliseconds = statistics.meanEncodeMilliseconds.map { ($0 * 100).rounded() / 100 }
  }
}
