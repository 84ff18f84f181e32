/// Finding of a check of a stream, with the clients that it keeps from playing.
struct StreamFinding: Equatable, Sendable {
  /// Part of the check.
  var part: CheckPart
  /// Line of the report.
  var finding: CheckFinding
  /// Clients that do not play because of it.
  var blocks: Set<StreamClient> = []
  /// Clients that play late because of it.
  var delays: Set<StreamClient> = []

  init(
    _ part: CheckPart, _ finding: CheckFinding, blocks: Set<StreamClient> = [], delays: Set<StreamClient> = []
  ) {
    self.part = part
    self.finding = finding
    self.blocks = blocks
    self.delays = delays
  }
}

extension StreamFinding {
  /// Finding about the schemes by which a server asks for a password that the address has.
  static func login(_ schemes: [String], isEncrypted: Bool) -> StreamFinding {
    let text = schemes.joined(separator: ", ")
    let hasDigest = schemes.contains { $0.lowercased() == "digest" }
    guard !hasDigest, !isEncrypted else { return StreamFinding(.login, .ok("login", text)) }
    return StreamFinding(
      .login,
      .warning(
        "login", "\(text) without TLS: the password can be read on the network",
        .advice("switch on Digest (RFC 7616) or TLS at the server")))
  }
}

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
