import FakeCamera
import Foundation
import Synchronization
import TestSupport
import Testing

extension Smoke {
  @Suite("Smoke: sources, publishers, pushes, and faces")
  struct Sources {
    @Test func `ffmpeg publishes over RTMP, and the slate follows its end`() async throws {
      let key = "0123456789abcdef0123"
      // A requested bitrate would be met by an encoder.
      let options = ["--source", "rtmp:?key=\(key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        try await RTMPPublisher.publishing(RTMPPublisher.small, to: vidicon.rtmp("live/\(key)")) { _ in
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
          try expectContent(try await FFmpeg.play(vidicon.url(), frames: Smoke.frameCount))
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }

    @Test func `nginx and a listening ffmpeg get one encoding, and nothing shows the keys`() async throws {
      typealias Pushes = EndToEnd.Pushes
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let port = try FreePort.take()
        let recording = "\(folder)/recorded.nut"
        let urls = [nginx.url("\(Pushes.key)1"), "rtmp://127.0.0.1:\(port)/app/\(Pushes.key)2"]
        let listener = Task {
          try await Tool.run(
            "ffmpeg", FFmpeg.quiet + ["-listen", "1", "-i", urls[1], "-frames", "90", "-c", "copy", recording],
            within: .seconds(60))
        }
        let options = try Smoke.plasma + ["--push-file", Pushes.file(urls, in: folder)]
        try await VidiconProcess.serving(options) { vidicon in
          _ = try await vidicon.status {
            Pushes.state(of: 1, $0) == "sending" && ($0.pushes?.first?.bytesSent ?? 0) > 1
          }
          try await Pushes.expectPlays(nginx.url("\(Pushes.key)1"))
          let recorded = try await listener.value
          #expect(recorded.succeeded && FFmpeg.complaints(in: recorded.errors) == [], "\(recorded.errors)")
          let file = try await FFprobe.look(at: recording, options: [])
          #expect((file.video?.width, file.video?.height, file.audio?.codecName) == (320, 180, "aac"))
          let status = try await vidicon.status { _ in true }
          #expect(
            status.pushes?.map(\.server) == ["rtmp://127.0.0.1:\(nginx.port)/app", "rtmp://127.0.0.1:\(port)/app"])
          for path in ["/metrics", "/api/streams", "/api/streams/live", "/api/streams/live/pushes", "/live", "/health"]
          {
            let text = try await Curl.get(vidicon.page(path)).text
            #expect(!text.isEmpty && !text.contains(Pushes.key), "\(path)")
          }
          let metrics = try await Curl.get(vidicon.page("/metrics")).text
          #expect(metrics.contains(#"vidicon_push_sending{stream="live",push="1"} 1"#))
          let arguments = try String(systemFile: "/proc/\(vidicon.child.processIdentifier)/cmdline")
          #expect(!arguments.contains(Pushes.key))
          #expect(!vidicon.child.output.text.isEmpty)
          for text in [vidicon.child.output.text, vidicon.child.errors.text] {
            #expect(!text.contains(Pushes.key), "\(text)")
          }
        }
        // The stream was ended, and not lost.
        try await waitUntil { nginx.log.contains("deleteStream") }
      }
    }

    @Test func `video of another Vidicon is passed through byte for byte, and resumes after its restart`() async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let ports = ["--rtsp-port", "\(try FreePort.take())"]
        let bars = ["--source", "bars", "--audio", "none"] + Smoke.format
        let sent = "\(folder)/sent.h264"
        let copy = ["-map", "0:v", "-c", "copy", "-flush_packets", "1", "-f", "h264"]
        try await VidiconProcess.serving(bars + ports) { camera in
          // All that the camera sends while frames are received.
          let sender = try ChildProcess(
            Tool("ffmpeg").path, FFmpeg.quiet + FFmpeg.overTCP + ["-i", camera.url()] + copy + [sent])
          defer { sender.kill() }
          try await waitUntil { (try? EndToEnd.NetworkSources.slices(sent).count) ?? 0 > 30 }
          try await VidiconProcess.serving(["--source", camera.url()]) { vidicon in
            _ = try await vidicon.status { $0.framesIn ?? 0 > 30 }
            let path = "\(folder)/received.h264"
            let receiver = try await Tool.run(
              "ffmpeg",
              FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-frames:v", "60"] + copy + [path],
              within: .seconds(30))
            #expect(receiver.succeeded, "\(receiver.errors)")
            let received = try EndToEnd.NetworkSources.slices(path)
            // Slices that are received were sent before, but a reader may be behind.
            var known: [Data] = []
            try await waitUntil {
              known = try EndToEnd.NetworkSources.slices(sent)
              return known.dropLast().contains(received[received.count - 1])
            }
            let start = try #require(received.firstIndex { known.contains($0) })
            let offset = try #require(known.firstIndex(of: received[start]))
            let count = received.count - start
            #expect(count >= 30 && known.count >= offset + count)
            #expect(Array(known[offset...].prefix(count)) == Array(received[start...]))

            #expect(try await vidicon.status { _ in true }.framesEncoded == 0)

            camera.child.kill()
            _ = try await vidicon.status { $0.isSlateShown == true }
            let back = try ChildProcess(
              VidiconProcess.path(), ["serve", "--json", "--no-discovery", "--http-port", "0"] + ports + bars)
            defer { back.kill() }
            try await vidicon.child.complains("the video source is back", within: .seconds(60))
            let before = try await vidicon.status { $0.isSlateShown == false }
            _ = try await vidicon.status { $0.framesPassedThrough ?? 0 > (before.framesPassedThrough ?? 0) + 30 }
          }
        }
      }
    }

    @Test func `a camera's H.264 is passed through, and transcoded when it must be rotated`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/frames.h264"
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30", "-frames:v", "600", "-c:v", "libx264"]
            + ["-preset", "ultrafast", "-g", "600", "-sc_threshold", "0", "-bf", "0", "-pix_fmt", "yuv420p"]
            + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", path],
          within: .seconds(20))
        try #require(made.succeeded)
        for (options, isPassed) in [("", true), (";controls=1;rotation=180", false)] {
          // By default the stream would be encoded on a machine on which the camera meets a request too late.
          let (camera, passes) = ("formats=H264 320x240 30;file=\(path)\(options)", ["--pass-through", "on"])
          try await EndToEnd.Cameras.serving([camera], options: passes) { vidicon in
            // The file has one keyframe in 20 s; those for viewers come on request.
            _ = try await vidicon.status { $0.framesIn ?? 0 > 60 }
            try expectContent(try await FFmpeg.play(vidicon.url(), frames: Smoke.frameCount, audio: false))
            // The status comes once a second.
            let status = try await vidicon.status { isPassed || $0.framesEncoded ?? 0 > 60 }
            #expect(!isPassed || status.framesEncoded == 0)
          }
        }
      }
    }

    @Test func `RTSP and HLS viewers get ordered frames of one encoding across source switches`() async throws {
      try await VidiconProcess.serving(Smoke.bars) { vidicon in
        try await Curl.whenReady(vidicon.page("/live/live.m3u8"))
        let hasEnded = Mutex(false)
        async let switchCount = Self.switching(vidicon) { hasEnded.withLock { $0 } }
        async let overRTSP = SwitchWatch.watch(vidicon.url(), seconds: 10, options: FFmpeg.overTCP)
        async let overHLS = SwitchWatch.watch(vidicon.page("/live/live.m3u8"), seconds: 10)
        for watch in try await [overRTSP, overHLS] {
          #expect(watch.run.succeeded && FFmpeg.complaints(in: watch.run.errors) == [], "\(watch.run.errors)")
          for times in [watch.frames, watch.audioTimes] {
            #expect(times.count > 10 && zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(watch.url): \(times)")
          }
          // One sequence and one picture parameter set.
          #expect(watch.parameterSets.count == 2, "\(watch.parameterSets)")
        }
        hasEnded.withLock { $0 = true }
        #expect(try await switchCount >= 3)
      }
    }

    /// Switches the source again and again; each switch is answered with 200.
    private static func switching(_ vidicon: VidiconProcess, until hasEnded: () -> Bool) async throws -> Int {
      let address = vidicon.page("/api/streams/live/source")
      var count = 0
      while !hasEnded() {
        try Task.checkCancellation()
        let source = ["plasma", "bars", "noise"][count % 3]
        let answer = try await EndToEnd.LiveControl.send("PUT", #"{"video":"\#(source)"}"#, to: address)
        try #require(answer.status == 200, "\(source): \(answer.text)")
        count += 1
        try await EndToEnd.LiveControl.waitForASecond(vidicon)
      }
      return count
    }

    @Test func `no face is shown in files recorded in privacy mode`() async throws {
      let scenes = ["one", "crowd", "sideways"]
      let (run, results) = try await EndToEnd.PrivacyScenes.judge(
        scenes, ["--frames", "90", "--rate", "5", "--every", "10"])
      try #require(results.map(\.scene) == scenes, "\(run.errors)")
      for result in results {
        // Parts that are not searched in time are covered: too much may be, a face is never shown.
        #expect(result.frames >= 20 && result.faces > 10 && result.searched > 0, "\(result)")
        #expect(result.leaks.isEmpty && result.added.isEmpty, "\(result)")
      }
    }
  }
}
