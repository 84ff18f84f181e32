import Foundation
import Testing

extension EndToEnd {
  @Suite("Recording: failures, unfinished files, retention")
  struct RecordingFailures {
    private static let source = ["--source", "bars", "--audio", "tone", "--size", "320x180", "--fps", "30"]

    private struct State: Decodable {
      var state: String
      var duration: Double
      var error: String?
    }

    private struct Files: Decodable {
      var total: Int
      var bytes: Int
    }

    /// Serves with a recording that fails, and plays the stream.
    private func serve(recording pattern: String, saying cause: String) async throws {
      try await VidiconProcess.serving(Self.source + ["--record", pattern]) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 2)
        #expect(play.run.succeeded && play.frameRate > 25, "\(play.run.errors)")
        let lines = vidicon.child.errors.text.split(separator: "\n")
        #expect(lines.count == 1 && lines[0].contains(cause) && lines[0].utf8.count < 400, "\(lines)")
        let state = try await Curl.get(vidicon.page("/api/streams/live/recording")).json(State.self)
        #expect(state.state == "failed" && state.error?.contains(cause) == true)
      }
    }

    @Test(arguments: [
      ("missing/out.mp4", "the folder does not exist"),
      ("\(String(repeating: "x", count: 300)).mp4", "the name is too long"),
    ])
    func `an invalid file name is reported in one line, and the stream is served`(name: String, cause: String)
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        try await self.serve(recording: "\(folder)/\(name)", saying: cause)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
      }
    }

    @Test func `a read-only disk is reported in one line, and the stream is served`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let mount = try await Tool.run("mount", ["-t", "tmpfs", "-o", "ro", "tmpfs", folder], within: .seconds(5))
        try #require(mount.succeeded, "this test mounts a disk, which root may: \(mount.errors)")
        let result: Result<Void, any Error>
        do {
          result = .success(try await self.serve(recording: "\(folder)/out.mp4", saying: "the disk is read-only"))
        } catch {
          result = .failure(error)
        }
        #expect(try await Tool.run("umount", ["-l", folder], within: .seconds(5)).succeeded)
        try result.get()
      }
    }

    @Test func `a removed folder ends the recording with one line, and the stream continues`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let inner = "\(folder)/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        try await VidiconProcess.serving(Self.source + ["--record", "\(inner)/out.mp4"]) { vidicon in
          let address = vidicon.page("/api/streams/live/recording")
          try await waitUntil { try await Curl.get(address).json(State.self).duration >= 1 }
          try FileManager.default.removeItem(atPath: inner)
          try await waitUntil { try await Curl.get(address).json(State.self).state == "failed" }
          let play = try await FFmpeg.play(vidicon.url(), seconds: 2)
          #expect(play.run.succeeded && play.frameRate > 25, "\(play.run.errors)")
          let lines = vidicon.child.errors.text.split(separator: "\n")
          #expect(lines.count { $0.contains("the recording has stopped") && $0.contains("removed") } == 1, "\(lines)")
          // A second line may report that the file cannot be finished.
          #expect(lines.count <= 2, "\(lines)")
        }
      }
    }

    @Test func `files are removed by size and by age, but not the one being recorded`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(folder)/live-notes.mp4"))
        // Ages count while a time service keeps the clock.
        let library = "\(folder)/clock.so"
        let compiler = try await Tool.run(
          "cc", ["-shared", "-fPIC", "-o", library, TestMedia.client("synchronized_clock.c")], within: .seconds(20))
        try #require(compiler.succeeded, "\(compiler.errors)")
        for rule in [["--keep-size", "60k"], ["--keep-age", "2s"]] {
          let options = ["--record", "\(folder)/{name}.mp4", "--split-duration", "1s"] + rule
          try await VidiconProcess.serving(Self.source + options, environment: ["LD_PRELOAD": library]) { vidicon in
            let address = vidicon.page("/api/streams/live/recording")
            try await waitUntil { try await Curl.get(address).json(State.self).duration >= 12 }
            let files = try await Curl.get(vidicon.page("/api/recordings")).json(Files.self)
            // Each part has 20 kB and lasts one or two seconds; the last one is being finished.
            #expect((1...6).contains(files.total), "\(rule): \(files)")
            let removed = try await [vidicon.recordingEvent("removed").path, vidicon.recordingEvent("removed").path]
            #expect(removed[0] != removed[1], "\(rule): \(removed)")
            #expect(removed.allSatisfy { $0?.hasPrefix("\(folder)/live") == true }, "\(rule): \(removed)")
          }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.contains("live-notes.mp4"))
        #expect((3...9).contains(names.count), "\(names)")
        #expect(names.allSatisfy { !$0.hasPrefix(".") })
      }
    }

    @Test func `a recording larger than --keep-size is kept, and so are the files of a longer name`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        func record(_ options: [String]) async throws {
          let run = try await VidiconProcess.run(["record"] + options + Self.source + ["--duration", "2s"])
          #expect(run.exit == .status(0), "\(run.errors)")
        }
        try await record(["\(folder)/cam-2.mp4", "--name", "cam-2"])
        try await record(["\(folder)/cam.mp4", "--name", "cam", "--keep-size", "1k"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["cam-2.mp4", "cam.mp4"])
        let full = try await VidiconProcess.run(
          ["record", "\(folder)/full.mp4", "--keep-free", "999T"] + Self.source)
        #expect(full.exit == .status(1) && full.errors.contains("the disk is full"), "\(full.errors)")
        #expect(full.errors.contains("--keep-free") && full.errors.split(separator: "\n").count == 1)
      }
    }

    @Test(.tags(.pacing)) func `a large recording is a plain file within seconds of SIGINT, however slow copies are`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        // Copies as slowly as with hours of video.
        let library = "\(folder)/slow.so"
        let compiler = try await Tool.run(
          "cc", ["-shared", "-fPIC", "-o", library, TestMedia.client("slow_copy.c")], within: .seconds(20))
        try #require(compiler.succeeded, "\(compiler.errors)")
        struct Size: Decodable { var bytes: Int }
        let options = [
          "--source", "noise", "--audio", "tone", "--size", "1280x720", "--fps", "10", "--bitrate", "80M", "--record",
          "\(folder)/{name}.mp4",
        ]
        try await VidiconProcess.serving(options, environment: ["LD_PRELOAD": library]) { vidicon in
          let address = vidicon.page("/api/streams/live/recording")
          try await waitUntil { try await Curl.get(address).json(Size.self).bytes >= 18_000_000 }
          vidicon.child.signal(SIGINT)
          #expect(await vidicon.child.end(within: .seconds(5)) == .status(0))
          await vidicon.child.errors.end()
          #expect(vidicon.child.errors.text == "")
        }
        let path = "\(folder)/live.mp4"
        #expect(try Self.boxTypes(path) == ["ftyp", "mdat", "moov", "free", "uuid"])
        let probe = try await Tool.run(
          "ffmpeg", FFmpeg.quiet + ["-xerror", "-i", path] + FFmpeg.decoding, within: .seconds(60))
        #expect(probe.succeeded && probe.errors == "", "\(probe.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["live.mp4", "slow.so"])
      }
    }

    /// Types of a file's top-level boxes.
    private static func boxTypes(_ path: String) throws -> [String] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      var types: [String] = []
      var offset = 0
      while offset + 16 <= bytes.count {
        func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 << 8 | Int($1) } }
        types.append(String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self))
        let size = number(offset..<offset + 4)
        offset += size == 1 ? number(offset + 8..<offset + 16) : max(8, size)
      }
      return types
    }
  }
}
