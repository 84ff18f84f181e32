/// Programs that play streams, as far as they differ in what they need.
enum StreamClient: String, CaseIterable, Sendable {
  /// VLC, OBS Studio, ffmpeg and what is made of it.
  case players = "VLC, OBS and ffmpeg"
  /// Players and recorders that ask RTSP for datagrams, as VLC does at first.
  case datagramPlayers = "players over UDP"
  /// Safari, whose video element plays HLS itself.
  case safari = "Safari"
  /// Browsers by a script or an image element.
  case browsers = "browsers"
  /// Browsers by WebRTC, behind a server that passes the video through.
  case webRTC = "browsers over WebRTC"
}
