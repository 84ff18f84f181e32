import Foundation
import Testing

extension EndToEnd {
  @Suite("Microphones of a PulseAudio server, through ALSA")
  struct Microphones {
    @Test func `a microphone is heard at its level and pitch, and again after a restart of the audio server`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let tone = "\(folder)/tone.wav"
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-f", "lavfi", "-i", "sine=frequency=1000:duration=300:sample_rate=48000"]
            + ["-af", "volume=4", "-ac", "1", tone], within: .seconds(20))
        try #require(made.succeeded, "\(made.errors)")
        let options = ["--source", "plasma", "--audio", "mic:pulse", "--size", "320x180", "--fps", "15"]
        let environment = try PulseMicrophone.environment(in: folder)

        var server = try await PulseMicrophone(in: folder, hearing: tone)
        do {
          try await VidiconProcess.serving(options, environment: environment) { vidicon in
            try await self.expectTone(from: vidicon)
            await server.end()
            try await self.waitFor("mic:pulse: the device or the sound server was disconnected", from: vidicon)
            server = try await PulseMicrophone(in: folder, hearing: tone)
            try await self.expectTone(from: vidicon)
            let lines = vidicon.child.errors.text.split(separator: "\n")
            #expect(lines.filter { $0.contains("mic:pulse") && $0.contains("was disconnected") }.count == 1, "\(lines)")
            #expect(lines.allSatisfy { !$0.contains("ALSA") && !$0.contains("pcm_") }, "\(lines)")
          }
        } catch {
          await server.end()
          throw error
        }
        await server.end()
      }
    }

    @Test func `without an audio server or a sound card there is one line, and status 1`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        for name in ["mic:", "mic:pulse", "mic:hw:0", "mic:Yeti"] {
          let (exit, errors) = try await VidiconProcess.run(
            ["serve"] + VidiconProcess.freePorts + ["--audio", name],
            environment: PulseMicrophone.environment(in: folder))
          #expect(exit == .status(1), "\(name): \(errors)")
          #expect(errors.split(separator: "\n").count == 1, "\(name): \(errors)")
          #expect(errors.contains(name), "\(errors)")
        }
      }
    }

    /// Plays up to four times until three seconds have a tone of 1 kHz with amplitude 0.5.
    private func expectTone(from vidicon: VidiconProcess) async throws {
      for _ in 0..<4 {
        let play = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "4", "-vn", "-ac", "1", "-ar", "48000"]
            + ["-f", "s16le", "pipe:1"], within: .seconds(20))
        try #require(play.succeeded, "\(play.errors)")
        let audio = DecodedAudio(sampleRate: 48_000, littleEndian: Array(play.output.dropFirst(96_000)))
        let crossings = zip(audio.samples, audio.samples.dropFirst()).count { $0 < 0 && $1 >= 0 }
        let frequency = Double(crossings) / (Double(audio.samples.count) / 48_000)
        if abs(frequency - 1_000) < 5, abs(audio.level - 0.5 / 2.0.squareRoot()) < 0.03 { return }
      }
      Issue.record("no tone of 1 kHz")
    }

    /// Waits until standard error contains a text.
    private func waitFor(_ text: String, from vidicon: VidiconProcess) async throws {
      for _ in 0..<30 {
        if vidicon.child.errors.text.contains(text) { return }
        _ = try await vidicon.status { _ in true }
      }
      Issue.record("\"\(text)\" is not in: \(vidicon.child.errors.text)")
    }
  }
}
