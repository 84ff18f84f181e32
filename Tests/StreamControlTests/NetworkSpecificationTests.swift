import Media
import MediaInput
import StreamControl
import TestSupport
import Testing

@Suite("Network specification")
struct NetworkSpecificationTests {
  @Test(arguments: [
    ("rtsp://camera/live", "rtsp://camera/live", "rtsp://camera/live"),
    ("RTSP://u:p@camera:554/live", "rtsp://u:p@camera:554/live", "rtsp://…@camera:554/live"),
    (
      "rtsp://u:p%40ss@[fe80::1%25eth0]:8554/a?b=c", "rtsp://u:p%40ss@[fe80::1%25eth0]:8554/a?b=c",
      "rtsp://…@[fe80::1%25eth0]:8554/a?…"
    ),
    ("rtsp://u:p@ss@camera/", "rtsp://u:p@ss@camera/", "rtsp://…@camera/"),
    ("https://host/a/b.m3u8?token=secret", "https://host/a/b.m3u8?token=secret", "https://host/a/b.m3u8?…"),
    ("http://host", "http://host", "http://host"),
    ("rtmp://host/app/key", "rtmp://host/app/key", "rtmp://host/app/…"),
    ("srt://host:9000?mode=caller", "srt://host:9000?mode=caller", "srt://host:9000?…"),
  ])
  func `an address is read, and shown without its secrets`(text: String, url: String, shown: String) throws {
    let specification = try NetworkSpecification(parsing: text)
    #expect(NetworkSpecification.matches(text))
    #expect(specification.url == url)
    #expect(specification.description == shown)
    #expect(specification.hasCredentials == shown.contains("…@"))
    #expect(specification.transport == .tcp)
    #expect(
      try SourceSpecification(video: text, audio: text)
        == SourceSpecification(video: .network(specification), audio: .network(specification)))
  }

  @Test func `the transport of RTSP stands behind the number sign, which is not sent`() throws {
    let specification = try NetworkSpecification(parsing: "rtsp://u:p@h/a#transport=udp")
    #expect(specification.transport == .udp)
    #expect(specification.url == "rtsp://u:p@h/a")
    #expect(try NetworkSpecification(parsing: "rtsps://h/a#transport=tcp").transport == .tcp)
  }

  @Test(arguments: [
    "rtsp://", "rtsp:///path", "rtsp://u:secret@/path", "rtsp://u:secret@host:/p", "rtsp://u:secret@host:0/p",
    "rtsp://u:secret@host:65536/p", "rtsp://u:secret@host:80x/p", "rtsp://u:secret@ho st/", "rtsp://u:secret@h/\u{7}",
    "rtsp://u:secret@h/ä", "rtsp://u:secret@h/#transport=tls", "rtsp://u:secret@h/#",
    "http://u:secret@h/#transport=udp",
    "rtsp://u:secret@[]/", "rtsp://u:secret@[::1/", "rtsp://u:secret@h]/", "rtsp://u:secret@[x]/",
    "rtsp://u:secret@h/\"",
    "rtsp://u:secret@h/?a=secret#b", "rtsp://u:secret@h/" + String(repeating: "a", count: 2_100),
  ])
  func `an invalid URL is an error without the password`(text: String) {
    let error = #expect(throws: VidiconError.self) { try NetworkSpecification(parsing: text) }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.description.contains("secret") == false)
    #expect(error?.description.utf8.allSatisfy { $0 >= 0x20 } == true)
    #expect((error?.description.count ?? 0) < 400)
  }

  @Test(arguments: ["ftp://h/a", "gopher://h", "rtsp:", "rtsp:/h", "", "://", "file://a"])
  func `other schemes are not of the network`(text: String) {
    #expect(!NetworkSpecification.matches(text))
    #expect(throws: VidiconError.self) { try NetworkSpecification(parsing: text) }
  }

  @Test func `no bytes make it trap`() {
    var generator = SplitMix(seed: 1)
    let alphabet = Array("rtsp://u:p@h[]:#?=%/.é\u{301}\u{0}4".unicodeScalars)
    var count = 0
    for _ in 0..<20_000 {
      let length = Int.random(in: 0...24, using: &generator)
      var text = Bool.random(using: &generator) ? "rtsp://" : ""
      for _ in 0..<length { text.unicodeScalars.append(alphabet.randomElement(using: &generator)!) }
      guard let specification = try? NetworkSpecification(parsing: text) else { continue }
      #expect((try? NetworkSpecification(parsing: specification.url))?.url == specification.url, "seed 1: \(text)")
      count += 1
    }
    #expect(count > 300)
  }
}
