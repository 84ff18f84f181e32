import ArgumentParser

/// The command-line options of `vidicon serve` for its addresses: ports, protocols, announcements.
struct PortArguments: ParsableArguments {
  @Option(help: "The address to listen on; by default all, IPv4 and IPv6.")
  var bind: String?

  @Option(help: "The TCP port for RTSP; 0 for any free one. (default: 8554, another one where that is in use)")
  var rtspPort: String?

  @Flag(help: "Also send RTP over UDP to clients that request it.")
  var rtspUDP = false

  @Option(help: "The TCP port for RTSP over TLS; 0 for any free one. Needs --https-port, or --tls-cert and --tls-key.")
  var rtspsPort: String?

  @Option(
    help: """
      The TCP port for HTTP: web page, HLS, images; 0 for any free one. (default: 8080, another one where that is in use)
      """)
  var httpPort: String?

  @Option(
    help: """
      The TCP port for HTTP over TLS and HTTP/2; 0 for any free one. With --tls-cert and --tls-key, or with a \
      certificate of an authority that is created once and kept, and that phones can trust: /ca. (default: none; 8443 with \
      the source whip:)
      """)
  var httpsPort: String?

  @Option(help: "The TCP port for RTMP, usually 1935; 0 for any free one. (default: no RTMP)")
  var rtmpPort: String?

  @Option(help: "The TCP port for RTMP over TLS; 0 for any free one. Needs --https-port, or --tls-cert and --tls-key.")
  var rtmpsPort: String?

  @Option(
    help: """
      The UDP and TCP port for WebRTC, by which browsers play within a tenth of a second; 0 for any free one. (default: 8189, \
      another one where that is in use)
      """)
  var webrtcPort: String?

  @Option(
    help: """
      on, or off: no WebRTC. (default: on)
      """)
  var webrtc: String?

  @Option(
    help: """
      An address at which WebRTC clients reach this machine beside its own: that of a router that forwards the port, or \
      of a container's host. Repeatable.
      """)
  var iceAddress: [String] = []

  @Option(
    help: """
      A server by which WebRTC clients get through their networks: stun:HOST[:PORT], or \
      turn:USER:PASSWORD@HOST[:PORT][?transport=tcp]; @FILE for one on each line of a file. Repeatable.
      """)
  var iceServer: [String] = []

  @Flag(help: "Do not announce the streams by mDNS (Bonjour).")
  var noDiscovery = false
}
