import Foundation
import HLSRules
import TestSupport
import Testing

extension EndToEnd {
  /// Runs of the program that a script starts one after another, which plays the service manager.
  @Suite("Restarts under a service manager that keeps descriptors")
  struct Restarts {
    private static let source = ["--source", "bars", "--audio", "tone", "--size", "320x180", "--fps", "30"]

    /// A run of the program, as the script reports it.
    private struct Run: Decodable {
      /// Names of its descriptors.
      var names: [String]
      /// Seconds from the end of the run before to its readiness.
      var seconds: Double
      /// Status of the run before.
      var status: Int?
    }

    /// A folder with the files of the script.
    private struct Manager {
      let folder: String
      var trigger: String { "\(self.folder)/restart" }
      /// Exists while no run of the program is ready.
      var down: String { "\(self.trigger).down" }

      func entry() throws -> [String] {
        [
          try Tool("python3").path, TestMedia.client("service_manager.py"), "--restart", self.trigger, "--report",
          "\(self.folder)/runs",
        ]
      }

      /// Has the program started again, and waits until it is ready.
      ///
      /// - Parameter isCrash: Whether it ends by SIGKILL, and not in order.
      func restart(isCrash: Bool = false) async throws {
        try Data((isCrash ? "KILL" : "").utf8).write(to: URL(filePath: self.trigger), options: .atomic)
        try await waitUntil { !FileManager.default.fileExists(atPath: self.trigger) }
      }

      func runs() throws -> [Run] {
        let text = try String(contentsOfFile: "\(self.folder)/runs", encoding: .utf8)
        return try text.split(separator: "\n").map { try JSONDecoder().decode(Run.self, from: Data($0.utf8)) }
      }
    }

    private static func serving<Result>(
      _ arguments: [String] = [], _ body: (VidiconProcess, Manager) async throws -> Result
    ) async throws -> Result {
      try await TestMedia.withTemporaryFolder { folder in
        let manager = Manager(folder: folder)
        return try await VidiconProcess.serving(Self.source + arguments, entry: manager.entry()) { vidicon in
          try await body(vidicon, manager)
        }
      }
    }

    @Test func `none of a thousand connections is refused while the program is started again twenty times`()
      async throws
    {
      /// Output of connections.py.
      struct Counts: Decodable {
        var tried: Int
        var refused: Int
        var answered: Int
        var unanswered: Int
        var timedOut: Int
        /// Connections that began while no run was ready, and the answered ones among them.
        var between: Int
        var answeredBetween: Int
      }
      let restarts = 20
      try await Self.serving(["--rtmp-port", "0", "--webrtc-port", "0"]) { vidicon, manager in
        let end = "\(manager.folder)/end"
        let arguments = [
          TestMedia.client("connections.py"), "--http", "\(vidicon.httpPort)", "--rtsp", "\(vidicon.rtspPort)",
          "--until", end, "--down", manager.down, "--minimum", "1000",
        ]
        async let load = Tool.run("python3", arguments, within: .seconds(400))
        for _ in 0..<restarts { try await manager.restart() }
        try Data().write(to: URL(filePath: end))
        let run = try await load
        try #require(run.succeeded, "\(run.errors)")
        let counts = try JSONDecoder().decode(Counts.self, from: Data(run.output))
        #expect(counts.refused == 0 && counts.timedOut == 0 && counts.tried >= 1000, "\(counts)")
        #expect(counts.between > 0 && counts.answeredBetween == counts.between, "\(counts)")
        // Accepted just before the program stopped, of a hundred in a second: the fewer, the faster the machine.
        #expect(counts.unanswered < counts.answered / 4, "\(counts)")
        let runs = try manager.runs()
        #expect(runs.count == restarts + 1 && runs.dropFirst().allSatisfy { $0.status == 0 }, "\(runs)")
        let names = [
          "vidicon.http.0", "vidicon.rtmp.0", "vidicon.rtsp.0", "vidicon.webrtc-tcp.0", "vidicon.webrtc.0",
        ]
        #expect(runs.dropFirst().allSatisfy { $0.names.sorted() == names }, "\(runs)")
      }
    }

    @Test func `HLS playlists go on with the same names and numbers, behind a discontinuity`() async throws {
      try await Self.serving { vidicon, manager in
        var checkers = ["live.m3u8": HLSRuleChecker(), "playlist.m3u8": HLSRuleChecker()]
        func playlist(_ file: String) throws -> MediaPlaylistText {
          let answer = try HTTPConnection(port: vidicon.httpPort).get("/live/\(file)")
          guard answer.status == 200 else { throw HTTPConnection.Failure(what: "\(answer.status) \(answer.text)") }
          checkers[file]?.check(answer.text, at: 0)
          return MediaPlaylistText(answer.text)
        }
        // More than the playlist of a start.
        try await waitUntil {
          _ = try playlist("live.m3u8")
          return try playlist("playlist.m3u8").segments.count >= 6
        }
        for _ in 0..<3 {
          let before = try playlist("playlist.m3u8")
          try await manager.restart()
          let number = before.number(before.segments.count - 1)
          var found: MediaPlaylistText?
          try await waitUntil {
            _ = try playlist("live.m3u8")
            let after = try playlist("playlist.m3u8")
            if after.number(after.segments.count - 1) >= number + 3 { found = after }
            return found != nil
          }
          let after = try #require(found)
          let prefixes = [before, after].map { $0.segments.last?.uri?.split(separator: "-").first }
          #expect(prefixes[0] == prefixes[1] && prefixes[0] != nil)
        }
        // A hint at the part that was growing may come to nothing; requests are as far apart as this machine makes them.
        let violations = checkers.values.flatMap(\.violations).filter { ![.preloadHint, .freshness].contains($0.rule) }
        #expect(violations == [])
        #expect(try manager.runs().last?.names.contains("vidicon.hls") == true)
      }
    }

    @Test func `after a crash all ports are the same, those with TLS too, and players of HLS start again`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let ports = ["https", "rtsps", "rtmp", "rtmps"].flatMap { ["--\($0)-port", "0"] }
        try await Self.serving(ports + Smoke.certificate(in: folder)) { vidicon, manager in
          func firstSegment() throws -> String? {
            let answer = try HTTPConnection(port: vidicon.httpPort).get("/live/playlist.m3u8")
            return answer.status == 200 ? MediaPlaylistText(answer.text).segments.first?.uri : nil
          }
          let before = try #require(try firstSegment())
          try await manager.restart(isCrash: true)
          let run = try #require(try manager.runs().last)
          #expect(run.status == -9)
          // Without segments.
          #expect(run.names.sorted() == ["http", "https", "rtmp", "rtmps", "rtsp", "rtsps"].map { "vidicon.\($0).0" })
          let after = try #require(try firstSegment())
          #expect(before.split(separator: "-").first != after.split(separator: "-").first)
        }
      }
    }

    @Test(.tags(.timing)) func `ffmpeg plays HLS across a restart`() async throws {
      try await Self.serving { vidicon, manager in
        async let playing = FFmpeg.play(
          vidicon.page("/live/playlist.m3u8"), seconds: 20, options: [], audio: false, within: .seconds(80))
        _ = try await vidicon.status { $0.viewers == 1 }
        // Beyond its first segments.
        try await waitUntil {
          let answer = try HTTPConnection(port: vidicon.httpPort).get("/live/playlist.m3u8")
          return answer.status == 200 && MediaPlaylistText(answer.text).segments.count >= 6
        }
        try await manager.restart()
        let play = try await playing
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        let gap = zip(play.times.dropFirst(), play.times).map { $0 - $1 }.max() ?? 0
        let seconds = try #require(try manager.runs().last).seconds
        // Of the video nothing is missing but the time in which the program did not run, and the frames before the first keyframe.
        report("gap of the video beyond the restart, s", gap - seconds, limit: 2)
        #expect(gap < seconds + 2)
        #expect(play.frames.count > 300)
      }
    }

    /// Output of hls_play.py.
    private struct Seen: Decodable {
      var decoded: Int
      var errors: [String]
      var playedSeconds: Double
      var elapsedSeconds: Double
      var restartSeconds: Double
    }

    @Test(.tags(.timing), arguments: ["playlist.m3u8", "live.m3u8"])
    func `hls.js plays on after a restart`(playlist: String) async throws {
      try await Self.serving(["--cors", "*"]) { vidicon, manager in
        let run = try await Tool.run(
          "python3",
          [
            TestMedia.client("hls_play.py"), "hlsjs", vidicon.page("/live/\(playlist)"), "--library",
            try TestMedia.file("hls.mjs"), "--seconds", "12", "--server-restart", manager.trigger,
          ], within: .seconds(120))
        try #require(run.succeeded, "\(run.errors)")
        let seen = try JSONDecoder().decode(Seen.self, from: Data(run.output))
        #expect(!seen.errors.contains { $0.contains("fatal") }, "\(seen.errors)")
        // In 12 s after the restart.
        #expect(seen.decoded > 200)
        let stall = seen.elapsedSeconds - seen.playedSeconds - seen.restartSeconds
        report("stall beyond the restart, s, hls.js \(playlist)", stall, limit: 3)
        #expect(stall < 3, "\(seen)")
      }
    }
  }
}
