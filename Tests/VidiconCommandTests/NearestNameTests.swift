import Testing

@testable import VidiconCommand

@Suite("Keys that were probably meant")
struct NearestNameTests {
  @Test(
    arguments: [
      ("bitrat", "bitrate"), ("bitraet", "bitrate"), ("Bitrate", "bitrate"), ("audio-bitrate", "audioBitrate"),
      ("audio_bitrate", "audioBitrate"), ("passthrough", "passThrough"), ("fp", "fps"), ("recordngs", "recordings"),
      ("colour", nil), ("resolution", nil), ("", nil), ("--", nil), ("x", nil),
      (String(repeating: "bitrate", count: 6), nil),
    ] as [(String, String?)])
  func `a key of a stream is found by a mistyped one`(text: String, name: String?) {
    #expect(StreamOptions.Key.nearest(to: text) == name)
  }

  @Test(
    arguments: [
      ("tls-cert", "tlsCertificate"), ("host", "hosts"), ("user", "users"), ("ice-server", "iceServers"),
      ("rtsp_port", "rtspPort"), ("port", nil),
    ] as [(String, String?)])
  func `a key of the server is found by its option too`(text: String, name: String?) {
    #expect(ServeConfiguration.Key.nearest(to: text) == name)
  }
}
