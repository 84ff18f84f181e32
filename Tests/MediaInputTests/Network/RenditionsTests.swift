import Capture
import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

/// Audio renditions of a master playlist (RFC 8216 §4.3.4.1).
@Suite("Renditions of HLS", .timeLimit(.minutes(5)))
struct RenditionsTests {
  /// A playlist of one segment of MPEG-TS.
  private static func playlist(_ name: String, _ arguments: [String]) throws {
    _ = try TestMedia.path("\(name).m3u8", arguments + ["-f", "hls", "-hls_time", "60", "-hls_list_size", "0"])
  }

  @Test func `the default rendition is heard where it is not the first, in MPEG-TS`() throws {
    try Self.playlist(
      "renditions-video",
      ["-f", "lavfi", "-i", "color=lime:s=160x96:r=25:d=4", "-preset", "ultrafast", "-pix_fmt", "yuv420p"])
    for (name, tone) in [("renditions-first", 440), ("renditions-default", 880)] {
      try Self.playlist(name, ["-f", "lavfi", "-i", "sine=\(tone):r=48000:d=4", "-c:a", "aac"])
    }
    let master = """
      #EXTM3U
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=NO,URI="renditions-first.m3u8"
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",DEFAULT=YES,URI="renditions-default.m3u8"
      #EXT-X-STREAM-INF:BANDWIDTH=500000,RESOLUTION=160x96,AUDIO="a"
      renditions-video.m3u8

      """
    _ = try TestMedia.path("renditions.m3u8", bytes: Data(master.utf8))
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/renditions.m3u8")
    let audio = AudioCollector()
    try #require(source.audio).start(consumer: audio)
    let blocks = audio.blocks(samples: 48_000)
    source.audio?.stop()
    #expect(source.video != nil)
    #expect(abs(blocks.tone() - 880) < 5, "\(blocks.tone()) Hz")
  }
}
