import Foundation
import Testing

extension Smoke {
  @Suite("Smoke: RTMP and WebRTC")
  struct OtherProtocols {
    @Test func `players find two tracks, and those of a rendition, and an error for a stream that is not there`()
      async throws
    {
      let low = ["--rtmp-port", "0", "--rendition", "name=low,size=160x90,bitrate=100k"]
      try await VidiconProcess.serving(Smoke.plasma + low) { vidicon in
        for (path, width) in [("live/live", 320), ("live/live/low", 160), ("live/low", 160)] {
          let run = try await Tool.run(
            "ffprobe",
            ["-v", "error", "-show_entries", "stream=codec_name,width", "-of", "compact=p=0", vidicon.rtmp(path)],
            within: .seconds(20))
          // A third track, of text, would be FFmpeg's reading of metadata at another time than 0.
          let tracks = run.outputText.split(separator: "\n").map(String.init)
          #expect(tracks == ["codec_name=h264|width=\(width)", "codec_name=aac"], "\(path): \(run.errors)")
        }
        let missing = try await Tool.run(
          "ffprobe", ["-v", "error", vidicon.rtmp("live/other")], within: .seconds(10))
        #expect(!missing.succeeded && missing.errors.contains("there is no stream of this name"), "\(missing.errors)")
      }
    }

    /// Output of whep_aiortc.py.
    private struct Received: Decodable {
      var status: Int
      var width: Int?
      var height: Int?
      var frames: Int?
      var deviation: Double?
      var isMonotonic: Bool?
      var deleted: Int?
      var audioFrames: Int?
      var loudest: Double?
      var isAudioMonotonic: Bool?
    }

    @Test func `aiortc decodes video and audio in their order`() async throws {
      try await VidiconProcess.serving(Smoke.bars + ["--webrtc-port", "0"]) { vidicon in
        let run = try await Tool.run(
          "env",
          ["PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("whep_aiortc.py")]
            + [vidicon.page("/live/whep"), "--audio"], within: .seconds(60))
        try #require(run.succeeded, "\(run.errors)")
        let received = try JSONDecoder().decode(Received.self, from: Data(run.output))
        #expect(received.status == 201 && received.width == 320 && received.height == 180)
        #expect(try #require(received.deviation) > 40 && received.frames == 60 && received.isMonotonic == true)
        #expect(received.audioFrames == 50 && received.isAudioMonotonic == true)
        #expect(try #require(received.loudest) > 0.01)
        #expect(received.deleted == 200)
      }
    }
  }
}
