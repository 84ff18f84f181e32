import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A configuration that is read again")
  struct Reloads {
    private static let (door, yard) = (
      "name: door, source: bars, audio: tone", "name: yard, source: plasma, audio: tone"
    )

    /// Writes the configuration file of a folder.
    private static func write(_ streams: [String], to folder: String, further: String = "") throws -> String {
      let list = streams.map { "  - {\($0), size: 320x180, fps: 15}\n" }.joined()
      let path = "\(folder)/vidicon.yaml"
      try Data("\(further)streams:\n\(list)".utf8).write(to: URL(filePath: path))
      return path
    }

    private static func reload(
      in folder: String
    ) async throws -> (exit: ChildProcess.Exit?, output: [Substring], errors: [Substring]) {
      let environment = ["XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder, "HOME": folder]
      let child = try ChildProcess(VidiconProcess.path(), ["reload"], environment: environment)
      let exit = await child.end(within: MachineShare.timeout(.seconds(60)))
      await child.output.end()
      await child.errors.end()
      return (exit, child.output.text.split(separator: "\n"), child.errors.text.split(separator: "\n"))
    }

    @Test(.tags(.timing)) func `a viewer of a stream that is the same sees no gap while others change`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let file = try Self.write([Self.door, Self.yard, "name: hall, source: bars, audio: none"], to: folder)
        let options = ["--config", file, "--control", "operators"]
        try await VidiconProcess.serving(options, environment: ["XDG_RUNTIME_DIR": folder]) { vidicon in
          let url = vidicon.url("door")
          async let watched = FFmpeg.play(url, seconds: 10)
          _ = try await vidicon.status(of: "door") { $0.viewers == 1 }
          _ = try Self.write(
            [Self.door, "name: yard, source: noise, audio: tone", "name: roof, source: bars, audio: none"], to: folder)
          let reload = try await Self.reload(in: folder)
          #expect(reload.exit == .status(0) && reload.errors == [], "\(reload.errors)")
          #expect(reload.output == ["hall: stopped", "yard: the source is switched", "roof: started"])
          _ = try await vidicon.status(of: "roof") { ($0.framesEncoded ?? 0) > 0 }
          let play = try await watched
          #expect(play.run.exit == .status(0), "\(play.run.errors)")
          #expect(FFmpeg.complaints(in: play.run.errors) == [])
          let maximumInterval = zip(play.times.dropFirst(), play.times).map { $0 - $1 }.max()
          #expect(try #require(maximumInterval) < 0.166, "a frame each 67 ms, and a gap of 100 ms at most")
        }
      }
    }

    /// Output of many_viewers.py; times in milliseconds.
    private struct ManyViewers: Decodable {
      var frames: [Int]
      var packetsLost: Int
      var closed: Int
      var maximumStep: Double
      var maximumWait: Double
    }

    @Test(.tags(.timing)) func `200 viewers of a stream that is the same have no gap of 100 ms`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let same = "name: live, source: bars, audio: none, size: 320x180, fps: 30, bitrate: 200k"
        func write(_ others: [String]) throws -> String {
          let list = ([same] + others.map { "\($0), size: 320x180, fps: 15" }).map { "  - {\($0)}\n" }.joined()
          let path = "\(folder)/vidicon.yaml"
          try Data("streams:\n\(list)".utf8).write(to: URL(filePath: path))
          return path
        }
        let options = ["--config", try write([Self.yard, "name: hall, source: bars"]), "--control", "operators"]
        try await VidiconProcess.serving(options, environment: ["XDG_RUNTIME_DIR": folder]) { vidicon in
          let arguments = ["127.0.0.1", "\(vidicon.rtspPort)", "200", "15"]
          let viewers = try ChildProcess(Tool("python3").path, [TestMedia.client("many_viewers.py")] + arguments)
          defer { viewers.kill() }
          try await viewers.complains("watching", within: .seconds(60))
          _ = try write([
            "name: yard, source: noise, audio: tone", "name: roof, source: bars", "name: hall, source: bars",
          ])
          #expect(try await Self.reload(in: folder).exit == .status(0))
          _ = try write([Self.door])
          #expect(try await Self.reload(in: folder).exit == .status(0))
          #expect(await viewers.end(within: .seconds(60)) == .status(0))
          await viewers.output.end()
          let seen = try JSONDecoder().decode(ManyViewers.self, from: Data(viewers.output.text.utf8))
          report("maximum time between two frames of one of 200 viewers, ms", seen.maximumWait, limit: 100)
          report("maximum step of its RTP timestamps, ms", seen.maximumStep, limit: 100)
          #expect(seen.frames.count == 200 && seen.closed == 0 && seen.packetsLost == 0, "\(seen)")
          #expect(seen.frames.min() ?? 0 > 15 * 28 && seen.maximumStep <= 100 && seen.maximumWait <= 100, "\(seen)")
        }
      }
    }

    @Test func `a port waits for the next start, and a wrong file is one line`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let file = try Self.write([Self.door], to: folder)
        let options = ["--config", file, "--control", "operators"]
        try await VidiconProcess.serving(options, environment: ["XDG_RUNTIME_DIR": folder]) { vidicon in
          _ = try Self.write([Self.door], to: folder, further: "rtspUDP: true\n")
          let port = try await Self.reload(in: folder)
          #expect(port.exit == .status(1) && port.output == [])
          #expect(port.errors == ["vidicon: rtspUDP: used when the program is started again"])
          _ = try Self.write(["name: door, faces: maybe"], to: folder)
          let wrong = try await Self.reload(in: folder)
          #expect(wrong.exit == .status(1) && wrong.output == [] && wrong.errors.count == 1, "\(wrong.errors)")
          #expect(wrong.errors.first?.contains("vidicon.yaml:2:") == true, "\(wrong.errors)")
          #expect(wrong.errors.first?.contains("the configuration stays as it was") == true, "\(wrong.errors)")
          _ = try Self.write([Self.door], to: folder)
          let same = try await Self.reload(in: folder)
          #expect(same.exit == .status(0) && same.output == ["nothing has changed"], "\(same.errors)")
        }
      }
    }

    @Test func `SIGHUP has the file read again where there is no terminal`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let file = try Self.write([Self.door], to: folder)
        // The shell becomes the program, which is then in a session without a terminal.
        let entry = [
          try Tool("setsid").path, "--wait", "sh", "-c", #"echo $$ >"$0"; exec "$@""#, "\(folder)/process",
        ]
        try await VidiconProcess.serving(["--config", file], entry: entry) { vidicon in
          let text = try String(contentsOfFile: "\(folder)/process", encoding: .utf8)
          let process = try #require(Int32(text.dropLast()))
          _ = try Self.write([Self.door, Self.yard], to: folder)
          kill(process, SIGHUP)
          let event = try await vidicon.statusEvent { $0.streams?.contains { $0.name == "yard" } == true }
          #expect(event.streams?.map(\.name) == ["door", "yard"])
          kill(process, SIGINT)
          #expect(await vidicon.child.end(within: MachineShare.timeout(.seconds(20))) == .status(0))
          await vidicon.child.errors.end()
          #expect(vidicon.child.errors.text.contains("vidicon: reload: yard: started\n"))
        }
      }
    }
  }
}
