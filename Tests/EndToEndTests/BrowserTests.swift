import Foundation
import Testing

extension EndToEnd {
  @Suite("The web page in Chromium and Firefox")
  struct Browsers {
    private static let bars = ["--source", "bars", "--audio", "tone", "--size", "1280x720", "--fps", "30"]

    /// Output of page_play.py.
    struct Seen: Decodable {
      var firstFrameSeconds: Double
      var playedSeconds: Double
      var elapsedSeconds: Double
      var decoded: Int
      var width: Int
      var height: Int
      var badge: String
      var size: String
      var hasAudio: Bool
      var audio: String
      var loudest: Double
      var moving: Double
      var medianLatency: Double
      var latencies: Int
      var unread: Int
      var shownMinusStrip: Double
      var buffered: Double
      var complaints: [String]
    }

    /// Output of page_look.py.
    private struct Looked: Decodable {
      var looks: Int
      var wrong: [String: [String]]
      var forbidden: [String]
    }

    /// Output of page_pushes.py: of each push the state, the server, and details.
    private struct PagePushes: Decodable {
      var hiddenAtFirst: Bool
      var added: [[String]]
      var both: [[String]]
      var one: [[String]]
      var hiddenWhileSending: Bool
      var none: [[String]]
      var texts: Int
      var keyIsReadable: Bool
      var complaints: [String]
    }

    @Test(.tags(.demanding), arguments: ["chromium", "firefox"])
    func `it shows pushes as they come, go and fail, and nothing that a page can read has their keys`(
      browser: String
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let key = "SECRETKEY"
        let closed = "rtmp://127.0.0.1:\(try FreePort.take())/app/\(key)2"
        try await VidiconProcess.serving(["--source", "bars", "--audio", "tone", "--size", "320x180"]) { vidicon in
          let seen: PagePushes = try await Self.drive(
            "page_pushes.py", [vidicon.page("/live"), nginx.url("\(key)1"), closed, key, "--browser", browser],
            within: .seconds(90))
          #expect(seen.hiddenAtFirst && !seen.hiddenWhileSending)
          let address = "rtmp://127.0.0.1:\(nginx.port)/app"
          for shown in [seen.added, seen.one] {
            #expect(shown.map { Array($0.prefix(2)) } == [["Sending", address]])
            #expect(try shown[0][2].contains(Regex(#"\d [kM]b/s"#)), "\(shown)")
          }
          try #require(seen.both.count == 2)
          #expect(Array(seen.both[0].prefix(2)) == ["Sending", address])
          #expect(seen.both[1][0].hasPrefix("Again in ") && seen.both[1][1] == closed.replacing("/\(key)2", with: ""))
          #expect(seen.both[1][2].contains("connection refused"))
          #expect(seen.none.isEmpty)
          #expect(seen.texts == 28 && !seen.keyIsReadable)
          #expect(seen.complaints == [])
        }
      }
    }

    /// Output of page_check.py: titles of the findings that are shown, each with rows of subject, meaning and command.
    private struct PageCheck: Decodable {
      struct Shown: Decodable {
        var parts: [Part]
        /// Findings that are all right; nil where there are none.
        var rest: Part?
        var isOpen: Bool

        func rows(_ title: String) -> [[String]] {
          self.parts.filter { $0.title == title }.flatMap(\.rows)
        }
      }

      struct Part: Decodable {
        var title: String
        var rows: [[String]]

        init(from decoder: any Decoder) throws {
          var container = try decoder.unkeyedContainer()
          self.title = try container.decode(String.self)
          self.rows = try container.decode([[String]].self)
        }
      }

      var shownAtFirst: String
      var first: Shown
      var state: String
      var live: String
      var keepsFocus: Bool
      var second: Shown
      var complaints: [String]
    }

    @Test(.tags(.demanding), arguments: ["chromium", "firefox"])
    func `it shows operators what is wrong with the machine, and the command of a fault mends it`(
      browser: String
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let recordings = "\(folder)/recordings"
        try FileManager.default.createDirectory(atPath: recordings, withIntermediateDirectories: false)
        let options = ["--source", "bars", "--audio", "none", "--size", "320x180", "--recordings", recordings]
        try await VidiconProcess.serving(options) { vidicon in
          // A disk that is not there any more.
          try FileManager.default.removeItem(atPath: recordings)
          let subject = "recordings of live"
          let seen: PageCheck = try await Self.drive(
            "page_check.py", [vidicon.page("/live"), subject, "--browser", browser], within: .seconds(120))
          #expect(seen.shownAtFirst == "" && seen.live == "status" && seen.keepsFocus)
          let fault = try #require(seen.first.rows("Faults").first { $0[0] == subject })
          // Another user than that of the program may copy the command.
          let prefix = geteuid() == 0 ? "sudo" : "sudo -u \(NSUserName())"
          #expect(fault == [subject, "the folder \(recordings) does not exist", "\(prefix) mkdir -p \(recordings)"])
          #expect(seen.state.contains(" fault"))
          // Faults come first.
          #expect(seen.first.parts.first?.title == "Faults")
          let rest = try #require(seen.first.rest)
          #expect(rest.title.hasSuffix("checks are all right") && !seen.first.isOpen)
          let ports = rest.rows.filter { $0[0].contains(" port ") }
          #expect(!ports.isEmpty && ports.allSatisfy { $0[1] == "this program serves on it" }, "\(rest.rows)")
          // A disk with little space is still a warning.
          let second = seen.second.rows("Warnings") + (seen.second.rest?.rows ?? [])
          #expect(second.contains { $0[0] == subject && $0[1].contains("\(recordings) has ") }, "\(second)")
          #expect(seen.complaints == [])
        }
      }
    }

    @Test(.tags(.timing), arguments: ["chromium", "firefox"]) func `it plays video and audio, and shows the latency`(
      browser: String
    ) async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let seen: Seen = try await Self.drive(
            "page_play.py", [vidicon.page("/live"), folder, "--browser", browser], within: .seconds(90))
          #expect(seen.width == 1280)
          #expect(seen.height == 720)
          #expect(seen.badge == "Live")
          #expect(abs(seen.playedSeconds - seen.elapsedSeconds) < 1)
          #expect(seen.decoded > 20 * Int(seen.elapsedSeconds))
          #expect(seen.moving > 0.05, "the frame stands still")
          #expect(seen.hasAudio)
          // Firefox gives pages no samples without a sound card.
          if browser == "chromium" { #expect(seen.loudest > 0.01, "there is no audio; \(seen.audio)") }
          #expect(seen.latencies > 30)
          #expect(seen.unread * 10 < seen.latencies)
          report("median latency, s", seen.medianLatency, limit: 1.2)
          #expect(seen.medianLatency < 1.2)
          #expect(abs(seen.shownMinusStrip) < 0.15, "the page tells another latency than the frame")
          #expect(seen.buffered < 20)
          #expect(seen.complaints == [])
        }
      }
    }

    @Test(.tags(.demanding)) func `its layout is right on a desktop and on a phone, in light and in dark`() async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let options = Self.bars + ["--record", "\(folder)/{name}.mp4", "--https-port", "0"]
        try await VidiconProcess.serving(options, environment: ["XDG_STATE_HOME": folder]) { vidicon in
          let looked: Looked = try await Self.drive(
            "page_look.py", [vidicon.page(""), "live", folder], within: .seconds(240))
          #expect(looked.looks == 95)
          #expect(looked.wrong == [:])
          #expect(looked.forbidden == [], "the content security policy forbids what the page does")
        }
      }
    }

    @Test(.tags(.demanding))
    func `it recovers from pauses, lost networks, damaged media, hidden tabs and a server restart`()
      async throws
    {
      let took: [String: Double] = try await Self.drive(
        "page_survive.py", [VidiconProcess.path()], within: .seconds(240))
      #expect(took.count == 10 && took.values.allSatisfy { $0 < 30 }, "\(took)")
      #expect(try #require(took["bufferedSeconds"]) < 20)
    }

    static func drive<Result: Decodable>(
      _ script: String, _ arguments: [String], within limit: Duration
    ) async throws -> Result {
      let run = try await Tool.run("python3", [TestMedia.client(script)] + arguments, within: limit)
      try #require(run.succeeded, "\(script): \(run.errors)")
      return try JSONDecoder().decode(Result.self, from: Data(run.output))
    }
  }
}
