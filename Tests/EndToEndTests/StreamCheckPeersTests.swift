import Foundation
import Testing

extension EndToEnd {
  /// `vidicon check URL` against servers of other projects, healthy ones and such with a planted fault.
  @Suite("The check of a stream, and its peers")
  struct StreamCheckPeers {
    /// The JSON of `vidicon check URL --json`.
    private struct Report: Decodable, CustomStringConvertible {
      struct Finding: Decodable {
        var part: String
        var subject: String
        var verdict: String
        var meaning: String
        var advice: String?
        var command: String?
      }

      var verdict: String
      var findings: [Finding]

      /// Findings that are not all right, without those of clients, which repeat them.
      var problems: [Finding] { self.findings.filter { $0.verdict != "ok" && $0.part != "clients" } }
      var description: String {
        self.findings.map { "\($0.verdict) \($0.subject): \($0.meaning)" }.joined(separator: "\n")
      }

      /// Problems that no load of this machine explains: late responses, starts and segments are no part of them.
      var lasting: [Finding] {
        let subjects = [
          "address", "session", "parameter sets", "profile", "B-frames", "codecs", "candidates", "images",
        ]
        return self.problems.filter { problem in
          ["certificates", "login", "web"].contains(problem.part) || subjects.contains(problem.subject)
            || problem.meaning.contains("breaks a rule")
        }
      }

      /// Whether a problem is about a subject, with a next step.
      func names(_ subject: String) -> Bool {
        self.problems.contains { $0.subject == subject && ($0.advice ?? $0.command) != nil }
      }
    }

    private static func check(_ url: String) async throws -> Report {
      let run = try await Tool.run(
        program: VidiconProcess.path(), ["check", url, "--json"], within: .seconds(300))
      let report = try JSONDecoder().decode(Report.self, from: Data(run.output))
      let status: [String: Int32] = ["ok": 0, "warning": 1, "fault": 2]
      let expected = try #require(status[report.verdict])
      #expect(run.exit == .status(expected), "\(run.errors)")
      return report
    }

    @Test func `a stream of this program is all right over each protocol`() async throws {
      let options = Smoke.plasma + ["--rtmp-port", "0", "--webrtc-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        let pages =
          ["live.m3u8", "playlist.m3u8", "mjpeg", "whep"].map { vidicon.page("/live/\($0)") } + [vidicon.page("/live")]
        for url in try [vidicon.url(), vidicon.rtmp()] + pages {
          let report = try await Self.check(url)
          #expect(report.lasting.isEmpty && report.findings.count > 1, "\(url)\n\(report)")
        }
        let none = try await Self.check(vidicon.url("none"))
        #expect(none.names("RTSP") && none.problems.allSatisfy { $0.subject == "RTSP" }, "\(none)")
      }
    }

    @Test func `nginx with RTMP is all right, and B-frames and a missing publisher are named`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        try await RTMPPublisher.publishing(RTMPPublisher.small, to: nginx.url("well")) { _ in
          try await waitUntil { nginx.log.contains("publish: name='well'") }
          let report = try await Self.check(nginx.url("well"))
          #expect(report.lasting.isEmpty && report.findings.count > 1, "\(report)")
        }
        let encoder = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "30"]
        try await RTMPPublisher.publishing(RTMPPublisher.video + encoder + ["-b_strategy", "0"], to: nginx.url("sick"))
        { _ in
          try await waitUntil { nginx.log.contains("publish: name='sick'") }
          let report = try await Self.check(nginx.url("sick"))
          #expect(report.names("B-frames") && report.lasting.count == 1, "\(report)")
        }
        let none = try await Self.check(nginx.url("none"))
        #expect(none.names("tracks") || none.names("RTMP"), "\(none)")
      }
    }

    /// Writes HLS of ffmpeg to a folder until `body` has ended.
    private static func writingHLS(
      _ options: [String], to folder: String, _ body: (ChildProcess) async throws -> Void
    ) async throws {
      let input = ["-nostdin", "-v", "error", "-re"] + RTMPPublisher.video + RTMPPublisher.encodingVideo
      let writer = try ChildProcess(
        Tool("ffmpeg").path, input + options + ["-f", "hls", "-hls_time", "1", "\(folder)/live.m3u8"])
      defer { writer.kill() }
      try await waitUntil {
        (try? String(contentsOfFile: "\(folder)/live.m3u8", encoding: .utf8))?.components(separatedBy: ".ts").count ?? 0
          > 4
      }
      try await body(writer)
    }

    /// Serves a folder as a plain file server, until `body` has ended.
    private static func servingFiles(of folder: String, _ body: (Int) async throws -> Void) async throws {
      let port = try FreePort.take()
      let server = try ChildProcess(
        Tool("python3").path, ["-u", "-m", "http.server", "\(port)", "--bind", "127.0.0.1", "--directory", folder])
      defer { server.kill() }
      try await server.says("Serving HTTP")
      try await body(port)
    }

    @Test func `HLS of ffmpeg on a file server is all right, and its planted faults are named`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await Self.servingFiles(of: folder) { port in
          let url = "http://127.0.0.1:\(port)/live.m3u8"
          try await Self.writingHLS(["-hls_flags", "delete_segments"], to: folder) { writer in
            let report = try await Self.check(url)
            #expect(report.lasting.isEmpty && report.findings.count > 1, "\(report)")
            // The encoder stops, and the playlist does not go on.
            writer.signal(SIGSTOP)
            let stopped = try await Self.check(url)
            writer.signal(SIGCONT)
            #expect(stopped.names("playlist"), "\(stopped)")
          }
          let playlist = try String(contentsOfFile: "\(folder)/live.m3u8", encoding: .utf8)
          let last = try #require(playlist.split(separator: "\n").last { $0.hasSuffix(".ts") })
          try FileManager.default.removeItem(atPath: "\(folder)/\(last)")
          let gone = try await Self.check(url)
          #expect(gone.names(String(last)), "\(gone)")
          let page = try await Self.check("http://127.0.0.1:\(port)/")
          #expect(page.names("playlist"), "\(page)")
        }
      }
    }

    @Test func `segments that do not start with keyframes are named`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await Self.servingFiles(of: folder) { port in
          let options = ["-g", "75", "-hls_flags", "split_by_time"]
          try await Self.writingHLS(options, to: folder) { _ in
            let report = try await Self.check("http://127.0.0.1:\(port)/live.m3u8")
            #expect(report.problems.contains { $0.meaning.contains("does not start with a keyframe") }, "\(report)")
          }
        }
      }
    }
  }
}
