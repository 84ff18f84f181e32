import Foundation
import Testing

extension EndToEnd {
  @Suite("Addresses: IPv6, no path, several streams, the configuration file")
  struct Addresses {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360"]

    @Test func `an unknown stream is answered with 404`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        let port = vidicon.rtspPort
        let status = try await waiting { try RTSPDialogue(port: port, path: "/other").ask("DESCRIBE").status }
        #expect(status == 404)
      }
    }

    @Test(.tags(.pacing)) func `two streams run side by side, each with its own size`() async throws {
      let streams = [
        "--stream", "name=one,source=plasma,audio=tone,size=640x360,fps=30",
        "--stream", "name=two,source=noise,audio=none,size=320x240,fps=15",
      ]
      try await VidiconProcess.serving(streams) { vidicon in
        #expect(vidicon.started.streams?.map(\.name) == ["one", "two"])
        async let one = FFmpeg.play(vidicon.url("one"), seconds: 8)
        async let two = FFmpeg.play(vidicon.url("two"), seconds: 8, audio: false)
        try expectGood(await one, frameRate: 30, seconds: 8)
        try expectGood(await two, frameRate: 15, seconds: 8)
        let probe = try await FFprobe.look(at: vidicon.url("two"))
        #expect(probe.video?.width == 320)
        #expect(probe.audio == nil, "a track that does not flow must not be announced")
        let first = try await FFprobe.look(at: vidicon.url(nil))
        #expect(first.video?.width == 640)
      }
    }

    @Test(.tags(.pacing)) func `the configuration file sets the same values as the options`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/vidicon.yaml"
        try """
        rtspPort: 0
        users:
          - name: anna
            password: secret
        streams:
          - name: garden
            source: plasma
            audio: tone
            size: 640x360
            fps: 25
            bitrate: 800k
            scaling: fill
            audioBitrate: 64k
          - name: lab
            source: noise
            audio: none
            size: 320x240
            fps: 10
            bitrate: 500k
        """.write(toFile: path, atomically: true, encoding: .utf8)
        try await VidiconProcess.serving(["--config", path]) { vidicon in
          #expect(vidicon.started.streams?.map(\.name) == ["garden", "lab"])
          let garden = "rtsp://anna:secret@127.0.0.1:\(vidicon.rtspPort)/garden"
          try expectGood(try await FFmpeg.play(garden, seconds: 6), frameRate: 25, seconds: 6)
        }
      }
    }

    @Test func `an unknown key of the configuration file is named in the error`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/vidicon.yaml"
        try "streams:\n  - name: live\n    souce: plasma\n".write(toFile: path, atomically: true, encoding: .utf8)
        try await expectRefusal(["serve", "--config", path], status: 64, saying: "souce")
      }
    }
  }
}
