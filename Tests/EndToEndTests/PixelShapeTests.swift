import Foundation
import Testing

extension EndToEnd {
  @Suite("A publisher whose pixels are not square")
  struct PixelShapes {
    private static let key = "0123456789abcdef0123"
    /// A white square of 120 of 288 rows, as a screen shows it, in pixels of 16:11.
    private static let square = [
      "-f", "lavfi", "-i",
      "color=black:s=512x288:r=30,drawbox=x=196:y=84:w=120:h=120:c=white:t=fill,scale=352:288,setsar=16/11",
    ]

    /// Checks a frame as a player shows it: 16:9, with the square in the middle.
    private static func expectSquare(
      _ name: String, _ url: String, _ input: [String] = [], frame: Int = 0
    ) async throws {
      // The aspect ratio of the container or of the video makes the width.
      let filter = "select='gte(n,\(frame))',scale=360*dar:360,format=gray"
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + input + ["-i", url, "-an", "-vf", filter, "-frames:v", "1"] + FFmpeg.rawVideo + ["pipe:1"],
        within: .seconds(40))
      let width = run.output.count / 360
      try #require(run.output.count == 640 * 360, "\(name): \(width) columns: \(run.errors)")
      let columns = (0..<width).count { run.output[180 * width + $0] > 128 }
      let rows = (0..<360).count { run.output[$0 * width + width / 2] > 128 }
      #expect((145...155).contains(columns) && (145...155).contains(rows), "\(name): \(columns)×\(rows)")
    }

    @Test(.tags(.demanding), arguments: ["rtmp", "rtsp"])
    func `recording, snapshot, RTSP, HLS and rendition show the shape of an anamorphic publisher`(scheme: String)
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let options = [
          "--source", "\(scheme):?key=\(Self.key)", "--audio", "none", "--size", "640x360", "--fps", "30",
          "--rtmp-port", "0", "--rendition", "name=low,size=320x180,bitrate=200k", "--record", "\(folder)/{name}.mp4",
        ]
        try await VidiconProcess.serving(options) { vidicon in
          _ = try await vidicon.status { $0.isSlateShown == true }
          let target =
            try scheme == "rtmp"
            ? ["-f", "flv", vidicon.rtmp("live/\(Self.key)")]
            : ["-f", "rtsp", "-rtsp_transport", "tcp", vidicon.url() + "?key=\(Self.key)"]
          let publisher = try ChildProcess(
            Tool("ffmpeg").path,
            ["-nostdin", "-v", "error", "-re"] + Self.square + RTMPPublisher.encodingVideo + target)
          defer { publisher.kill() }
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 60 }
          let snapshot = try await Curl.get(vidicon.page("/live/snapshot.jpg"))
          try #require(snapshot.status == 200)
          try Data(snapshot.body).write(to: URL(filePath: "\(folder)/snapshot.jpg"))
          try await Self.expectSquare("snapshot", "\(folder)/snapshot.jpg")
          try await Self.expectSquare("RTSP", vidicon.url(), FFmpeg.overTCP, frame: 20)
          try await Self.expectSquare("rendition", vidicon.url("live/low"), FFmpeg.overTCP, frame: 20)
          for path in ["/live/playlist.m3u8", "/live/low/live.m3u8"] {
            try await Curl.whenReady(vidicon.page(path))
            try await Self.expectSquare(path, vidicon.page(path), frame: 20)
          }
          // Further frames, so that the end of the recording is of the publisher.
          let count = try await vidicon.status { _ in true }.framesIn ?? 0
          let status = try await vidicon.status { ($0.framesIn ?? 0) > count + 90 }
          #expect(status.framesPassedThrough ?? 0 == 0)
          #expect(publisher.isRunning && status.isSlateShown == false, "\(publisher.errors.text)")
        }
        try await Self.expectSquare("recording", "\(folder)/live.mp4", ["-sseof", "-2"])
      }
    }
  }
}
