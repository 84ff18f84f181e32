import Foundation
import HLSRules
import Testing

extension EndToEnd {
  @Suite("The machine's clock is set while the program runs")
  struct Clocks {
    private struct State: Decodable {
      var state: String
      var duration: Double
    }

    /// Sends a command to the recording.
    private static func command(_ action: String, _ vidicon: VidiconProcess) async throws {
      let answer = try await LiveControl.send(
        "POST", #"{"action":"\#(action)"}"#, to: vidicon.page("/api/streams/live/recording"))
      #expect(answer.status < 300, "\(answer.text)")
    }

    /// Waits until the recording has lasted for some seconds, or has ended.
    private static func wait(_ vidicon: VidiconProcess, until condition: (State) -> Bool) async throws {
      let address = vidicon.page("/api/streams/live/recording")
      let end = ContinuousClock.now + MachineShare.timeout(.seconds(20))
      while !condition(try await Curl.get(address).json(State.self)) { try #require(ContinuousClock.now < end) }
    }

    /// Date and hour in names of recordings.
    private static func hour(of date: Date) -> String {
      var (seconds, fields) = (time_t(date.timeIntervalSince1970), tm())
      gmtime_r(&seconds, &fields)
      return String(
        format: "%04d-%02d-%02d_%02d", fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday, fields.tm_hour)
    }

    /// Builds the libraries of a synchronized clock that is set by the seconds in a file, and returns the variables that load
    /// them.
    private static func environment(step: String, in folder: String) async throws -> [String: String] {
      let libraries = ["stepped_clock", "synchronized_clock"]
      for name in libraries {
        let built = try await Tool.run(
          "cc", ["-shared", "-fPIC", "-o", "\(folder)/\(name).so", TestMedia.client("\(name).c"), "-ldl"],
          within: .seconds(20))
        try #require(built.succeeded, "\(built.errors)")
      }
      return [
        "LD_PRELOAD": libraries.map { "\(folder)/\($0).so" }.joined(separator: ":"), "VIDICON_CLOCK_STEP": step,
        "TZ": "UTC",
      ]
    }

    /// FFmpeg, and OBS with it, moves the timestamps of a stream of two tracks by the difference of the sender reports' times,
    /// of which one follows every five seconds.
    @Test(arguments: [3600, -3600])
    func `an RTSP player with audio notices no step`(seconds: Int) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let (step, copy) = ("\(folder)/step", "\(folder)/copy.nut")
        let environment = try await Self.environment(step: step, in: folder)
        let options = ["--source", "bars", "--audio", "tone", "--size", "320x180"]
        try await VidiconProcess.serving(options, environment: environment) { vidicon in
          async let viewer = Tool.run(
            "ffmpeg",
            FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-map", "0:v", "-map", "0:a", "-t", "13"]
              + FFmpeg.copy(to: copy, from: vidicon.url()), within: .seconds(60))
          // The first reports precede the first packets, so that the next ones follow the step.
          _ = try await vidicon.status { $0.viewers == 1 && ($0.bytesSent ?? 0) > 0 }
          try Data("\(seconds)".utf8).write(to: URL(fileURLWithPath: step))
          let run = try await viewer
          try #require(run.succeeded, "\(run.errors)")
          #expect(FFmpeg.complaints(in: run.errors) == [])
          #expect(try await Metrics(of: vidicon).sum("vidicon_clock_steps_total") == 1)
          for track in ["v:0", "a:0"] {
            let times = try await FFmpeg.times(copy, selecting: track).sorted()
            // From the first report to the third one.
            #expect(
              times.count > 100 && (times.last ?? 0) - (times.first ?? 0) > 11, "\(track): \(times.count) packets")
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }.filter { $0 >= 0.1 }
            #expect(steps == [], "\(track)")
          }
        }
      }
    }

    /// Ten days ahead, and an hour back. Recordings are removed when they are half an hour old, by a clock that is synchronized.
    @Test(arguments: [(864_000, true), (864_000, false), (-3600, true)])
    func `dates of playlists and names of recordings follow, and nothing else changes`(
      seconds: Int, isSynchronized: Bool
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let (step, recordings) = ("\(folder)/step", "\(folder)/recordings")
        var environment = try await Self.environment(step: step, in: folder)
        if !isSynchronized { environment["VIDICON_CLOCK_UNSYNCHRONIZED"] = "1" }
        try FileManager.default.createDirectory(atPath: recordings, withIntermediateDirectories: true)
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: recordings) }
        let options =
          ["--source", "bars", "--audio", "tone", "--size", "320x180", "--recordings", recordings]
          + ["--keep-age", "30m"]
        try await VidiconProcess.serving(options, environment: environment) { vidicon in
          try await Self.command("start", vidicon)
          try await Self.wait(vidicon) { $0.duration > 1 }
          let first = try #require(try names().first)
          let url = vidicon.page("/live/playlist.m3u8")
          let before = MediaPlaylistText(try await Curl.get(url).text)
          let newest = try #require(before.segments.last?.dateTime)
          #expect(abs(newest - Date.now.timeIntervalSince1970) < 10)
          try Data("\(seconds)".utf8).write(to: URL(fileURLWithPath: step))
          var text = ""
          for _ in 0..<10 {
            _ = try await vidicon.status { _ in true }
            text = try await Curl.get(url).text
            if let date = MediaPlaylistText(text).segments.last?.dateTime, abs(date - newest - Double(seconds)) < 100 {
              break
            }
          }
          let segments = MediaPlaylistText(text).segments
          #expect(abs((segments.last?.dateTime ?? 0) - newest - Double(seconds)) < 15)
          // Dates of segments from before the step stay.
          #expect(abs((segments.first?.dateTime ?? 0) - newest) < 15)
          #expect(!text.contains("#EXT-X-DISCONTINUITY\n"))
          #expect(try await Metrics(of: vidicon).sum("vidicon_clock_steps_total") == 1)

          // The recording during which the clock was set has no gap of that length, and does not count as old when the clock goes back.
          try await Self.wait(vidicon) { $0.duration > 3 }
          try await Self.command("stop", vidicon)
          try await Self.wait(vidicon) { $0.state == "idle" }
          let times = try await FFmpeg.times(ofVideoIn: "\(recordings)/\(first)")
          #expect(times.count > 30)
          #expect(zip(times, times.dropFirst()).allSatisfy { (0.001...5).contains($1 - $0) }, "\(times)")

          let now = Date.now.addingTimeInterval(Double(seconds))
          try await Self.command("start", vidicon)
          try await Self.wait(vidicon) { $0.duration > 1 }
          // With the hour, which may be over before the name is made.
          let hours = [now, now.addingTimeInterval(60)].map(Self.hour(of:))
          let second = try #require(try names().first { $0 != first })
          #expect(hours.contains { second.contains($0) }, "\(second) without \(hours)")
          try await Self.command("stop", vidicon)
          try await Self.wait(vidicon) { $0.state == "idle" }
          // Ten days later the first one is old, if the date can be believed; the one that was just finished never is. The file
          // system has the time from before the step.
          let isRemoved = seconds > 0 && isSynchronized
          let end = ContinuousClock.now + MachineShare.timeout(.seconds(20))
          while isRemoved, try names().contains(first) { try #require(ContinuousClock.now < end) }
          #expect(try names().sorted() == (isRemoved ? [second] : [first, second].sorted()))
          // One line for each recording, which may be printed a moment later.
          _ = try await vidicon.status { _ in true }
          let lines = vidicon.child.errors.text.split(separator: "\n").filter {
            $0.contains("clock is not synchronized")
          }
          #expect(isSynchronized ? lines.isEmpty : (1...2).contains(lines.count), "\(lines)")
        }
      }
    }
  }
}
