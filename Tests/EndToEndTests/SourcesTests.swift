import Foundation
import Testing

extension EndToEnd {
  @Suite("Sources, played by ffmpeg and ffprobe")
  struct Sources {
    @Test(.tags(.pacing)) func `plasma with the tone`() async throws {
      let options = ["--source", "plasma", "--audio", "tone", "--size", "1280x720", "--fps", "30"]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.expectGoodPlay(of: vidicon, width: 1280, height: 720, frameRate: 30)
      }
    }

    @Test(.tags(.pacing)) func `a video file with its audio, looped`() async throws {
      let options = ["--source", "file:\(try TestMedia.video())", "--size", "1280x720", "--fps", "25"]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.expectGoodPlay(of: vidicon, width: 1280, height: 720, frameRate: 25)
      }
    }

    @Test(.tags(.pacing)) func `frames from a pipe`() async throws {
      let pipe = ChildProcess.pipe()
      let ffmpeg = try ChildProcess(
        Tool("ffmpeg").path,
        FFmpeg.quiet + ["-re", "-stream_loop", "-1", "-i", try TestMedia.video(), "-an", "-vf", "scale=640:360"]
          + ["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"],
        outputPipe: pipe)
      defer { ffmpeg.kill() }
      let options = ["--source", "pipe:", "--audio", "tone", "--size", "640x360", "--fps", "25"]
      try await VidiconProcess.serving(options, input: pipe) { vidicon in
        try await Self.expectGoodPlay(of: vidicon, width: 640, height: 360, frameRate: 25)
      }
    }

    /// Plays 20 s with ffmpeg, and runs ffprobe meanwhile.
    private static func expectGoodPlay(
      of vidicon: VidiconProcess, width: Int, height: Int, frameRate: Double
    ) async throws {
      async let looked = FFprobe.look(at: vidicon.url())
      let play = try await FFmpeg.play(vidicon.url(), seconds: 20)

      let probe = try await looked
      let video = try #require(probe.video)
      #expect(video.codecName == "h264")
      #expect(["Constrained Baseline", "Main", "High"].contains(video.profile))
      #expect(video.hasBFrames == 0)
      #expect(video.width == width)
      #expect(video.height == height)
      let audio = try #require(probe.audio)
      #expect(audio.codecName == "aac")
      #expect(audio.profile == "LC")
      #expect(["44100", "48000"].contains(audio.sampleRate))
      #expect([1, 2].contains(audio.channels))

      try expectGood(play, frameRate: frameRate, seconds: 20)
      let status = try await vidicon.status { _ in true }
      #expect(try #require(status.framesEncoded) > Int(frameRate * 18))
      #expect(try #require(status.bytesSent) > 100_000)
    }
  }
}

/// Expects no decoding error, the frame rate, delivery in real time, moving content, and audio.
func expectGood(_ play: FFmpeg.Play, frameRate: Double, seconds: Double) throws {
  #expect(play.run.exit == .status(0), "ffmpeg: \(play.run.errors)")
  #expect(FFmpeg.complaints(in: play.run.errors) == [])

  #expect(abs(play.frameRate - frameRate) < frameRate * 0.05, "\(play.frameRate) frames per second")
  let steps = zip(play.times.dropFirst(), play.times).map { $0 - $1 }
  #expect(try #require(steps.min()) > 0)
  report("maximum frame interval, s", steps.max() ?? 99, limit: 0.3)
  #expect(try #require(steps.max()) < 0.3, "maximum frame interval")
  #expect(play.run.duration > .seconds(seconds * 0.85), "faster than real time")
  #expect(play.run.duration < .seconds(seconds * 1.25 + 3), "slower than real time")

  let frames = play.frames
  try #require(frames.count > 20)
  #expect(Double(frames.count) > seconds * frameRate * 0.93)
  let samples = Array(stride(from: 0, to: frames.count - 15, by: 15))
  #expect(samples.allSatisfy { frames.mean($0) > 10 && frames.mean($0) < 245 }, "black or white")
  #expect(samples.allSatisfy { frames.deviation($0) > 4 }, "one flat color")
  let moving = samples.filter { frames.difference($0, $0 + 15) > 0.3 }
  #expect(moving.count > samples.count / 2, "\(moving.count) of \(samples.count) frames changed within 15")

  if let audio = play.audio {
    #expect(audio.level > 0.002)
    #expect(Double(audio.samples.count) / Double(audio.sampleRate) > seconds * 0.9)
  }
}
