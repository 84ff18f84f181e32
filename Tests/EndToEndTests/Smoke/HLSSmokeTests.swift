import Foundation
import TestSupport
import Testing

extension Smoke {
  @Suite("Smoke: HLS")
  struct HLS {
    @Test func `one encoder serves RTSP and both playlists, which ffprobe finds to be H.264 and AAC`() async throws {
      try await VidiconProcess.serving(Smoke.bars) { vidicon in
        let viewer = try ChildProcess(
          Tool("ffmpeg").path, FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url()] + FFmpeg.decoding)
        defer { viewer.kill() }
        for playlist in ["playlist.m3u8", "index.m3u8"] {
          let url = vidicon.page("/live/\(playlist)")
          try await Curl.whenReady(url)
          let probe = try await FFprobe.look(at: url, options: [])
          #expect(probe.video?.codecName == "h264" && probe.audio?.codecName == "aac")
          #expect(probe.video?.width == 320 && probe.video?.height == 180)
          async let play = FFmpeg.play(url, frames: Smoke.frameCount, options: [])
          try await waitUntil {
            let metrics = try await Metrics(of: vidicon)
            return metrics.sum("vidicon_viewers", "protocol=\"rtsp\"") == 1
              && metrics.sum("vidicon_viewers", "protocol=\"hls\"") ?? 0 >= 1
          }
          #expect(try await Metrics(of: vidicon).sum("vidicon_encoders", "kind=\"video\"") == 1)
          try expectContent(try await play)
        }
        #expect(viewer.isRunning, "\(viewer.errors.text.suffix(1_000))")
        #expect(FFmpeg.complaints(in: viewer.errors.text) == [])
        let metrics = try await Metrics(of: vidicon)
        let encoded = try #require(metrics.sum("vidicon_frames_encoded_total"))
        let captured = try #require(metrics.sum("vidicon_frames_in_total"))
        #expect(metrics.sum("vidicon_encoders", #"kind="video""#) == 1)
        // While a viewer joins, a frame is encoded again where the next one is late: often on a busy machine.
        #expect(onQuietMachine(encoded <= captured + 3), "\(encoded) frames encoded of \(captured) captured")
      }
    }

    @Test func `GStreamer plays video and audio`() async throws {
      try await VidiconProcess.serving(Smoke.bars) { vidicon in
        try await Curl.whenReady(vidicon.page("/live/index.m3u8"))
        let pipeline =
          ["-q", "souphttpsrc", "location=\(vidicon.page("/live/index.m3u8"))", "!", "hlsdemux", "!", "decodebin3"]
          + ["name=d", "d.", "!", "audioconvert", "!", "fakesink", "d.", "!", "videoconvert", "!", "videoscale", "!"]
          + ["video/x-raw,format=GRAY8,width=160,height=90", "!", "fdsink", "fd=1", "sync=false"]
        let run = try await Tool.run(
          "gst-launch-1.0", pipeline, byteLimit: Smoke.frameCount * 160 * 90, within: .seconds(40))
        try expectMoving(LumaFrames(width: 160, height: 90, bytes: run.output))
        #expect(!run.errors.contains("ERROR"), "\(run.errors)")
      }
    }

    @Test(.tags(.desktop)) func `VLC plays video and audio`() async throws {
      try await VidiconProcess.serving(Smoke.bars) { vidicon in
        try await Curl.whenReady(vidicon.page("/live/playlist.m3u8"))
        let show = try await VLC.play(
          vidicon.page("/live/playlist.m3u8"), ["--run-time", "8"], each: 5, width: 320, height: 180)
        #expect(show.run.succeeded && show.hasAudio)
        // Times of capture, as their strips say; a late frame may be displayed twice.
        let times = show.captures.compactMap(\.self)
        try #require(times.count >= 3 && times.count == show.captures.count, "\(show.captures)")
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 } && times[0] < times[times.count - 1], "\(times)")
      }
    }

    @Test func `recordings keep Range, viewers get HTTP/2 over TLS, and foreign names are refused`() async throws {
      typealias Caches = EndToEnd.Caches
      try await TestMedia.withTemporaryFolder { folder in
        let recording = ["--record", "\(folder)/{name}.mp4", "--recordings-for", "viewers"]
        try await VidiconProcess.serving(Smoke.bars + recording) { vidicon in
          try await waitUntil {
            try await Curl.get(vidicon.page("/api/streams/live/recording")).json(Caches.State.self).duration >= 2
          }
          let files = try await Curl.get(vidicon.page("/api/recordings")).json(Caches.Files.self).recordings
          let file = try #require(files.first).file
          try await Caches.behindNginx(vidicon) { port, securePort in
            let part = try await Curl.get("http://127.0.0.1:\(port)\(file)", ["--range", "100-199"])
            #expect(part.status == 206 && part.body.count == 100)
            let secure = try await Curl.whenReady(
              "https://127.0.0.1:\(securePort)/live/index.m3u8", ["--http2"])
            #expect(secure.status == 200 && secure.version == "2")
            for host in ["evil.example", "127.0.0.1.evil.example"] {
              let foreign = try await Curl.get(
                "http://127.0.0.1:\(port)/live/index.m3u8", ["--header", "Host: \(host)"])
              #expect(foreign.status == 421)
            }
          }
        }
      }
    }
  }
}
