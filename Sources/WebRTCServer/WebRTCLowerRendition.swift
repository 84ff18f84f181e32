/// A smaller rendition of a stream, for viewers with slower networks.
struct WebRTCLowerRendition: Sendable {
  /// Bits per second of its video.
  var bitrate: Int
  /// Finds its broadcaster, after its encoder was opened if need be; completes on any thread, with nil when it has failed.
  var find: @Sendable (_ completion: @escaping @Sendable (WebRTCBroadcaster?) -> Void) -> Void
}
