import Foundation
import Testing

extension EndToEnd {
  @Suite("Recording: crashes, pauses, full disks, parts")
  struct Recordings {
    @Test(.tags(.pacing)) func `after a kill at any of 20 moments, a file plays and lacks at most its last fragment`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        for round in 0..<5 {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
              group.addTask { try await Self.kill("\(folder)/\(round)-\(number).mp4") }
            }
            try await group.waitForAll()
          }
          for number in 0..<4 { try await Self.checkAndRepair("\(folder)/\(round)-\(number).mp4") }
        }
      }
    }

    /// Records, and kills the program at a random moment after the first second.
    private static func kill(_ path: String) async throws {
      let child = try ChildProcess(
        VidiconProcess.path(), ["record", path, "--json"] + RecordedFile.source)
      defer { child.kill() }
      // Status lines are a second apart; a busy machine may skip one.
      let hasBegun = #/"duration":[1-9]/#
      try await child.says(hasBegun)
      #expect(await child.end(within: .milliseconds(Int.random(in: 500...2_500))) == nil)
      let end = try #require(child.killMicroseconds)
      try Data("\(end)".utf8).write(to: URL(fileURLWithPath: path + ".end"))
    }

    private static func checkAndRepair(_ path: String) async throws {
      let file = try await RecordedFile(path)
      file.checkThatItPlays()
      #expect(file.breaks == [])
      let end = try #require(
        Int64(String(decoding: Data(contentsOf: URL(fileURLWithPath: path + ".end")), as: UTF8.self)))
      let last = try #require(file.captures.last ?? nil)
      // A fragment of 1 s and the frame that ends it; its audio, 70 ms later; encoder and disk, which need 0.1 s on an
      // idle machine: 0.5 s.
      #expect(end - last < 1_034_000 + 70_000 + 500_000, "\(Double(end - last) / 1e6) s are missing")

      let repair = try await Tool.run(VidiconProcess.path(), path: ["repair", path], within: .seconds(20))
      #expect(repair.succeeded, "\(repair.errors)")
      #expect(repair.outputText.hasPrefix(path) && repair.outputText.contains("finished"), "\(repair.outputText)")
      let repaired = try await RecordedFile(path)
      repaired.checkThatItPlays()
      #expect(repaired.captures == file.captures)
      let head = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 1 << 16) ?? Data()
      #expect(head.range(of: Data("moov".utf8)) != nil && head.range(of: Data("moof".utf8)) == nil)
    }

    @Test(.tags(.pacing)) func `ten pauses leave no gap and no duplicate, with video and audio in sync`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/out.mp4"
        let child = try ChildProcess(VidiconProcess.path(), ["record", path, "--json"] + RecordedFile.source)
        defer { child.kill() }
        async let exit = child.end(within: MachineShare.timeout(.seconds(60)))
        var beats = 0
        for await piece in child.output.pieces where String(decoding: piece, as: UTF8.self).contains("\"status\"") {
          beats += 1
          // Two seconds of recording, one of pause.
          if beats <= 30, beats % 3 != 1 { child.signal(SIGUSR1) }
          if beats == 32 { child.signal(SIGINT) }
        }
        #expect(await exit == .status(0), "\(child.errors.text)")
        let file = try await RecordedFile(path)
        file.checkThatItPlays()
        #expect(file.breaks.count == 10, "\(file.breaks)")
        for end in file.breaks {
          let (before, after) = try (#require(file.captures[end - 1]), #require(file.captures[end]))
          #expect(after - before > 500_000, "a pause goes forward in time")
        }
        // A cut within a flash moves the start of the flash.
        let cuts = file.breaks.map { file.times[$0] }
        let whole = file.flashes.filter { flash in
          flash > 0.5 && flash < file.times[file.times.count - 1] - 0.5 && cuts.allSatisfy { abs($0 - flash) > 0.35 }
        }
        #expect(whole.count >= 5, "\(file.flashes)")
        for flash in whole {
          let nearest = try #require(file.beeps.min { abs($0 - flash) < abs($1 - flash) })
          #expect(abs(nearest - flash) < 0.040, "flash at \(flash) s, beep at \(nearest) s")
        }
      }
    }

    @Test(.tags(.pacing)) func `a full disk ends the recording, which plays, without effect on viewers`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let disk = "\(folder)/disk"
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        let mount = try await Tool.run("mount", ["-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], within: .seconds(5))
        try #require(mount.succeeded, "this test mounts a small disk, which root may: \(mount.errors)")
        do {
          let options = RecordedFile.source + ["--record", "\(disk)/{name}.mp4"]
          try await VidiconProcess.serving(options) { vidicon in
            let play = try await FFmpeg.play(vidicon.url(), seconds: 14)
            #expect(play.run.succeeded && FFmpeg.complaints(in: play.run.errors) == [], "\(play.run.errors)")
            #expect(abs(play.frameRate - 30) < 1)
            let lines = vidicon.child.errors.text.split(separator: "\n")
            #expect(lines.filter { $0.contains("the recording has stopped") }.count == 1, "\(lines)")
            #expect(lines.contains { $0.contains("the disk is full") }, "\(lines)")
          }
          let file = try await RecordedFile("\(disk)/live.mp4")
          file.checkThatItPlays()
          #expect(file.breaks == [])
        } catch {
          _ = try await Tool.run("umount", ["-l", disk], within: .seconds(5))
          throw error
        }
        let unmount = try await Tool.run("umount", ["-l", disk], within: .seconds(5))
        #expect(unmount.succeeded, "\(unmount.errors)")
      }
    }

    @Test(.tags(.pacing)) func `consecutive parts lose no frame`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/out.mp4"
        let run = try await Tool.run(
          VidiconProcess.path(),
          path: ["record", path, "--duration", "9s", "--split-duration", "4s", "--title", "A day"]
            + RecordedFile.source,
          within: .seconds(30))
        try #require(run.succeeded, "\(run.errors)")
        let parts = [path, "\(folder)/out-2.mp4", "\(folder)/out-3.mp4"]
        var captures: [Int64?] = []
        for part in parts {
          let file = try await RecordedFile(part)
          file.checkThatItPlays()
          captures += file.captures
        }
        #expect(zip(captures.dropFirst(), captures).allSatisfy { abs(($0 ?? 0) - ($1 ?? 0) - 33_333) < 3_000 })
        #expect(abs(captures.count - 270) <= 1)
        let again = try await VidiconProcess.run(["record", path] + RecordedFile.source)
        #expect(again.exit == .status(1) && again.errors.contains("--overwrite"), "\(again.errors)")
      }
    }

    @Test func `a file as source is recorded from its first frame to its last, without a slate`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let (source, path) = ("\(folder)/in.mp4", "\(folder)/out.mp4")
        let inputs = ["-f", "lavfi", "-i", "testsrc=s=320x180:r=25:d=3", "-f", "lavfi", "-i", "sine=d=3"]
        let make = try await Tool.run(
          "ffmpeg", FFmpeg.quiet + inputs + ["-c:v", "libx264", "-c:a", "aac", source], within: .seconds(20))
        try #require(make.succeeded, "\(make.errors)")
        let run = try await VidiconProcess.run(["record", path, "--source", "file:\(source)"])
        #expect(run.exit == .status(0) && run.errors == "", "\(run.errors)")
        let times = try await FFmpeg.times(ofVideoIn: path)
        #expect(times.count == 75 && times.first == 0, "\(times.count) frames")
        let audio = try await FFmpeg.times(path, selecting: "a:0")
        let duration = Double(audio.count) * 1_024 / 44_100
        #expect(abs(duration - 3) < 0.06, "\(audio.count) frames of audio")
      }
    }

    @Test func `each file that cannot be repaired is reported in one line`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/text.mp4"
        try Data("this is no film".utf8).write(to: URL(fileURLWithPath: path))
        let run = try await VidiconProcess.run(["repair", path, "\(folder)/nothing.mp4"])
        #expect(run.exit == .status(1))
        #expect(run.errors.split(separator: "\n").count == 2, "\(run.errors)")
      }
    }
  }
}

extension Tool {
  /// Runs a program by its path.
  static func run(_ program: String, path arguments: [String], within limit: Duration) async throws -> Run {
    let start = ContinuousClock.now
    let child = try ChildProcess(program, arguments)
    let exit = await child.end(within: MachineShare.timeout(limit))
    await child.output.end()
    await child.errors.end()
    return Run(
      exit: exit, output: child.output.bytes, errors: child.errors.text, arrivals: child.output.arrivals,
      duration: .now - start)
  }
}
