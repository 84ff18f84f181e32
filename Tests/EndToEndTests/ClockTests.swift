import Foundation
import HLSRules
import Testing

extension EndToEnd {
  @Suite("The machine's clock is set while the program runs")
  struct Clocks {
    private struct Started: Decodable {
      var files: [File]?
      struct File: Decodable { var path: String }
    }

    @Test func `dates of playlists and names of recordings follow, and nothing else changes`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let library = "\(folder)/stepped_clock.so"
        let built = try await Tool.run(
          "cc", ["-shared", "-fPIC", "-o", library, TestMedia.client("stepped_clock.c"), "-ldl"], within: .seconds(20))
        try #require(built.succeeded, "\(built.errors)")
        let step = "\(folder)/step"
        let options = ["--source", "bars", "--audio", "tone", "--size", "320x180", "--recordings", folder]
        let environment = ["LD_PRELOAD": library, "VIDICON_CLOCK_STEP": step, "TZ": "UTC"]
        try await VidiconProcess.serving(options, environment: environment) { vidicon in
          let url = vidicon.page("/live/playlist.m3u8")
          let before = MediaPlaylistText(try await Curl.get(url).text)
          let newest = try #require(before.segments.last?.dateTime)
          #expect(abs(newest - Date.now.timeIntervalSince1970) < 10)
          // Ten days ahead.
          try Data("864000".utf8).write(to: URL(fileURLWithPath: step))
          var text = ""
          for _ in 0..<10 {
            _ = try await vidicon.status { _ in true }
            text = try await Curl.get(url).text
            if let date = MediaPlaylistText(text).segments.last?.dateTime, date > newest + 800_000 { break }
          }
          let segments = MediaPlaylistText(text).segments
          #expect(abs((segments.last?.dateTime ?? 0) - newest - 864_000) < 15)
          // Dates of segments from before the step stay.
          #expect(abs((segments.first?.dateTime ?? 0) - newest) < 15)
          #expect(!text.contains("#EXT-X-DISCONTINUITY\n"))
          #expect(try await Metrics(of: vidicon).sum("vidicon_clock_steps_total") == 1)

          let started = try await LiveControl.send(
            "POST", #"{"action":"start"}"#, to: vidicon.page("/api/streams/live/recording"))
          #expect(started.status < 300, "\(started.text)")
          _ = try await vidicon.status { _ in true }
          let names = try FileManager.default.contentsOfDirectory(atPath: folder)
          let day = Date.now.addingTimeInterval(864_000).formatted(.iso8601.year().month().day())
          #expect(names.contains { $0.contains(day) }, "\(names) without \(day)")
        }
      }
    }
  }
}
