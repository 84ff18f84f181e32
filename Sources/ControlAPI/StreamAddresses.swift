/// The addresses of a stream to show to users.
public struct StreamAddresses: Hashable, Sendable {
  /// For players: `rtsp://HOST:PORT/NAME` for each host, then `rtsps:`.
  public var rtsp: [String]
  /// For players that know only RTMP: `rtmp://HOST:PORT/live/NAME` for each host, then `rtmps:`; the first component, which
  /// stands for nothing, is for those that demand an application and a key. Empty when RTMP is off.
  public var rtmp: [String]
  /// For browsers: `http://HOST:PORT/NAME` for each host, then `https:`.
  public var page: [String]
  /// For WebRTC players: `http://HOST:PORT/NAME/whep` for each host, then `https:`. Empty when WebRTC is off.
  public var whep: [String]
  /// For WHIP publishers of the source `whip:`: `https://HOST:PORT/NAME/whip` for each host, then `http:`: browsers publish from pages
  /// over `https:` only. Empty when WebRTC is off.
  public var whip: [String]

  /// Creates a set of addresses, as complete URLs.
  package init(
    rtsp: [String] = [], rtmp: [String] = [], page: [String] = [], whep: [String] = [], whip: [String] = []
  ) {
    self.rtsp = rtsp
    self.rtmp = rtmp
    self.page = page
    self.whep = whep
    self.whip = whip
  }

  /// The pages that send the camera of the device that opens them, `https://HOST:PORT/NAME/publish` for each host. Empty without HTTP
  /// over TLS, which browsers need for cameras.
  public var publishPages: [String] {
    self.whip.filter { $0.hasPrefix("https:") }.map { "\($0.dropLast("whip".utf8.count))publish" }
  }
}
