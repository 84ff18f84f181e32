import Foundation
import Testing

extension EndToEnd {
  @Suite("Face events over HTTP, in HLS and on the web page")
  struct FaceEvents {
    /// One woman, who closes her eyes, smiles and turns; 640×360.
    private static func woman() throws -> [String] {
      ["--source", "file:\(try TestMedia.file("WolfgangLanger_Pexels.mp4"))", "--size", "640x360"]
    }

    /// Data of an event about one face, or about all faces.
    private struct EventData: Decodable {
      struct Box: Decodable {
        var x: Int
        var y: Int
        var width: Int
        var height: Int
      }

      struct Face: Decodable {
        var id: Int
        var box: Box
      }

      var time: Double
      var event: String?
      var id: Int?
      var box: Box?
      var width: Int?
      var faces: [Face]?
    }

    /// Messages of an event stream with their names.
    private func messages(in text: String) throws -> [(name: String, data: EventData)] {
      try text.components(separatedBy: "\n\n").compactMap { block in
        let lines = block.split(separator: "\n")
        guard lines.count == 2, lines[0].hasPrefix("event: "), lines[1].hasPrefix("data: ") else { return nil }
        let data = try JSONDecoder().decode(EventData.self, from: Data(lines[1].dropFirst(6).utf8))
        return (String(lines[0].dropFirst(7)), data)
      }
    }

    @Test func `every client of HTTP/1.1 and HTTP/2 gets all events until the program exits`() async throws {
      let secure = ["--https-port", "0"]
      let listeners = try await VidiconProcess.serving(Self.woman() + secure + ["--faces", "track"]) { vidicon in
        let addresses = [
          vidicon.page("/api/streams/live/events"), try vidicon.securePage("/api/streams/live/events"),
        ]
        let listeners = addresses.map { address in
          Task {
            try await Tool.run(
              "curl", ["-sN", "--insecure", "--noproxy", "*", "--write-out", "%{http_version}", address],
              within: .seconds(30))
          }
        }
        _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 120 }
        return listeners
      }
      for (listener, version) in zip(listeners, ["1.1", "2"]) {
        let run = try await listener.value
        let text = String(decoding: run.output, as: UTF8.self)
        #expect(run.succeeded && text.hasSuffix(version), "it ends in order: \(run.errors)")
        let all = try self.messages(in: text)
        let places = all.filter { $0.name == "faces" }.map(\.data)
        try #require(places.count > 10)
        let box = try #require(places.first?.faces?.first?.box)
        #expect((300...420).contains(box.x) && (150...280).contains(box.width), "\(box)")
        #expect(places.allSatisfy { $0.width == 640 })
        let span = try #require(places.last).time - places[0].time
        #expect(Double(places.count - 1) <= 10 * span + 1, "\(places.count) in \(span) s")
        for event in all where event.name == "face" { #expect(event.data.id == 1) }
      }
    }

    @Test(.tags(.pacing)) func `MPEG-TS and fMP4 carry events at their frames' timestamps`() async throws {
      // The player's page is of another origin.
      try await VidiconProcess.serving(Self.woman() + ["--faces", "track", "--cors", "*"]) { vidicon in
        // The program map table lists ID3 from the first segment on, since events were sent before.
        let probe = try await Tool.run(
          "ffprobe",
          [
            "-v", "error", "-read_intervals", "%+3", "-show_entries", "stream=codec_name:packet=codec_type,pts,data",
            "-show_data", "-of", "json", vidicon.page("/live/playlist.m3u8"),
          ], within: .seconds(20))
        try #require(probe.succeeded, "\(probe.errors)")
        let seen = try JSONDecoder().decode(Probed.self, from: Data(probe.output))
        #expect(seen.streams.map(\.codec_name) == ["h264", "aac", "timed_id3"])
        let frames = Set(seen.packets.filter { $0.codec_type == "video" }.compactMap(\.pts))
        let events = seen.packets.filter { $0.codec_type == "data" }
        try #require(events.count > 5)
        // Each ID3 packet precedes its frame, so that the last frame may be beyond the end of the probe.
        #expect(events.dropLast().allSatisfy { $0.pts.map(frames.contains) ?? false })
        #expect(events.allSatisfy { $0.data?.contains("TXXX") ?? false })

        // With segments of one second hls.js may stall once at its start, beside the search for faces.
        let acceptedErrors = [[], ["hls.js: bufferStalledError"]]
        let arguments = ["hlsjs", vidicon.page("/live/index.m3u8"), "--library", try TestMedia.file("hls.mjs")]
        let run = try await Tool.run(
          "python3", [TestMedia.client("hls_play.py")] + arguments + ["--seconds", "1"], within: .seconds(60))
        try #require(run.succeeded, "\(run.errors)")
        let played = try JSONDecoder().decode(Played.self, from: Data(run.output))
        #expect(acceptedErrors.contains(played.errors), "\(played.errors)")
        let cues = played.cues.filter { $0.name == "faces" }
        try #require(cues.count > 10, "\(played.cues.count) cues")
        let offsets = try cues.map { cue in
          try JSONDecoder().decode(EventData.self, from: Data(cue.text.utf8)).time - cue.time
        }
        // The player's timeline differs by a constant offset.
        let middle = offsets.sorted()[offsets.count / 2]
        #expect(offsets.allSatisfy { abs($0 - middle) < 0.01 }, "\(offsets)")
      }
    }

    /// Output of ffprobe.
    private struct Probed: Decodable {
      struct Stream: Decodable {
        var codec_name: String
      }

      struct Packet: Decodable {
        var codec_type: String
        var pts: Int?
        var data: String?
      }

      var streams: [Stream]
      var packets: [Packet]
    }

    /// Output of hls_play.py.
    private struct Played: Decodable {
      struct Cue: Decodable {
        var time: Double
        var name: String
        var text: String
      }

      var cues: [Cue]
      var errors: [String]
    }

    /// Output of page_faces.py.
    private struct Seen: Decodable {
      struct Frame: Decodable {
        var x: Double
        var y: Double
        var width: Double
        var height: Double
      }

      var before: Frame?
      var frame: Frame
      var label: String
      var green: Double
      var mask: String
      var problem: String
      var complaints: [String]
    }

    @Test(.tags(.demanding), arguments: ["chromium", "firefox"])
    func `the page draws boxes around faces, and masks them with an uploaded image`(browser: String) async throws {
      try await VidiconProcess.serving(Self.woman()) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let run = try await Tool.run(
            "python3", [TestMedia.client("page_faces.py"), vidicon.page("/live"), folder, "--browser", browser],
            within: .seconds(60))
          try #require(run.succeeded, "\(run.errors)")
          let seen = try JSONDecoder().decode(Seen.self, from: Data(run.output))
          #expect(seen.before == nil)
          // The face is a third of the frame wide, right of its center.
          #expect((0.4...0.7).contains(seen.frame.x) && (0.2...0.45).contains(seen.frame.width), "\(seen.frame)")
          #expect((0...0.5).contains(seen.frame.y) && (0.4...0.9).contains(seen.frame.height), "\(seen.frame)")
          #expect(seen.label == "true")
          #expect((0.02...0.6).contains(seen.green))
          #expect(seen.mask == "image")
          #expect(seen.problem == "")
          #expect(seen.complaints == [])
        }
      }
    }
  }
}
