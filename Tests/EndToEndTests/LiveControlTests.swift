import FakeCamera
import Foundation
import Testing

extension EndToEnd {
  @Suite("Changes to a running stream") struct LiveControl {
    static let bars = ["--source", "bars", "--audio", "tone", "--size", "320x180", "--fps", "30"]

    struct State: Decodable {
      struct Source: Decodable {
        var video: String?
        var audio: String?
      }

      struct Level: Decodable {
        var peak: Double
      }

      var source: Source
      var bitrate: Int
      var mirror: Bool
      var rotation: Int
      var mute: Bool
      var pause: Bool
      var previewMirrored: Bool
      var level: Level
      var slate: Bool
    }

    static func send(
      _ method: String, _ json: String, to address: String, _ options: [String] = []
    ) async throws -> Curl {
      try await Curl.get(
        address,
        ["--request", method, "--header", "Content-Type: application/json", "--data", json] + options,
        within: .seconds(30))
    }

    /// Waits for the next status event; the program prints one per second.
    static func waitForASecond(_ vidicon: VidiconProcess) async throws {
      _ = try await vidicon.status { _ in true }
    }

    @Test(.tags(.timing)) func `RTSP and HLS viewers get continuous timestamps across source switches`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let address = vidicon.page("/api/streams/live/source")
        let switching = Task {
          var answers: [Int] = []
          for source in ["plasma", "bars", "noise", "plasma", "bars"] {
            try await Self.waitForASecond(vidicon)
            answers.append(try await Self.send("PUT", #"{"video":"\#(source)"}"#, to: address).status)
          }
          return answers
        }
        async let overRTSP = SwitchWatch.watch(vidicon.url(), seconds: 10, options: FFmpeg.overTCP)
        async let overHLS = SwitchWatch.watch(vidicon.page("/live/live.m3u8"), seconds: 10)
        for watch in try await [overRTSP, overHLS] { watch.expectCutsOnly() }
        #expect(try await switching.value == [200, 200, 200, 200, 200])
      }
    }

    @Test func `changed settings are returned and applied`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let address = vidicon.page("/api/streams/live")
        let first = try await Curl.get(address).json(State.self)
        #expect(first.source.video == "bars")
        #expect(first.source.audio == "tone")
        #expect(
          (first.mirror, first.rotation, first.mute, first.pause, first.bitrate) == (false, 0, false, false, 2_300_000))
        #expect(!first.previewMirrored)
        let patch = #"{"mirror":true,"rotation":90,"mute":true,"pause":true,"bitrate":500000}"#
        let state = try await Self.send("PATCH", patch, to: address).json(State.self)
        #expect(
          (state.mirror, state.rotation, state.mute, state.pause, state.bitrate) == (true, 90, true, true, 500_000))
        // A PATCH is applied completely or not at all.
        let refused = try await Self.send("PATCH", #"{"mirror":false,"controls":{"zoom":1}}"#, to: address)
        #expect(refused.status == 409)
        #expect(refused.text.contains("zoom"))
        #expect(try await Curl.get(address).json(State.self).mirror)
        let reset = try await Self.send("PATCH", #"{"mirror":null,"rotation":null,"bitrate":null}"#, to: address)
        let after = try reset.json(State.self)
        #expect((after.mirror, after.rotation, after.mute, after.bitrate) == (false, 0, true, 2_300_000))
        // A source keeps its rotation while another one is active.
        _ = try await Self.send("PATCH", #"{"rotation":180,"pause":false}"#, to: address)
        let other = try await Self.send("PUT", #"{"video":"plasma"}"#, to: "\(address)/source").json(State.self)
        #expect((other.source.video, other.rotation) == ("plasma", 0))
        let back = try await Self.send("PUT", #"{"video":"bars"}"#, to: "\(address)/source").json(State.self)
        #expect((back.source.video, back.rotation) == ("bars", 180))
      }
    }

    @Test func `an unavailable source is refused with the reason, and the current one stays`() async throws {
      let folder = FileManager.default.temporaryDirectory.path
      try await VidiconProcess.serving(Self.bars + ["--files", folder]) { vidicon in
        let address = vidicon.page("/api/streams/live/source")
        let broken = "\(folder)/\(UUID())-film.mp4"
        try Data("no film".utf8).write(to: URL(filePath: broken))
        defer { try? FileManager.default.removeItem(atPath: broken) }
        for (json, status, reason) in [
          (#"{"video":"nonsense"}"#, 400, "nonsense: it is not a video source"),
          (#"{"audio":"plasma"}"#, 400, "plasma: it is not an audio source"),
          (#"{"video":"file:\#(broken)"}"#, 502, "film.mp4"), (#"{"audio":"none"}"#, 409, "silence"),
          (#"{"video":"plasma","audio":"file:\#(broken)"}"#, 502, "film.mp4"),
          (#"{"video":"file:/etc/film.mp4"}"#, 403, "--files"),
          (#"{"video":"rtsp://me:secret@127.0.0.1:1/cam"}"#, 502, "127.0.0.1:1"),
        ] {
          let answer = try await Self.send("PUT", json, to: address)
          #expect(answer.status == status, "\(json): \(answer.text)")
          #expect(answer.text.contains(reason), "\(answer.text)")
          #expect(!answer.text.contains("secret"))
          #expect(answer.text.split(separator: "\n").count == 1)
        }
        let refused = try await Self.send(
          "PUT", #"{"video":"plasma"}"#, to: address, ["--header", "X-Forwarded-For: 192.0.2.1"])
        #expect(refused.status == 401, "a proxy forwards for another machine: \(refused.text)")
      }
      // With --control all, remote clients choose only generators and the initial sources.
      try await VidiconProcess.serving(Self.bars + ["--control", "all"]) { vidicon in
        let address = vidicon.page("/api/streams/live/source")
        for (json, status) in [
          (#"{"video":"file:/etc/passwd"}"#, 403), (#"{"video":"rtsp://127.0.0.1/x"}"#, 403),
          (#"{"video":"pipe:"}"#, 403),
          (#"{"video":"screen:"}"#, 403), (#"{"video":"v4l2:"}"#, 403), (#"{"audio":"mic:"}"#, 403),
          (#"{"video":"bars","audio":"tone"}"#, 200), (#"{"video":"plasma"}"#, 200),
        ] {
          let answer = try await Self.send("PUT", json, to: address, ["--header", "X-Forwarded-For: 192.0.2.1"])
          #expect(answer.status == status, "\(json): \(answer.text)")
          if status == 403 { #expect(answer.text.contains("operator")) }
        }
        let state = try await Curl.get(vidicon.page("/api/streams/live")).json(State.self)
        #expect(state.source.video == "plasma")
        #expect(!state.slate)
      }
    }

    @Test func `without a camera the plasma and the tone are served, and the choice is reported`() async throws {
      let size = ["--size", "320x180"]
      try await VidiconProcess.serving(size, environment: ["DISPLAY": ""]) { vidicon in
        let state = try await Curl.get(vidicon.page("/api/streams/live")).json(State.self)
        #expect(state.source.video == "plasma")
        let choice = try #require(vidicon.started.choice)
        #expect(choice.contains("plasma"))
      }
    }

    @Test func `devices are listed as a table and as JSON`() async throws {
      let camera = try FakeCamera.environment(["formats=YUYV 320x240 30"])
      let table = try ChildProcess(VidiconProcess.path(), ["devices"], environment: camera)
      #expect(await table.end(within: .seconds(30)) == .status(0))
      await table.output.end()
      let lines = table.output.text.split(separator: "\n")
      #expect(lines.contains { $0.contains("v4l2:/dev/video0") && $0.contains("Fake Camera") }, "\(lines)")
      #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
      let list = try await Tool.run(program: VidiconProcess.path(), ["devices", "--json"], within: .seconds(30))
      struct List: Decodable {
        struct Generator: Decodable {
          var specification: String
        }

        var generators: [Generator]
      }
      #expect(list.succeeded)
      let generators = try JSONDecoder().decode(List.self, from: Data(list.output)).generators.map(\.specification)
      #expect(generators.contains("bars"))
    }

    @Test(arguments: [("quit", 0), ("interrupt", 0), ("kill", -SIGQUIT), ("crash", -SIGSEGV), ("background", 0)])
    func `keys have their effect, and the terminal mode is restored`(how: String, exit: Int32) async throws {
      struct Seen: Decodable {
        var isRestored: Bool
        var stops: Int
        var exit: Int32
        var hints: Int
        var rawInBackground: Bool?
      }
      let options = ["serve"] + VidiconProcess.freePorts + ["--no-qr"] + Self.bars
      let run = try await Tool.run(
        "python3", [TestMedia.client("keys.py"), how, VidiconProcess.path()] + options, within: .seconds(60))
      try #require(run.succeeded, "\(run.errors)")
      let seen = try JSONDecoder().decode(Seen.self, from: Data(run.output))
      #expect(seen.isRestored)
      #expect(seen.stops == 0)
      #expect(seen.exit == exit)
      #expect(seen.hints == 1)
      #expect(seen.rawInBackground != true)
    }
  }
}
