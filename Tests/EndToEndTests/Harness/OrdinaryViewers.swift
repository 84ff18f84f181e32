/// Output of ordinary_viewers.py: 16 viewers over RTSP, half of them over UDP, and 4 over HLS.
struct OrdinaryViewers: Decodable {
  struct HLS: Decodable {
    var segments: Int
    var missed: Int
    var failures: Int
  }

  /// Frames of each RTSP viewer.
  var frames: [Int]
  /// RTP packets that all RTSP viewers missed, by their sequence numbers.
  var packetsLost: Int
  /// RTSP viewers whose connection was closed.
  var closed: Int
  /// Frames per second of each RTSP viewer.
  var frameRates: [Double]
  var hls: [HLS]
}
