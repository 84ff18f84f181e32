/// A fault that is planted, with the cause that a check must name, and the next step that a test follows.
struct PlantedFault: CustomStringConvertible, Sendable {
  var description: String
  /// Arguments of Clients/check_peer.py for the fault.
  var peer: String
  /// Subject of the finding.
  var subject: String
  /// Words of its meaning.
  var cause: String
  /// Words of its advice or command; empty where they depend on the machine.
  var step: String
  /// Arguments of Clients/check_peer.py for the same without the fault, by the step; empty where the command itself is run.
  var mended: String

  init(
    _ description: String, _ peer: String, names subject: String, _ cause: String, _ step: String, then mended: String
  ) {
    (self.description, self.peer, self.subject) = (description, peer, subject)
    (self.cause, self.step, self.mended) = (cause, step, mended)
  }
}

extension PlantedFault {
  /// The problem of a report that is this fault, with its next step; nil where there is none.
  func finding(in report: StreamReport) -> StreamReport.Finding? {
    report.problems.first { problem in
      problem.subject.hasPrefix(self.subject) && problem.meaning.contains(self.cause)
        && (self.step.isEmpty || problem.step?.contains(self.step) == true) && problem.step != nil
    }
  }

  /// Whether a report has this fault.
  func isNamed(by report: StreamReport) -> Bool { self.finding(in: report) != nil }

  /// Faults of connections, certificates and logins.
  static let connections = [
    PlantedFault(
      "nothing listens at the port", "rtsp port=closed", names: "connection to", "no server listens there",
      "correct the port", then: "rtsp"),
    PlantedFault(
      "the server accepts, and is silent", "rtsp fault=silent", names: "RTSP", "does not respond to OPTIONS",
      "check that the source of the stream delivers", then: "rtsp"),
    PlantedFault(
      "RTSPS at a port without TLS", "rtsp scheme=rtsps", names: "connection to", "not speak TLS at this port",
      "the scheme without s", then: "rtsp"),
    PlantedFault(
      "RTSP at a port with TLS", "rtsp tls scheme=rtsp", names: "connection to", "speaks TLS at this port", "rtsps://",
      then: "rtsp tls query=?insecure=1"),
    PlantedFault(
      "the certificate has expired", "rtsp tls expired", names: "certificate", "it has expired", "openssl s_client",
      then: "rtsp tls query=?insecure=1"),
    PlantedFault(
      "the certificate is signed by itself", "http tls", names: "certificate", "no authority that this machine trusts",
      "install its authority", then: "http tls query=?insecure=1"),
    PlantedFault(
      "the certificate is of another name", "rtsp tls name=camera.example", names: "certificate",
      "it is for camera.example, not for localhost", "get a certificate for this one",
      then: "rtsp tls query=?insecure=1"),
    PlantedFault(
      "the address has a wrong password", "rtsp login=digest password=wrong", names: "RTSP", "password is wrong",
      "check them", then: "rtsp login=digest"),
    PlantedFault(
      "the address has no password", "rtsp login=digest password=none", names: "RTSP",
      "asks for a user name and password",
      "write them before the host", then: "rtsp login=digest"),
    PlantedFault(
      "the server offers Basic without TLS", "rtsp login=basic", names: "login", "the password can be read", "Digest",
      then: "rtsp login=digest+basic"),
    PlantedFault(
      "the server has an unknown algorithm of Digest", "rtsp login=unknown", names: "RTSP",
      "login schemes are not known",
      "switch on Digest", then: "rtsp login=unknown+digest"),
    PlantedFault(
      "no stream has the path", "rtsp path=other", names: "RTSP", "no stream has this path (404)", "check the path",
      then: "rtsp"),
    PlantedFault(
      "a redirect leads to itself", "http fault=redirects", names: "connection to", "redirects again and again",
      "use the address that the redirects lead to", then: "http"),
  ]

  /// Faults of sessions and tracks of RTSP, and of RTMP.
  static let sessions = [
    PlantedFault(
      "video is announced, and silent", "rtsp fault=silent-video audio", names: "video track", "nothing arrives",
      "delivers video", then: "rtsp audio"),
    PlantedFault(
      "audio is announced, and silent", "rtsp fault=silent-audio audio", names: "audio track", "nothing arrives",
      "serve the stream without audio", then: "rtsp"),
    PlantedFault(
      "parameter sets are missing", "rtsp fault=no-parameter-sets", names: "parameter sets", "neither announced nor",
      "repeat them with each keyframe", then: "rtsp"),
    PlantedFault(
      "datagrams are dropped", "rtsp fault=drops-udp", names: "RTP over UDP", "nothing arrives but over TCP",
      "-rtsp_transport tcp", then: "rtsp fault=no-udp"),
    PlantedFault(
      "timestamps stand still", "rtsp fault=still-timestamps", names: "video timestamps", "they stand still",
      "stamp frames by its clock", then: "rtsp"),
    PlantedFault(
      "timestamps run at half the pace", "rtsp fault=slow-timestamps", names: "video timestamps",
      "slower than the clock", "stamp frames by its clock", then: "rtsp"),
    PlantedFault(
      "timestamps jump", "rtsp fault=jumping-timestamps", names: "video timestamps", "they jump by more than a second",
      "stamp frames by its clock", then: "rtsp"),
    PlantedFault(
      "sender reports disagree", "rtsp fault=drifting-reports", names: "video sender reports",
      "two clocks differ",
      "update the firmware", then: "rtsp"),
    PlantedFault(
      "keyframes are twelve seconds apart", "rtsp fault=rare-keyframes", names: "keyframes", "s apart",
      "set the keyframe interval", then: "rtsp"),
    PlantedFault(
      "the chroma is 4:2:2", "rtsp fault=chroma", names: "profile", "4:2:0 with 8 bits", "yuv420p", then: "rtsp"),
    PlantedFault(
      "packets are lost", "rtsp fault=loss", names: "video packets", "are missing",
      "the server itself has dropped them",
      then: "rtsp"),
    PlantedFault(
      "the server closes after PLAY", "rtsp fault=close-after-play", names: "session", "the server ends it",
      "check the source of the stream", then: "rtsp"),
    PlantedFault(
      "the server forgets the session", "rtsp fault=not-found-session", names: "keep-alive",
      "does not know its own session (454)", "update the server", then: "rtsp"),
    PlantedFault(
      "the description has no media", "rtsp fault=no-media", names: "RTSP", "no video and no audio",
      "check the source of the stream", then: "rtsp"),
    PlantedFault(
      "frames are reordered", "nginx-rtmp b-frames", names: "B-frames", "in another order", "-bf 0", then: "nginx-rtmp"),
    PlantedFault(
      "an RTMP server has no such application", "nginx-rtmp app=other", names: "RTMP", "application",
      "check the first part of the path", then: "nginx-rtmp"),
    PlantedFault(
      "no publisher is live under the name", "nginx-rtmp name=other", names: "tracks", "no media arrives",
      "check that a publisher is live", then: "nginx-rtmp"),
  ]

  /// Faults of HLS, Motion JPEG and WebRTC.
  static let pages = [
    PlantedFault(
      "the playlist does not go on", "http fault=stopped", names: "playlist", "no new segment", "its encoder runs",
      then: "http"),
    PlantedFault(
      "segments are gone", "http fault=no-segments", names: "live", "does not have it (404)",
      "keep segments for longer",
      then: "http"),
    PlantedFault(
      "segments end early", "http fault=cut-off", names: "live", "before the end of the file", "that of a proxy",
      then: "http"),
    PlantedFault(
      "the playlist needs a token", "http fault=token", names: "live.m3u8", "denies access (403)", "the token",
      then: "http fault=token query=?token=right"),
    PlantedFault(
      "a page is in place of the playlist", "http fault=page", names: "playlist", "does not start with #EXTM3U",
      "which ends with .m3u8", then: "http"),
    PlantedFault(
      "the playlist has another type", "http fault=type", names: "type of live.m3u8", "text/plain",
      "application/vnd.apple.mpegurl", then: "http"),
    PlantedFault(
      "segments have no CORS header", "http fault=segments-of-one-origin", names: "CORS",
      "no Access-Control-Allow-Origin", "to playlists and segments", then: "http"),
    PlantedFault(
      "segments are longer than the target duration", "http segment=2 fault=short-target", names: "playlist",
      "breaks a rule", "update the server", then: "http segment=2"),
    PlantedFault(
      "segments start without keyframes", "http open-segments", names: "live", "does not start with a keyframe",
      "a multiple of the keyframe interval", then: "http"),
    PlantedFault(
      "a server of HLS has no source", "http fault=unavailable", names: "live.m3u8", "responds with 503",
      "log of the server", then: "http"),
    PlantedFault(
      "no image arrives", "images fault=no-images", names: "Motion JPEG", "no image arrives",
      "source of the stream delivers", then: "images"),
    PlantedFault(
      "images end", "images fault=images-end", names: "Motion JPEG", "ends it after 20 images", "proxies",
      then: "images"),
    PlantedFault(
      "images are damaged", "images fault=damaged-images", names: "images", "are damaged", "update the firmware",
      then: "images"),
    PlantedFault(
      "images come every three seconds", "images fault=slow-images", names: "Motion JPEG", "images per second",
      "lower the size", then: "images"),
    PlantedFault(
      "no WHEP endpoint is there", "whep fault=no-whep", names: "WHEP", "no WHEP endpoint is there (405)",
      "use the address of WHEP", then: "whep"),
    PlantedFault(
      "the answer has no candidate", "whep fault=no-candidate", names: "candidates", "has no address over UDP",
      "set the address of the host", then: "whep"),
    PlantedFault(
      "a candidate is not reached", "whep fault=blocked-candidate", names: "candidates", "none is reached over UDP",
      "let UDP through", then: "whep"),
    PlantedFault(
      "the answer has no video", "whep fault=no-video", names: "video", "none of H.264 or VP8",
      "H.264 without B-frames",
      then: "whep"),
  ]

  /// Faults of this machine.
  static let machine = [
    PlantedFault(
      "another program has the port", "machine fault=taken-port", names: "RTSP port", "in use", "--rtsp-port",
      then: "machine port=free"),
    PlantedFault(
      "a key of the file is mistyped", "machine key=rtspPotr", names: "/", "unknown key", "rtspPort",
      then: "machine key=httpPort"),
    PlantedFault(
      "the address is not this machine's", "machine fault=address", names: "address 192.0.2.77",
      "no interface of this machine has it", "--bind", then: "machine"),
    PlantedFault(
      "the camera is not there", "machine fault=camera", names: "camera v4l2:/dev/video99",
      "not connected", "", then: "machine"),
    PlantedFault(
      "there is no display", "machine fault=screen", names: "screen", "DISPLAY is not set", "the session of the screen",
      then: "machine"),
    PlantedFault(
      "the encoder does not exist", "machine fault=encoder", names: "encoder of live", "there is no such H.264 encoder",
      "choose one of",
      then: "machine"),
    PlantedFault(
      "face models are missing", "machine fault=models faces", names: "face models", "finds faces", "setup",
      then: "machine faces"),
    PlantedFault(
      "the folder of recordings is missing", "machine record", names: "recordings of live", "does not exist",
      "mkdir -p",
      then: ""),
    PlantedFault(
      "the disk has too little space", "machine record folder fault=no-space", names: "recordings of live",
      "less than what is to stay free", "df -h", then: "machine record folder"),
    PlantedFault(
      "the certificate of this machine has expired", "machine tls expired", names: "certificate", "has expired",
      "openssl x509",
      then: "machine tls"),
    PlantedFault(
      "all users read the keys of pushes", "machine mode=644", names: "/", "all users of this machine",
      "chmod 600",
      then: "machine mode=600"),
  ]

  static let all = connections + sessions + pages + machine
}
