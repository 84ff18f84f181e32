import Streaming
import Testing

@Suite("Stream names")
struct LiveStreamNameTests {
  @Test(arguments: [
    "live", "a/b", "~x.y_z-1", "Kamera Süd", "apiary", "a/api", "low/a", "lower", "...",
    String(repeating: "a", count: 200),
  ])
  func `names that are valid in a URL path are accepted`(name: String) {

    #expect(LiveStream.problem(withName: name) == nil)
  }

  @Test(
    arguments: [
      ("", "empty"), ("/", "slash"), ("/a", "slash"), ("a/", "slash"), ("a//b", "slash"), (".", ".."), ("a/../b", ".."),
      ("a\u{0}", "character"), ("a\r\nb", "character"), ("a\u{7F}", "character"), ("a\u{85}", "character"),
      ("a?b", "character"), ("a#b", "character"), ("a\\b", "character"), ("api", "server"), ("API/x", "server"),
      ("_page", "server"), ("health", "server"), ("metrics", "server"), ("recordings/1", "server"),
      (String(repeating: "ä", count: 101), "bytes"), ("low", "within"), ("a/low", "within"), ("WHEP", "within"),
      ("a/whip", "within"), ("publish", "within"), ("ca", "within"),
      ("main", "within"), ("a/Main", "within"), ("mjpeg", "within"), ("a/mjpeg", "within"),
    ])
  func `other names are refused with the reason`(name: String, reason: String) {

    #expect(LiveStream.problem(withName: name)?.contains(reason) == true)
  }

  @Test func `the URL path escapes everything but letters, digits, four signs and slashes`() {
    #expect(LiveStream("Az-09._~/ü b%+").path == "/Az-09._~/%C3%BC%20b%25%2B")
  }
}
