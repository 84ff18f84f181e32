import Foundation
import Testing

extension EndToEnd {
  @Suite("Recording over HTTP") struct RecordingOverHTTP {
    struct State: Decodable {
      var state: String
      var file: String?
      var duration: Double
    }

    struct Files: Decodable {
      struct Entry: Decodable {
        var file: String
        var bytes: Int
        var finished: Bool
      }

      var recordings: [Entry]
    }

    @Test(.tags(.pacing)) func `a recording starts on request, into the given folder, and is refused without one`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--source", "bars", "--audio", "tone", "--size", "320x180", "--fps", "30"]
        try await VidiconProcess.serving(options + ["--recordings", folder]) { vidicon in
          let address = vidicon.page("/api/streams/live/recording")
          #expect(try await Curl.get(address).json(State.self).state == "idle")
          #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
          #expect(try await Self.command("start", address).status == 200)
          _ = try await Self.state(at: address) { $0.duration >= 2 }
          let numbers = try await Curl.get(vidicon.page("/metrics")).text
          #expect(numbers.contains(#"vidicon_recording_state{stream="live",state="recording"} 1"#))
          // curl sends Expect: 100-continue before a large body.
          let body = "\(folder)/.body"
          try Data(count: 2_000_000).write(to: URL(filePath: body))
          let large = try await Curl.get(
            address, ["--header", "Content-Type: application/json", "--data-binary", "@\(body)"])
          #expect(large.status == 413)
          try FileManager.default.removeItem(atPath: body)
          // The next recording starts at once, while the file of the first is finished.
          #expect(["finishing", "idle"].contains(try await Self.command("stop", address).json(State.self).state))
          #expect(try await Self.command("start", address).status == 200)
          _ = try await Self.state(at: address) { $0.duration >= 1 }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix("live_20") && $0.hasSuffix(".mp4") }, "\(names)")
        for name in names { #expect(try await FFmpeg.times(ofVideoIn: "\(folder)/\(name)").count >= 25) }
        try await VidiconProcess.serving(options) { vidicon in
          let answer = try await Self.command("start", vidicon.page("/api/streams/live/recording"))
          #expect(answer.status == 404)
          #expect(answer.text.contains("--recordings FOLDER"))
        }
        let missing = try await VidiconProcess.run(
          ["serve"] + VidiconProcess.freePorts + ["--recordings", "\(folder)/none"])
        #expect(missing.exit == .status(1) && missing.errors.split(separator: "\n").count == 1, "\(missing.errors)")
      }
    }

    @Test(.tags(.pacing)) func `stop answers, and the next recording starts, while a file takes ten seconds to finish`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let library = "\(folder)/slow.so"
        let compiler = try await Tool.run(
          "cc", ["-shared", "-fPIC", "-o", library, TestMedia.client("slow_copy.c")], within: .seconds(20))
        try #require(compiler.succeeded, "\(compiler.errors)")
        let recordings = "\(folder)/recordings"
        try FileManager.default.createDirectory(atPath: recordings, withIntermediateDirectories: true)
        let options = ["--source", "bars", "--audio", "none", "--size", "320x180", "--recordings", recordings]
        try await VidiconProcess.serving(options, environment: ["LD_PRELOAD": library]) { vidicon in
          let address = vidicon.page("/api/streams/live/recording")
          var durations: [Duration] = []
          for _ in 0..<2 {
            #expect(try await Self.command("start", address).status == 200)
            _ = try await Self.state(at: address) { $0.duration >= 1 }
            let begin = ContinuousClock.now
            let answer = try await Self.command("stop", address)
            durations.append(ContinuousClock.now - begin)
            #expect(try answer.json(State.self).state == "finishing", "\(answer.text)")
            // The file is not finished yet.
            let files = try await Curl.get(vidicon.page("/api/recordings")).json(Files.self).recordings
            #expect(files.contains { !$0.finished }, "\(files)")
          }
          #expect(durations.allSatisfy { $0 < .seconds(3) }, "\(durations)")
          // The first file may be finished after the second one.
          let files = vidicon.page("/api/recordings")
          try await waitUntil { try await Curl.get(files).json(Files.self).recordings.allSatisfy(\.finished) }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: recordings)
        #expect(names.count == 2 && names.allSatisfy { $0.hasSuffix(".mp4") }, "\(names)")
        for name in names {
          #expect(try await FFmpeg.times(ofVideoIn: "\(recordings)/\(name)").count >= 20, "\(name)")
        }
      }
    }

    /// Waits until the state of a recording meets a condition.
    static func state(at address: String, where condition: (State) -> Bool) async throws -> State {
      let end = ContinuousClock.now + MachineShare.timeout(.seconds(60))
      while true {
        let state = try await Curl.get(address).json(State.self)
        if condition(state) { return state }
        guard .now < end else { throw VidiconProcess.Failure(description: "the recording stays \(state)") }
      }
    }

    static func command(_ action: String, _ address: String) async throws -> Curl {
      try await Curl.get(
        address, ["--header", "Content-Type: application/json", "--data", "{\"action\": \"\(action)\"}"])
    }
  }
}
