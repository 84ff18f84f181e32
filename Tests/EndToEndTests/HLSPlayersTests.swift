import Foundation
import Testing

extension EndToEnd {
  @Suite("Players of HLS: ffmpeg, GStreamer, VLC", .serialized)
  struct HLSPlayers {
    private static let bars = ["--source", "bars", "--audio", "tone", "--size", "1280x720", "--fps", "30"]

    @Test(arguments: ["playlist.m3u8", "index.m3u8"])
    func `ffmpeg plays twenty seconds without an error`(playlist: String) async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let play = try await FFmpeg.play(
          vidicon.page("/live/\(playlist)"), seconds: 20, options: ["-fflags", "+igndts"], within: .seconds(50))
        try expectGood(play, frameRate: 30, seconds: 20)
      }
    }

    @Test
    func `ffprobe sees the codecs of both, and no more than one encoder works for RTSP, both playlists and the page`()
      async throws
    {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        async let rtsp = FFmpeg.play(vidicon.url(), seconds: 10)
        async let segments = FFmpeg.play(vidicon.page("/live/playlist.m3u8"), seconds: 10, options: [])
        async let fragments = FFmpeg.play(vidicon.page("/live/index.m3u8"), seconds: 10, options: [])
        for playlist in ["playlist.m3u8", "index.m3u8"] {
          let probe = try await FFprobe.look(at: vidicon.page("/live/\(playlist)"), options: [])
          #expect(probe.video?.codecName == "h264")
          #expect(probe.video?.width == 1280)
          #expect(probe.video?.height == 720)
          #expect(probe.audio?.codecName == "aac")
        }
        let page = try await Curl.get(vidicon.page("/live"))
        #expect(page.status == 200)
        let metrics = try await Metrics(of: vidicon)
        #expect(metrics.sum("vidicon_encoders", "kind=\"video\"") == 1)
        #expect(metrics.sum("vidicon_viewers", "protocol=\"rtsp\"") == 1)
        #expect(try #require(metrics.sum("vidicon_viewers", "protocol=\"hls\"")) >= 1)
        for play in try await [rtsp, segments, fragments] { try expectGood(play, frameRate: 30, seconds: 10) }
        let after = try await Metrics(of: vidicon)
        let encoded = try #require(after.sum("vidicon_frames_encoded_total"))
        let captured = try #require(after.sum("vidicon_frames_in_total"))
        #expect(encoded <= captured + 3, "\(encoded) pictures encoded of \(captured) captured")
      }
    }

    @Test(arguments: ["playlist.m3u8", "index.m3u8"])
    func `GStreamer plays picture and sound`(playlist: String) async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let pipeline =
          ["-q", "souphttpsrc", "location=\(vidicon.page("/live/\(playlist)"))", "!", "hlsdemux", "!", "decodebin3"]
          + ["name=d", "d.", "!", "audioconvert", "!", "fakesink", "d.", "!", "videoconvert", "!", "videoscale", "!"]
          + ["video/x-raw,format=GRAY8,width=160,height=90", "!", "fdsink", "fd=1", "sync=false"]
        let run = try await Tool.run(
          "gst-launch-1.0", pipeline, byteLimit: 150 * 160 * 90, within: .seconds(40))
        let pictures = Pictures(width: 160, height: 90, bytes: run.output)
        try #require(pictures.count >= 150, "GStreamer decoded \(pictures.count) pictures: \(run.errors)")
        #expect(pictures.deviation(100) > 8)
        #expect(!run.errors.contains("ERROR"), "\(run.errors)")
      }
    }

    @Test(arguments: ["playlist.m3u8", "index.m3u8"])
    func `VLC plays picture and sound`(playlist: String) async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
          // VLC does not run as root; what it received and decoded is written as it played.
          let arguments =
            [vidicon.page("/live/\(playlist)"), "--intf", "dummy", "--no-color", "--run-time", "8", "--play-and-exit"]
            + [
              "--sout",
              "#transcode{vcodec=mjpg,acodec=s16l,width=320,height=180}:std{access=file,mux=avi,dst=\(folder)/vlc.avi}",
            ]
            + ["vlc://quit"]
          let asNobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=\(folder)", "cvlc"]
          let run =
            try await getuid() == 0
            ? Tool.run("setpriv", asNobody + arguments, within: .seconds(40))
            : Tool.run("cvlc", arguments, within: .seconds(40))
          let probe = try await FFprobe.look(at: "\(folder)/vlc.avi", options: [])
          #expect(probe.video?.width == 320, "\(run.errors)")
          #expect(probe.audio?.codecName == "pcm_s16le", "\(run.errors)")
          let times = try await FFmpeg.times(ofVideoIn: "\(folder)/vlc.avi")
          #expect(times.count > 100, "VLC wrote \(times.count) pictures: \(run.errors)")
        }
      }
    }
  }
}
