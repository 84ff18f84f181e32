import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("WebRTC players: Chromium and Firefox on a bare page, aiortc, GStreamer")
  struct WebRTCPlayers {
    private static let bars = [
      "--source", "bars", "--audio", "none", "--size", "640x360", "--fps", "30", "--webrtc-port", "0", "--cors", "*",
    ]

    /// Output of whep_play.py.
    struct Seen: Decodable {
      var status: Int
      var cipher: String?
      var connection: String?
      var decoded: Int?
      var received: Int?
      var width: Int?
      var deviation: Double?
      var freezes: Int?
      var restart: [Restart]?
      var latencies: Int?
      var medianLatency: Double?
      /// The 95th percentile, as all latencies in seconds.
      var lateLatency: Double?
      var firstFrameSeconds: Double?
      var deleted: Int?
      var deletedAgain: Int?
      var colors: [[Int]]?
      var protocolName: String?
      var currentDirections: [String?]?
      var audioPackets: Int?
      var framesMeanwhile: Int?
      var freezesMeanwhile: Int?

      enum CodingKeys: String, CodingKey {
        case status, cipher, connection, decoded, received, width, deviation, freezes, restart, latencies, medianLatency
        case lateLatency, firstFrameSeconds, deleted, deletedAgain, colors, currentDirections, audioPackets,
          framesMeanwhile
        case freezesMeanwhile
        case protocolName = "protocol"
      }

      /// Status, and whether the entity tag changed.
      enum Restart: Decodable, Equatable {
        case status(Int)
        case changed(Bool)

        init(from decoder: any Decoder) throws {
          let container = try decoder.singleValueContainer()
          if let hasChanged = try? container.decode(Bool.self) {
            self = .changed(hasChanged)
          } else {
            self = .status(try container.decode(Int.self))
          }
        }
      }
    }

    /// Whether the colors of four points are those of the bars, the right way up: gray, yellow and blue from left to right, white
    /// below.
    static func areBars(_ colors: [[Int]]?) -> Bool {
      let expected = [[192, 192, 192], [192, 192, 0], [0, 0, 192], [255, 255, 255]]
      guard let colors, colors.count == expected.count else { return false }
      return zip(colors, expected).allSatisfy { color, expected in
        color.count == 3 && zip(color, expected).allSatisfy { abs($0 - $1) < 16 }
      }
    }

    static func play(_ url: String, _ options: String...) async throws -> Seen {
      try await Self.play(url, options)
    }

    private static func play(_ url: String, _ options: [String]) async throws -> Seen {
      let run = try await Tool.run(
        "python3", [TestMedia.client("whep_play.py"), url] + options, within: .seconds(100))
      try #require(run.succeeded, "\(run.errors)")
      return try JSONDecoder().decode(Seen.self, from: Data(run.output))
    }

    @Test(.tags(.timing))
    func `a bare page in Chromium shows the stream in real time, restarts ICE, and ends the session`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let seen = try await Self.play(vidicon.page("/live/whep"), "--restart")
        #expect(seen.status == 201 && seen.width == 640 && seen.cipher == "SRTP_AEAD_AES_128_GCM")
        #expect(try #require(seen.decoded) >= 100 && seen.connection == "connected")
        #expect(Self.areBars(seen.colors), "\(seen.colors ?? [])")
        // The source has no audio.
        #expect(seen.currentDirections == ["recvonly", "inactive"] && seen.protocolName == "udp")
        #expect(try #require(seen.latencies) > 60)
        report("median latency, s", seen.medianLatency ?? 99, limit: 0.3)
        #expect(try #require(seen.medianLatency) < 0.3)
        #expect(seen.restart == [.status(200), .changed(true)])
        #expect(seen.deleted == 200 && seen.deletedAgain == 404)
        let metrics = try await Metrics(of: vidicon)
        #expect(try #require(metrics.sum("vidicon_sent_bytes_total", "protocol=\"webrtc\"")) > 10_000)
        try await waitUntil { try await Metrics(of: vidicon).sum("vidicon_viewers", "protocol=\"webrtc\"") == 0 }
      }
    }

    /// From the capture of the source, which is in the frames, to their display: encoder, network, decoder. The percentiles leave
    /// room for what else runs; the figures of docs/webrtc.md are what this prints.
    @Test(.tags(.timing), arguments: [("none", 0.09, 0.15), ("tone", 0.12, 0.2)])
    func `720p is displayed within a tenth of a second of its capture`(audio: String, median: Double, late: Double)
      async throws
    {
      let source = ["--source", "bars", "--audio", audio, "--size", "1280x720", "--fps", "30"]
      try await VidiconProcess.serving(source + ["--webrtc-port", "0", "--cors", "*"]) { vidicon in
        let seen = try await Self.play(vidicon.page("/live/whep"), "--frames", "180")
        let (p50, p95) = (try #require(seen.medianLatency), try #require(seen.lateLatency))
        #expect(try #require(seen.latencies) > 150 && seen.width == 1280)
        report("median latency, s, audio \(audio)", p50, limit: median)
        report("95th percentile, s, audio \(audio)", p95, limit: late)
        #expect(p50 <= median && p95 <= late)
      }
    }

    @Test func `a browser whose certificate is not the offered one gets no media`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let seen = try await Self.play(vidicon.page("/live/whep"), "--wrong-fingerprint")
        #expect(seen.status == 201 && seen.decoded == 0 && seen.received == 0 && seen.width == 0)
        try await vidicon.child.complains("a viewer has another certificate than it offered", within: .seconds(30))
      }
    }

    @Test func `a rendition plays in Chromium, and a token is needed where watching is protected`() async throws {
      let token = "0123456789abcdef0123456789abcdef"
      try await TestMedia.withTemporaryFolder { folder in
        let file = "\(folder)/vidicon.yaml"
        try "users:\n  - token: \(token)\n    role: viewer\n".write(toFile: file, atomically: true, encoding: .utf8)
        let low = ["--rendition", "name=low,size=320x180,bitrate=200k", "--config", file]
        try await VidiconProcess.serving(Self.bars + low) { vidicon in
          #expect(try await Self.play(vidicon.page("/live/low/whep")).status == 401)
          let seen = try await Self.play(vidicon.page("/live/low/whep"), "--bearer", token)
          #expect(seen.status == 201 && seen.width == 320 && seen.deleted == 200)
        }
      }
    }

    @Test func `a bare page plays over IPv6, and over TCP where it is given no other candidates`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        for (host, options) in [("[::1]", []), ("127.0.0.1", ["--tcp"])] {
          let seen = try await Self.play(vidicon.page("/live/whep", host: host), ["--frames", "30"] + options)
          #expect(seen.status == 201 && Self.areBars(seen.colors), "\(host): \(seen.colors ?? [])")
          #expect(seen.protocolName == (options == [] ? "udp" : "tcp"))
          #expect(seen.deleted == 200 && seen.cipher == "SRTP_AEAD_AES_128_GCM")
        }
      }
    }

    /// Runs a client in a network that refuses UDP to the server.
    private static func withoutUDP<Result: Decodable>(_ client: String, _ options: String...) async throws -> Result {
      let run = try await Tool.run(
        "bash", [TestMedia.client("without_udp.sh"), VidiconProcess.path(), client] + options, within: .seconds(100))
      try #require(run.succeeded, "\(client): \(run.errors)")
      return try JSONDecoder().decode(Result.self, from: Data(run.output))
    }

    /// aiortc has no TCP for its candidates.
    @Test func `Chromium, Firefox and GStreamer play over TCP in a network that drops UDP`() async throws {
      let bare: Seen = try await Self.withoutUDP("whep_play.py", "--frames", "30")
      #expect(bare.status == 201 && bare.protocolName == "tcp" && bare.deleted == 200)
      #expect(Self.areBars(bare.colors), "\(bare.colors ?? [])")
      let firefox: Seen = try await Self.withoutUDP("whep_play.py", "--browser", "firefox")
      #expect(firefox.status == 201 && firefox.protocolName == "tcp" && firefox.deleted == 200)
      #expect(try #require(firefox.audioPackets) > 50)
      let rendered: Rendered = try await Self.withoutUDP("whep_gstreamer.py")
      #expect(rendered.status == 201 && rendered.problem == nil && rendered.deleted == 200)
      #expect(Self.areBars(rendered.colors) && (rendered.loudest ?? 0) > 0.05)
    }

    @Test(.tags(.timing)) func `the page plays over TCP, and says so, in a network that drops UDP`() async throws {
      let shown: Shown = try await Self.withoutUDP("page_webrtc.py")
      #expect(shown.way == "WebRTC over TCP" && shown.loudest > 0.01 && shown.complaints == [])
      #expect(abs(shown.shownLatency - shown.medianLatency) < 0.5)
    }

    @Test(.tags(.demanding)) func `Chromium plays behind a router that forwards the ports, given the router's address`()
      async throws
    {
      let address = "203.0.113.7"
      let play = try await Tool.run(
        "bash", [TestMedia.client("behind_router.sh"), VidiconProcess.path(), "--ice-address", address],
        within: .seconds(100))
      try #require(play.succeeded, "\(play.errors)")
      let seen = try JSONDecoder().decode(Seen.self, from: Data(play.output))
      #expect(seen.status == 201 && seen.protocolName == "udp" && seen.deleted == 200)
      #expect(Self.areBars(seen.colors), "\(seen.colors ?? [])")
      // Without it the answer has an address of the network behind the router, and a line says what is lacking.
      let refused = try await Tool.run(
        "bash", [TestMedia.client("behind_router.sh"), VidiconProcess.path()], within: .seconds(100))
      try #require(refused.succeeded, "\(refused.errors)")
      #expect(refused.outputText.contains("192.168.7.2 8189") && !refused.outputText.contains(address))
      #expect(refused.errors.contains("give the address that clients reach with --ice-address"), "\(refused.errors)")
    }

    /// Runs a client in a network without addresses of IPv4 but for that of the loopback interface.
    private static func overIPv6<Result: Decodable>(
      _ client: String, _ options: String..., environment: [String: String] = [:]
    ) async throws -> Result {
      let assignments = environment.map { "\($0)=\($1)" }
      let run = try await Tool.run(
        "env",
        assignments + ["bash", TestMedia.client("ipv6_only.sh"), VidiconProcess.path(), client] + options,
        within: .seconds(100))
      try #require(run.succeeded, "\(client): \(run.errors)")
      return try JSONDecoder().decode(Result.self, from: Data(run.output))
    }

    /// Output of whep_aiortc.py.
    private struct Received: Decodable {
      var status: Int
      var width: Int
      var frames: Int
      var deviation: Double
      var isMonotonic: Bool
      var audioFrames: Int
      var deleted: Int
    }

    @Test(.tags(.demanding)) func `in a network of IPv6 alone, Chromium, Firefox, aiortc and GStreamer play`()
      async throws
    {
      let bare: Seen = try await Self.overIPv6("whep_play.py", "--frames", "30")
      #expect(bare.status == 201 && bare.protocolName == "udp" && bare.deleted == 200)
      #expect(Self.areBars(bare.colors), "\(bare.colors ?? [])")
      let firefox: Seen = try await Self.overIPv6("whep_play.py", "--browser", "firefox", "--page-host", "fd00:5::9")
      #expect(firefox.status == 201 && firefox.connection == "connected" && firefox.deleted == 200)
      #expect(try #require(firefox.audioPackets) > 50)
      let rendered: Rendered = try await Self.overIPv6("whep_gstreamer.py")
      #expect(rendered.status == 201 && rendered.problem == nil && Self.areBars(rendered.colors))
      let received: Received = try await Self.overIPv6(
        "whep_aiortc.py", "--audio", environment: ["PYTHONPATH": try TestMedia.file("aiortc")])
      #expect(received.status == 201 && received.width == 640 && received.frames >= 60 && received.deleted == 200)
      #expect(received.isMonotonic && received.deviation > 10 && received.audioFrames >= 50)
    }

    @Test(.tags(.timing)) func `in a network of IPv6 alone, the page plays by WebRTC`() async throws {
      let shown: Shown = try await Self.overIPv6("page_webrtc.py")
      #expect(shown.way == "WebRTC, real time" && shown.loudest > 0.01 && shown.complaints == [])
    }

    @Test func `Firefox, which has no H.264 as packaged, plays the audio, and its video line is refused`() async throws
    {
      let tone = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--webrtc-port", "0", "--cors", "*"]
      try await VidiconProcess.serving(tone) { vidicon in
        let seen = try await Self.play(vidicon.page("/live/whep"), "--browser", "firefox")
        #expect(seen.status == 201 && seen.connection == "connected" && seen.deleted == 200)
        #expect(try #require(seen.audioPackets) > 50 && seen.width == 0)
        #expect(seen.currentDirections?.last == "recvonly" && seen.currentDirections?.first != "recvonly")
      }
    }

    @Test func `a source that is passed through as High plays in browsers, and stays High for all others`() async throws
    {
      let camera = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30", "--profile", "high"]
      try await VidiconProcess.serving(camera) { camera in
        let passing = ["--source", camera.url(), "--webrtc-port", "0", "--cors", "*"]
        try await VidiconProcess.serving(passing) { vidicon in
          try await TestMedia.withTemporaryFolder { folder in
            // While the browser plays, RTSP has what the camera has made.
            let probe =
              "ffprobe -v error -rtsp_transport tcp -select_streams v:0 -show_entries stream=profile -of csv=p=0 "
              + "\(vidicon.url()) > \(folder)/profile"
            let seen = try await Self.play(vidicon.page("/live/whep"), "--frames", "30", "--while", probe)
            #expect(seen.status == 201 && Self.areBars(seen.colors), "\(seen.colors ?? [])")
            #expect(seen.currentDirections == ["recvonly", "recvonly"] && seen.width == 640)
            #expect(try String(contentsOfFile: "\(folder)/profile", encoding: .utf8).hasPrefix("High"))
          }
        }
      }
    }

    @Test(.tags(.demanding), arguments: [("main", "127.0.0.1"), ("high", "[::1]")])
    func `a stream whose encoder makes another profile plays in Chromium`(profile: String, host: String) async throws {
      try await VidiconProcess.serving(Self.bars + ["--profile", profile]) { vidicon in
        let seen = try await Self.play(vidicon.page("/live/whep", host: host), "--frames", "30")
        #expect(seen.status == 201 && seen.width == 640 && seen.deleted == 200)
        #expect(Self.areBars(seen.colors), "\(seen.colors ?? [])")
      }
    }

    /// Makes a file of two seconds of the bars, compressed by ffmpeg.
    private static func makeBars(_ path: String, in folder: String, _ encoder: [String]) async throws {
      let original = "\(folder)/original.mp4"
      let recorded = try await VidiconProcess.run(
        ["record", original, "--source", "bars", "--size", "640x360", "--fps", "30", "--duration", "2s"])
      try #require(recorded.exit == .status(0), "\(recorded.errors)")
      let made = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-i", original, "-an", "-pix_fmt", "yuv420p"] + encoder + [path],
        within: .seconds(60))
      try #require(made.succeeded, "\(made.errors)")
    }

    @Test(.tags(.demanding)) func `a file of HEVC plays in Chromium`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let file = "\(folder)/hevc.mp4"
        try await Self.makeBars(
          file, in: folder, ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=30"])
        let source = ["--source", "file:\(file)", "--audio", "none", "--fps", "30"]
        try await VidiconProcess.serving(source + ["--webrtc-port", "0", "--cors", "*"]) { vidicon in
          let seen = try await Self.play(vidicon.page("/live/whep"), "--frames", "30")
          #expect(seen.status == 201 && seen.width == 640 && seen.deleted == 200)
          #expect(Self.areBars(seen.colors), "\(seen.colors ?? [])")
        }
      }
    }

    @Test(.tags(.demanding)) func `a network source with B-frames, which WebRTC has no order for, plays in Chromium`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let file = "\(folder)/b.mp4"
        try await Self.makeBars(
          file, in: folder,
          ["-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-x264-params", "b-adapt=0:keyint=30"])
        let key = "0123456789abcdef0123"
        let source = ["--source", "rtmp:?key=\(key)", "--audio", "none", "--size", "640x360", "--fps", "30"]
        try await VidiconProcess.serving(source + ["--rtmp-port", "0", "--webrtc-port", "0", "--cors", "*"]) {
          vidicon in
          let input = ["-stream_loop", "-1", "-i", file, "-c", "copy"]
          try await RTMPPublisher.publishing(input, to: vidicon.rtmp("live/live/\(key)")) { _ in
            _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
            let seen = try await Self.play(vidicon.page("/live/whep"), "--frames", "30")
            #expect(seen.status == 201 && seen.width == 640 && seen.deleted == 200)
            #expect(Self.areBars(seen.colors), "\(seen.colors ?? [])")
            #expect(try await vidicon.status { _ in true }.framesPassedThrough ?? 0 == 0)
          }
        }
      }
    }

    @Test(.tags(.timing))
    func `twenty switches of the source do not stop the video`() async throws {
      try await VidiconProcess.serving(Self.bars + ["--control", "all"]) { vidicon in
        let switching =
          "for number in 1 2 3 4 5 6 7 8 9 10; do for source in plasma bars; do "
          + "curl -sf -o /dev/null -X PUT -H 'Content-Type: application/json' -d '{\"video\":\"'$source'\"}' "
          + "\(vidicon.page("/api/streams/live/source")) || exit 1; sleep 0.3; done; done"
        let seen = try await Self.play(vidicon.page("/live/whep"), "--frames", "30", "--while", switching)
        // 6 s at 30 frames per second, and the time of the switches.
        #expect(try #require(seen.framesMeanwhile) > 120 && seen.freezesMeanwhile == 0)
        #expect(Self.areBars(seen.colors) && seen.connection == "connected", "\(seen.colors ?? [])")
      }
    }

    @Test func `a mask covers the face in the browser`() async throws {
      let face = try FaceClip.source() + ["--webrtc-port", "0", "--cors", "*"]
      var deviations: [Double] = []
      for options in [[], ["--mask", "solid"]] {
        try await VidiconProcess.serving(face + options) { vidicon in
          let seen = try await Self.play(vidicon.page("/live/whep"), "--frames", "20", "--center")
          deviations.append(try #require(seen.deviation))
        }
      }
      // The center of the face has detail, the mask has none.
      #expect(deviations[0] > 15 && deviations[1] < deviations[0] / 2, "\(deviations)")
    }

    @Test func `offers that are too long, of too many tracks, or none, are refused in a line`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        let track = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:96 H264/90000\r\n"
        for (offer, status) in [
          (String(repeating: "a=x:y\r\n", count: 150_000), "413"),
          ("v=0\r\n" + String(repeating: "m=video 9 X 96\r\n", count: 1000), "400"), ("hello", "400"),
          ("v=0\r\n" + track + "a=mid:,\r\n", "400"), ("v=0\r\n" + track, "406"),
        ] {
          try await TestMedia.withTemporaryFolder { folder in
            try offer.write(toFile: "\(folder)/offer", atomically: true, encoding: .utf8)
            let run = try await Tool.run(
              "curl",
              [
                "-s", "-X", "POST", "-H", "Content-Type: application/sdp", "-H", "Expect:", "--data-binary",
                "@\(folder)/offer", "-w", "\n%{http_code}", vidicon.page("/live/whep"),
              ], within: .seconds(20))
            let lines = run.outputText.split(separator: "\n")
            #expect(lines.last == Substring(status) && lines.count == 2, "\(run.outputText.prefix(300))")
          }
        }
      }
    }

    /// Output of whep_gstreamer.py.
    private struct Rendered: Decodable {
      var status: Int
      var width: Int?
      var height: Int?
      var colors: [[Int]]?
      var loudest: Double?
      var problem: String?
      var deleted: Int?
    }

    @Test(arguments: [[], ["--bare"]])
    func `GStreamer's webrtcbin plays video and audio, also by an offer without their parameters`(options: [String])
      async throws
    {
      let tone = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30", "--webrtc-port", "0"]
      try await VidiconProcess.serving(tone) { vidicon in
        // Debian packages the bindings for its own interpreter.
        let run = try await Tool.run(
          program: "/usr/bin/python3",
          [TestMedia.client("whep_gstreamer.py"), vidicon.page("/live/whep")] + options,
          within: .seconds(60))
        try #require(run.succeeded, "\(run.errors)")
        let rendered = try JSONDecoder().decode(Rendered.self, from: Data(run.output))
        #expect(rendered.status == 201 && rendered.problem == nil && rendered.deleted == 200)
        #expect(rendered.width == 640 && rendered.height == 360 && Self.areBars(rendered.colors))
        #expect(try #require(rendered.loudest) > 0.05)
      }
    }
  }
}
