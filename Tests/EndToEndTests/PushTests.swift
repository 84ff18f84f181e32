import Foundation
import Testing

extension EndToEnd {
  @Suite("Pushes to media servers")
  struct Pushes {
    private static let key = "SECRETKEY"
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360", "--bitrate", "800k"]

    /// A file of pushes that only its owner reads.
    private static func file(_ urls: [String], in folder: String) throws -> String {
      let path = "\(folder)/pushes"
      let data = Data(urls.joined(separator: "\n").utf8)
      try #require(
        FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600]))
      return path
    }

    private static func state(of push: Int, _ stream: VidiconEvent.Stream) -> String? {
      stream.pushes?.first { $0.id == push }?.state
    }

    /// Reads frames of a stream of an RTMP server, and checks that they decode and move.
    private static func expectPlays(_ url: String) async throws {
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-xerror", "-rw_timeout", "20000000", "-i", url, "-an", "-vf", "scale=160:90,format=gray"]
          + ["-fps_mode", "passthrough", "-frames:v", "45", "-f", "rawvideo", "pipe:1"], within: .seconds(40))
      try #require(run.succeeded, "\(run.errors)")
      #expect(FFmpeg.complaints(in: run.errors) == [])
      let frames = LumaFrames(width: 160, height: 90, bytes: run.output)
      try #require(frames.count == 45)
      #expect(frames.deviation(44) > 4)
      #expect(frames.difference(44, 14) > 0.3)
    }

    @Test(.tags(.pacing)) func `nginx and a listening ffmpeg get one encoding, and nothing shows the keys`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: NginxRTMP.freePort())
        let server = try nginx.start()
        defer { server.kill() }
        let port = try NginxRTMP.freePort()
        let recording = "\(folder)/recorded.nut"
        let listener = Task {
          try await Tool.run(
            "ffmpeg",
            FFmpeg.quiet + ["-listen", "1", "-i", "rtmp://127.0.0.1:\(port)/app/\(Self.key)2", "-t", "6", "-c", "copy"]
              + [recording], within: .seconds(60))
        }
        let urls = [nginx.url("\(Self.key)1"), "rtmp://127.0.0.1:\(port)/app/\(Self.key)2"]
        try await VidiconProcess.serving(Self.plasma + ["--push-file", Self.file(urls, in: folder)]) { vidicon in
          _ = try await vidicon.status { Self.state(of: 1, $0) == "sending" && ($0.pushes?.first?.bytesSent ?? 0) > 1 }
          try await Self.expectPlays(nginx.url("\(Self.key)1"))
          let recorded = try await listener.value
          #expect(recorded.succeeded && FFmpeg.complaints(in: recorded.errors) == [], "\(recorded.errors)")
          let file = try await FFprobe.look(at: recording, options: [])
          #expect((file.video?.width, file.video?.height, file.audio?.codecName) == (640, 360, "aac"))
          let status = try await vidicon.status { _ in true }
          #expect(
            status.pushes?.map(\.server) == ["rtmp://127.0.0.1:\(nginx.port)/app", "rtmp://127.0.0.1:\(port)/app"])
          #expect(status.pushes?.first?.framesDropped == 0)
          for path in ["/metrics", "/api/streams", "/api/streams/live", "/api/streams/live/pushes", "/live", "/health"]
          {
            let text = try await Curl.get(vidicon.page(path)).text
            #expect(!text.contains(Self.key), "\(path)")
          }
          let metrics = try await Curl.get(vidicon.page("/metrics")).text
          #expect(metrics.contains(#"vidicon_push_sending{stream="live",push="1"} 1"#))
          let options = try String(contentsOfFile: "/proc/\(vidicon.child.processIdentifier)/cmdline", encoding: .utf8)
          #expect(!options.contains(Self.key))
          for text in [vidicon.child.output.text, vidicon.child.errors.text] {
            #expect(!text.isEmpty || text == vidicon.child.errors.text)
            #expect(!text.contains(Self.key), "\(text)")
          }
        }
        // The stream was ended, and not lost.
        #expect(nginx.log.contains("deleteStream"))
      }
    }

    @Test(.tags(.pacing)) func `a server that is killed again and again is sent to again, and another one goes on`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let steady = try NginxRTMP(in: folder, port: NginxRTMP.freePort())
        let shaky = try NginxRTMP(in: folder, port: NginxRTMP.freePort())
        let server = try steady.start()
        defer { server.kill() }
        var killed = try shaky.start()
        defer { killed.kill() }
        let urls = [steady.url("a"), shaky.url("b")]
        try await VidiconProcess.serving(Self.plasma + ["--push-file", Self.file(urls, in: folder)]) { vidicon in
          for round in 0..<4 {
            _ = try await vidicon.status { stream in
              stream.pushes?.last?.reconnects == round && Self.state(of: 2, stream) == "sending"
            }
            try await Self.expectPlays(shaky.url("b"))
            killed.kill()
            _ = await killed.end(within: .seconds(5))
            _ = try await vidicon.status { Self.state(of: 2, $0) != "sending" }
            killed = try shaky.start()
          }
          let status = try await vidicon.status { Self.state(of: 2, $0) == "sending" }
          #expect(status.pushes?.first?.reconnects == 0 && status.pushes?.first?.framesDropped == 0)
          try await Self.expectPlays(steady.url("a"))
        }
      }
    }

    @Test func `rtmps verifies the authority and the host name, and sends the name`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: NginxRTMP.freePort())
        let server = try nginx.start()
        defer { server.kill() }
        for command in [
          "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Test -keyout ca.key -out ca.pem",
          "req -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout server.key -out server.csr",
          "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy -out server.pem",
        ] {
          let arguments = command.split(separator: " ").map { part in
            part.hasSuffix(".key") || part.hasSuffix(".pem") || part.hasSuffix(".csr")
              ? "\(folder)/\(part)" : String(part)
          }
          let run = try await Tool.run("openssl", arguments, within: .seconds(20))
          try #require(run.succeeded, "\(run.errors)")
        }
        let port = try NginxRTMP.freePort()
        let terminator = try ChildProcess(
          Tool("python3").path,
          [
            TestMedia.client("tls_terminator.py"), "\(port)", "\(nginx.port)", "\(folder)/server.pem",
            "\(folder)/server.key",
          ])
        defer { terminator.kill() }
        try await terminator.says("ready")
        let url = "rtmps://localhost:\(port)/app/\(Self.key)"
        let authority = ["--push-ca", "\(folder)/ca.pem"]
        try await VidiconProcess.serving(Self.plasma + authority + ["--push", url]) { vidicon in
          _ = try await vidicon.status { Self.state(of: 1, $0) == "sending" }
          try await Self.expectPlays(nginx.url(Self.key))
          #expect(terminator.output.text.contains("name localhost"))
        }
        let address = "rtmps://127.0.0.1:\(port)/app/\(Self.key)"
        for (url, options, reason) in [(url, [], "authority"), (address, authority, "another host name")] {
          try await VidiconProcess.serving(Self.plasma + options + ["--push", url]) { vidicon in
            let status = try await vidicon.status { $0.pushes?.first?.lastFailure != nil }
            #expect(status.pushes?.first?.lastFailure?.contains(reason) == true, "\(status.pushes ?? [])")
            #expect(!vidicon.child.errors.text.contains(Self.key))
          }
        }
      }
    }

    /// Bitrate in bits per second, and the longest time between two frames, of video that was recorded.
    private static func recorded(_ path: String) async throws -> (
      bitrate: Double, maximumInterval: Double, keyframes: Int
    ) {
      let run = try await Tool.run(
        "ffprobe",
        [
          "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time,size,flags", "-of", "csv=p=0",
          path,
        ],
        within: .seconds(20))
      let fields = run.outputText.split(separator: "\n").map { $0.split(separator: ",") }
      let times = fields.compactMap { $0.first.flatMap { Double($0) } }
      let size = fields.compactMap { $0.count > 1 ? Double($0[1]) : nil }.reduce(0, +)
      guard let first = times.first, let last = times.last, last > first else { return (0, 0, 0) }
      return (
        size * 8 / (last - first), zip(times.dropFirst(), times).map { $0 - $1 }.max() ?? 0,
        fields.count { $0.count > 2 && $0[2].hasPrefix("K") }
      )
    }

    @Test(.tags(.timing), arguments: [true, false])
    func `on a link of 1 Mb/s a push adapts or drops, and viewers keep what they have`(isAdaptive: Bool) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await TwoHosts.with { hosts in
          let link = "qdisc replace dev stranger root tbf rate 1mbit burst 16kb limit 60kb".split(separator: " ")
          let control = try hosts.start("tc", link.map(String.init))
          #expect(await control.end(within: .seconds(10)) == .status(0))
          let nginx = try NginxRTMP(in: folder, port: 1935)
          let server = try hosts.start("ip", ["netns", "exec", "stranger"] + nginx.command)
          defer { server.kill() }
          let options = [
            "--source", "plasma", "--audio", "tone", "--size", "640x360", "--push",
            "adaptive=\(isAdaptive ? "yes" : "no"),url=\(nginx.url("key", host: "10.77.2.2"))",
          ]
          try await hosts.serving(options) { vidicon in
            _ = try await vidicon.status { Self.state(of: 1, $0) == "sending" }
            // Its link is full, and it has found its bitrate or begun to drop. How soon is tested in virtual time.
            _ = try await vidicon.status(within: .seconds(60)) { stream in
              stream.pushes?.first.map { push in
                isAdaptive
                  ? push.ownEncoding && push.queue < 0.5 && push.videoBitrate <= 950_000 : push.framesDropped > 30
              } == true
            }
            let memory = try vidicon.residentMemory()
            let viewer = try hosts.start(
              "ffmpeg",
              FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "12", "-c", "copy", "-copyts"]
                + ["\(folder)/viewer.nut"])
            var queues: [Double] = []
            var bitrates: [Int] = []
            for _ in 0..<13 {
              let push = try #require(try await vidicon.status { _ in true }.pushes?.first)
              #expect(push.state == "sending" && push.ownEncoding == isAdaptive)
              queues.append(push.queue)
              bitrates.append(push.videoBitrate)
            }
            if isAdaptive {
              // It asks for more now and then, by half, and gives up within seconds; the stream itself has 2.3 Mb/s.
              #expect(bitrates.allSatisfy { (200_000...1_900_000).contains($0) }, "\(bitrates)")
              #expect(bitrates.count { $0 > 1_000_000 } <= 6, "\(bitrates)")
            }
            #expect(await viewer.end(within: .seconds(20)) == .status(0), "\(viewer.errors.text)")
            #expect(FFmpeg.complaints(in: viewer.errors.text) == [])
            #expect(queues.max() ?? 9 <= (isAdaptive ? 2.5 : 3.5), "\(queues)")
            let seen = try await Self.recorded("\(folder)/viewer.nut")
            #expect(seen.bitrate > 1_900_000 && seen.maximumInterval < 0.5, "\(seen)")
            // One for the viewer, and one each two seconds: the push adds none.
            #expect(seen.keyframes <= 8, "\(seen)")
            #expect(try vidicon.residentMemory() < memory + 24 << 20)
            let push = try #require(try await vidicon.status { _ in true }.pushes?.first)
            #expect(push.reconnects == 0, "\(push)")
          }
        }
      }
    }

    @Test func `operators change the list while the stream runs`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: NginxRTMP.freePort())
        let server = try nginx.start()
        defer { server.kill() }
        try await VidiconProcess.serving(Self.plasma + ["--rendition", "name=small,size=320x180,bitrate=150k"]) {
          vidicon in
          func put(_ body: String) async throws -> Curl {
            try await Curl.get(
              vidicon.page("/api/streams/live/pushes"),
              ["-X", "PUT", "-H", "Content-Type: application/json", "-d", body])
          }
          let started = try await put(#"{"pushes":[{"url":"\#(nginx.url("\(Self.key)1"))","rendition":"small"}]}"#)
          #expect(started.status == 200 && !started.text.contains(Self.key), "\(started.text)")
          _ = try await vidicon.status { Self.state(of: 1, $0) == "sending" && ($0.pushes?.first?.bytesSent ?? 0) > 1 }
          let small = try await FFprobe.look(at: nginx.url("\(Self.key)1"), options: [])
          #expect(small.video?.width == 320 && small.audio?.codecName == "aac")
          let both = try await put(#"{"pushes":[{"id":1},{"url":"\#(nginx.url("\(Self.key)2"))"}]}"#)
          #expect(both.status == 200)
          _ = try await vidicon.status { Self.state(of: 2, $0) == "sending" }
          #expect(try await put(#"{"pushes":[{"id":9}]}"#).status == 400)
          let unknown = try await put(#"{"pushes":[{"url":"\#(nginx.url(Self.key))","rendition":"no"}]}"#)
          #expect(unknown.status == 400 && unknown.text.contains("small") && !unknown.text.contains(Self.key))
          #expect(try await put(#"{"pushes":[]}"#).status == 200)
          _ = try await vidicon.status { $0.pushes?.isEmpty == true }
          #expect(!vidicon.child.errors.text.contains(Self.key) && !vidicon.child.output.text.contains(Self.key))
        }
      }
    }
  }
}
