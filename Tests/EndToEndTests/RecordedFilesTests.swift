import Foundation
import Testing

extension EndToEnd {
  @Suite("Recorded files in players, and against ISO/IEC 14496-12")
  struct RecordedFiles {
    @Test(.tags(.demanding)) func `a recorded file is valid, and plays and seeks in every player`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/plain.mp4"
        let run = try await VidiconProcess.run(["record", path, "--duration", "6s"] + RecordedFile.source)
        try #require(run.exit == .status(0), "\(run.errors)")
        try await Self.check(path, "plain")
        let file = try await RecordedFile(path)
        file.checkThatItIsWhole()
        #expect(try #require(file.times.last) > 5.9)
        try await Self.playInGStreamer(file)
        try await Self.playInChromium(file)

        let show = try await Self.playInVLC(file, ["--start-time", "3", "--run-time", "1"])
        let first = try #require(show.captures.first ?? nil)
        let wanted = try #require(file.capture(at: 3))
        #expect(abs(first - wanted) < 40_000, "it has jumped to 3 s")
      }
    }

    @Test func `parts, and files with pauses, are valid`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/out.mp4"
        let child = try ChildProcess(
          VidiconProcess.path(),
          ["record", path, "--json", "--split-duration", "3s", "--duration", "7s"] + RecordedFile.source)
        defer { child.kill() }
        async let exit = child.end(within: MachineShare.timeout(.seconds(30)))
        var beats = 0
        for await piece in child.output.pieces where String(decoding: piece, as: UTF8.self).contains("\"status\"") {
          beats += 1
          if beats == 2 || beats == 3 { child.signal(SIGUSR1) }
        }
        #expect(await exit == .status(0), "\(child.errors.text)")
        let parts = try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { "\(folder)/\($0)" }
        #expect(parts.count == 3, "\(parts)")
        for part in parts { try await Self.check(part, "plain") }
      }
    }

    @Test func `the portrait preset has the size, rates and codecs of phone recordings`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/out.mp4"
        let run = try await VidiconProcess.run(
          ["record", path, "--source", "plasma", "--audio", "tone", "--preset", "portrait", "--duration", "4s"])
        try #require(run.exit == .status(0), "\(run.errors)")
        try await Self.check(path, "plain")
        let probe = try await FFprobe.look(at: path, options: [])
        #expect(probe.video?.width == 720 && probe.video?.height == 1280)
        #expect(probe.audio?.sampleRate == "44100" && probe.audio?.channels == 1 && probe.audio?.profile == "LC")
        let size = try #require(
          try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        #expect((1_500_000...3_000_000).contains(size * 8 / 4), "2.3 Mb/s and 64 kb/s: \(size) bytes in 4 s")
      }
    }

    /// Checks a file's boxes with mp4_check.py.
    static func check(
      _ path: String, _ kind: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      let run = try await Tool.run("python3", [TestMedia.client("mp4_check.py"), kind, path], within: .seconds(20))
      #expect(run.succeeded, "\(run.outputText)\(run.errors)", sourceLocation: sourceLocation)
    }

    static func playInGStreamer(_ file: RecordedFile) async throws {
      let run = try await Tool.run(
        "gst-launch-1.0",
        ["-q", "filesrc", "location=\(file.path)", "!", "qtdemux", "name=d", "d.video_0", "!", "queue", "!"]
          + ["avdec_h264", "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "fdsink", "fd=1", "sync=false"]
          + ["d.audio_0", "!", "queue", "!", "avdec_aac", "!", "fakesink", "sync=false"],
        within: .seconds(30))
      #expect(run.succeeded && run.errors == "", "\(run.errors)")
      #expect(abs(run.output.count / (RecordedFile.width * 360) - file.times.count) <= 1)
    }

    static func playInVLC(_ file: RecordedFile, _ options: [String]) async throws -> VLC.Show {
      // VLC runs as another user.
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: URL(fileURLWithPath: file.path).deletingLastPathComponent().path)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
      let show = try await VLC.play(file.path, options, each: 1, width: RecordedFile.width, height: 360)
      #expect(show.run.succeeded && show.hasAudio)
      #expect(show.captures.count >= 25, "VLC showed \(show.captures.count) frames")
      #expect(show.captures.allSatisfy { $0 != nil })
      return show
    }

    /// Output of file_play.py.
    private struct Seen: Decodable {
      var duration: Double
      /// Capture time of the frame displayed at each seek target, microseconds since 1970.
      var strips: [Double?]
      var ended: Bool
    }

    static func playInChromium(_ file: RecordedFile) async throws {
      let run = try await Tool.run("python3", [TestMedia.client("file_play.py"), file.path], within: .seconds(60))
      try #require(run.succeeded, "\(run.errors)")
      let seen = try JSONDecoder().decode(Seen.self, from: Data(run.output))
      #expect(try abs(seen.duration - #require(file.times.last) - 1 / 30) < 0.05)
      #expect(seen.ended)
      for (index, time) in [3.0, 0.5, 2.0].enumerated() {
        let shown = try #require(seen.strips[index], "no strip at \(time) s")
        let wanted = try #require(file.capture(at: time))
        #expect(abs(shown - Double(wanted)) < 70_000, "at \(time) s")
      }
    }
  }
}
