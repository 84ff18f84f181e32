import Foundation
import Testing

extension EndToEnd {
  @Suite("What is not there at the start")
  struct LateStarts {
    @Test func `a camera that starts later than the program is shown once it is there, and nothing ends`() async throws
    {
      let port = try FreePort.take()
      let options = ["--source", "rtsp://127.0.0.1:\(port)/live", "--fps", "15", "--size", "320x180"]
      try await VidiconProcess.serving(options) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        #expect(vidicon.child.errors.text.contains("viewers see the slate until it is there"))
        #expect(try await Curl.get(vidicon.page("/health")).status == 200)
        let camera = [
          "--source", "bars", "--audio", "tone", "--fps", "15", "--size", "320x180", "--rtsp-port", "\(port)",
        ]
        try await VidiconProcess.serving(camera) { _ in
          _ = try await vidicon.status(within: .seconds(60)) { $0.isSlateShown == false }
          let play = try await FFmpeg.play(vidicon.url(), frames: 20)
          #expect(play.times.count >= 20 && play.audio != nil)
        }
      }
    }

    @Test func `a named pipe shows the slate, the media of each program that writes, and the slate again`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let pipe = "\(folder)/film.ts"
        try #require(mkfifo(pipe, 0o600) == 0)
        // The program starts, with its ports, although nothing is written.
        let options = ["--source", "file:\(pipe)", "--fps", "15", "--size", "320x180"]
        try await VidiconProcess.serving(options) { vidicon in
          _ = try await vidicon.status { $0.isSlateShown == true }
          #expect(try await Curl.get(vidicon.page("/health")).status == 200)
          let slate = try await FFmpeg.play(vidicon.url(), frames: 20)
          #expect(slate.frames.count >= 20 && slate.frames.mean(19) < 128, "\(slate.run.errors)")
          #expect(try #require(slate.audio).level < 0.001)
          for _ in 1...2 {
            let writer = try ChildProcess(
              Tool("ffmpeg").path,
              FFmpeg.quiet + ["-y", "-re", "-f", "lavfi", "-i", "color=white:s=320x180:r=15", "-f", "lavfi", "-i"]
                + ["sine=1000:r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "15"]
                + ["-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "mpegts", pipe])
            defer { writer.kill() }
            _ = try await vidicon.status(within: .seconds(60)) { $0.isSlateShown == false }
            let film = try await FFmpeg.play(vidicon.url(), frames: 40)
            try #require(film.frames.count >= 40, "\(film.run.errors)")
            #expect(film.frames.mean(39) > 200)
            #expect(try #require(film.audio).level > 0.02)
            writer.kill()
            _ = try await vidicon.status(within: .seconds(60)) { $0.isSlateShown == true }
          }
        }
      }
    }

    @Test func `standard input shows the slate until a program writes to it`() async throws {
      let pipe = ChildProcess.pipe()
      let options = ["--source", "pipe:", "--fps", "15", "--size", "320x180"]
      try await VidiconProcess.serving(options, input: pipe) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        #expect(vidicon.child.errors.text.contains("no program writes to it yet"))
        #expect(try await Curl.get(vidicon.page("/health")).status == 200)
        let writer = try ChildProcess(
          Tool("ffmpeg").path,
          FFmpeg.quiet + ["-re", "-f", "lavfi", "-i", "color=white:s=640x360:r=15", "-pix_fmt", "yuv420p"]
            + ["-f", "yuv4mpegpipe", "-"],
          outputPipe: pipe)
        defer { writer.kill() }
        _ = try await vidicon.status(within: .seconds(60)) { $0.isSlateShown == false }
        let film = try await FFmpeg.play(vidicon.url(), frames: 40)
        try #require(film.frames.count >= 40, "\(film.run.errors)")
        #expect(film.frames.mean(39) > 200)
      }
    }

    @Test func `a named pipe as audio is silent until a program writes, and again when it has ended`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let pipe = "\(folder)/tone.wav"
        try #require(mkfifo(pipe, 0o600) == 0)
        let options = ["--source", "bars", "--audio", "file:\(pipe)", "--fps", "15", "--size", "320x180"]
        try await VidiconProcess.serving(options) { vidicon in
          _ = try await vidicon.status { $0.isSlateShown == false }
          #expect(vidicon.child.errors.text.contains("no program writes to it yet"))
          #expect(vidicon.child.errors.text.contains("the audio is silent until it is there"))
          #expect(try await Curl.get(vidicon.page("/health")).status == 200)
          func level() async throws -> Double {
            let play = try await FFmpeg.play(vidicon.url(), frames: 30)
            try #require(play.frames.count >= 30, "\(play.run.errors)")
            return try #require(play.audio).level
          }
          /// Plays until the audio has a level.
          func expectLevel(_ isReached: (Double) -> Bool) async throws {
            let end = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < end {
              if isReached(try await level()) { return }
            }
            Issue.record("the audio does not change")
          }
          #expect(try await level() < 0.001)
          for _ in 1...2 {
            let writer = try ChildProcess(
              Tool("ffmpeg").path,
              FFmpeg.quiet + ["-y", "-re", "-f", "lavfi", "-i", "sine=1000:r=48000", "-f", "wav", pipe])
            defer { writer.kill() }
            try await expectLevel { $0 > 0.02 }
            writer.kill()
            try await expectLevel { $0 < 0.001 }
          }
        }
      }
    }

    @Test func `with --exit-on-failure a camera that is not there ends the program with one line`() async throws {
      let port = try FreePort.take()
      let arguments =
        ["serve", "--source", "rtsp://127.0.0.1:\(port)/live", "--exit-on-failure"] + VidiconProcess.freePorts
      let run = try await VidiconProcess.run(arguments)
      #expect(run.exit == .status(1))
      #expect(run.errors.split(separator: "\n").count == 1 && run.errors.contains("127.0.0.1:\(port)"), "\(run.errors)")
    }

    @Test func `a client that connects as soon as the port is open finds the stream`() async throws {
      let port = try FreePort.take()
      // Connects again and again, sends one request as soon as that is possible, and prints the status line.
      let client = """
        import socket, time
        for _ in range(20000):
            try:
                s = socket.create_connection(("127.0.0.1", \(port)))
                break
            except OSError:
                time.sleep(.001)
        s.sendall(b"GET /live/snapshot.jpg HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
        print(s.recv(64).split(b"\\r\\n")[0].decode())
        """
      let early = try ChildProcess(Tool("python3").path, ["-c", client])
      defer { early.kill() }
      try await VidiconProcess.serving(["--source", "bars", "--size", "320x180", "--http-port", "\(port)"]) { _ in
        #expect(await early.end(within: .seconds(60)) == .status(0))
        await early.output.end()
        #expect(early.output.text == "HTTP/1.0 200 OK\n", "\(early.output.text)")
      }
    }

    @Test(arguments: ["rtmp", "rtsp"])
    func `a publisher that connects as soon as the port is open is accepted, and shown`(scheme: String) async throws {
      let (port, relayPort, key) = try (FreePort.take(), FreePort.take(), "0123456789abcdef0123")
      // Accepts a publisher, connects to the program again and again, and passes on as soon as that is possible.
      let script = """
        import socket, threading, time
        server = socket.create_server(("127.0.0.1", \(relayPort)))
        print("listening", flush=True)
        publisher, _ = server.accept()
        print("connected", flush=True)
        for _ in range(200000):
            try:
                program = socket.create_connection(("127.0.0.1", \(port)))
                break
            except OSError:
                time.sleep(.001)
        def pass_on(source, target):
            try:
                while data := source.recv(65536): target.sendall(data)
            except OSError:
                pass
            target.close()
        threading.Thread(target=pass_on, args=(program, publisher), daemon=True).start()
        pass_on(publisher, program)
        """
      let relay = try ChildProcess(Tool("python3").path, ["-c", script])
      defer { relay.kill() }
      try await relay.says("listening")
      let target =
        scheme == "rtmp"
        ? ["-f", "flv", "rtmp://127.0.0.1:\(relayPort)/live/\(key)"]
        : ["-f", "rtsp", "-rtsp_transport", "tcp", "rtsp://127.0.0.1:\(relayPort)/live?key=\(key)"]
      let publisher = try ChildProcess(
        Tool("ffmpeg").path,
        ["-nostdin", "-v", "error", "-re"] + RTMPPublisher.video + RTMPPublisher.encodingVideo + target)
      defer { publisher.kill() }
      try await relay.says("connected")
      // The last port of a kind counts.
      let options = ["--source", "\(scheme):?key=\(key)", "--size", "320x180", "--fps", "30"]
      try await VidiconProcess.serving(options + ["--\(scheme)-port", "\(port)"]) { vidicon in
        _ = try await vidicon.status(within: .seconds(60)) { $0.isSlateShown == false && ($0.framesIn ?? 0) > 30 }
        let play = try await FFmpeg.play(vidicon.url(), frames: 40, audio: false)
        try #require(play.frames.count >= 40, "\(play.run.errors)")
        #expect(play.frames.difference(0, 39) > 0.3)
        #expect(publisher.isRunning && publisher.errors.text == "", "\(publisher.errors.text)")
        #expect(!vidicon.child.errors.text.contains("no stream of this name"))
      }
    }
  }
}
