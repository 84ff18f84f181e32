import Foundation
import Testing

extension EndToEnd {
  /// All clients watch the same face, and are judged by the pixels of its place in each frame that they decode.
  @Suite("Privacy switched on while clients of all protocols watch")
  struct PrivacySwitch {
    /// A frame that a client has decoded.
    private struct Frame {
      var unixMicroseconds: Int64
      /// Luma of the brightest pixel of the face's place; masks are dark.
      var brightest: Int

      var isFaceShown: Bool { self.brightest >= 60 }
    }

    /// ffmpeg as a client that decodes until it is interrupted.
    private struct Viewer {
      let name: String
      let process: ChildProcess

      init(_ name: String, _ url: String, _ options: [String]) throws {
        self.name = name
        self.process = try ChildProcess(
          Tool("ffmpeg").path,
          FFmpeg.quiet + ["-fflags", "nobuffer", "-flags", "low_delay", "-threads", "1"] + options + ["-i", url]
            + ["-an", "-vf", "scale=160:90,format=gray"] + FFmpeg.rawVideo
            + ["-flush_packets", "1", "pipe:1"])
      }

      private static let size = 160 * 90

      var frameCount: Int { self.process.output.bytes.count / Self.size }

      var frames: [Frame] {
        let clip = FaceClip(frames: LumaFrames(width: 160, height: 90, bytes: self.process.output.bytes))
        var arrivals = self.process.output.arrivals[...]
        return clip.brightest.enumerated().compactMap { index, brightest in
          arrivals = arrivals.drop { $0.endOffset < (index + 1) * Self.size }
          return arrivals.first.map { Frame(unixMicroseconds: $0.unixMicroseconds, brightest: brightest) }
        }
      }

      func end() async {
        self.process.signal(SIGINT)
        _ = await self.process.end(within: .seconds(20))
        await self.process.output.end()
      }
    }

    /// Output of whep_aiortc.py.
    private struct Received: Decodable {
      var status: Int
      var arrivals: [Int64]?
      var faces: [Int]?
    }

    /// Maximum number of frames that a busy client has received, and not decoded, at a time: those of a second.
    private static let maximumDelay = FaceClip.frameRate

    /// A client has shown the face, then, since the switch, never again.
    private static func expectHidden(_ name: String, _ frames: [Frame], since time: Int64) throws {
      let last = try #require(frames.lastIndex { $0.isFaceShown }, "\(name) has never shown the face")
      let late = frames.count { $0.unixMicroseconds > time && $0.isFaceShown }
      #expect(late <= Self.maximumDelay, "\(name): \(late) frames after \(time): \(frames)")
      #expect(frames[...last].allSatisfy { $0.isFaceShown }, "\(name): \(frames)")
      #expect(frames.count - last > 10, "\(name): \(frames)")
    }

    /// Addresses of a media playlist's segments and parts.
    private static func files(_ playlist: String) -> [String] {
      playlist.split(separator: "\n").compactMap { line -> Substring? in
        if !line.hasPrefix("#") { return line }
        return line.hasPrefix("#EXT-X-PART:") ? line.split(separator: "URI=\"").last?.prefix { $0 != "\"" } : nil
      }.map(String.init)
    }

    private static func playlists(_ vidicon: VidiconProcess) async throws -> [String] {
      var texts: [String] = []
      for name in ["playlist.m3u8", "live.m3u8"] {
        let answer = try await Curl.whenReady(vidicon.page("/live/\(name)"))
        try #require(answer.status == 200, "\(answer.text)")
        texts.append(answer.text)
      }
      return texts
    }

    private static func record(_ action: String, _ vidicon: VidiconProcess) async throws {
      let answer = try await LiveControl.send(
        "POST", #"{"action":"\#(action)"}"#, to: vidicon.page("/api/streams/live/recording"))
      try #require(answer.status < 300, "\(action): \(answer.text)")
    }

    /// The JPEG image of the current frame.
    private static func snapshot(_ vidicon: VidiconProcess, in folder: String) async throws -> FaceClip {
      let path = "\(folder)/\(UUID().uuidString).jpg"
      _ = try await Curl.get(vidicon.page("/live/snapshot.jpg"), ["--output", path])
      return try await FaceClip(path)
    }

    @Test(arguments: [true, false])
    func `what a client of HTTP/2 has no room for is not sent once faces are private`(isSwitched: Bool) async throws {
      struct Held: Decodable {
        var before: Int
        var after: Int
        var hasEnded: Bool
      }
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--source", "plasma", "--size", "320x180", "--audio", "none", "--https-port", "0"]
        try await VidiconProcess.serving(options, environment: ["XDG_STATE_HOME": folder]) { vidicon in
          let securePort = try #require(vidicon.started.httpsPort)
          let playlist = try await Curl.whenReady(vidicon.page("/live/playlist.m3u8")).text
          let segment = try #require(playlist.split(separator: "\n").last { $0.hasSuffix(".ts") })
          let input = ChildProcess.pipe()
          let client = try ChildProcess(
            Tool("python3").path,
            [TestMedia.client("h2_held.py"), "127.0.0.1", "\(securePort)", "/live/\(segment)"], input: input)
          try await client.says("held")
          if isSwitched {
            let answer = try await LiveControl.send(
              "PUT", #"{"faces": "privacy"}"#, to: vidicon.page("/api/streams/live/effects"))
            try #require(answer.status == 200, "\(answer.text)")
          }
          try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
          #expect(await client.end(within: .seconds(20)) == .status(0), "\(client.errors.text)")
          await client.output.end()
          let last = try #require(client.output.text.split(separator: "\n").last)
          let held = try JSONDecoder().decode(Held.self, from: Data(last.utf8))
          #expect(held.before == 1000 && held.hasEnded == isSwitched, "\(held)")
          #expect(isSwitched ? held.after == 0 : held.after > 10_000, "\(held)")
        }
      }
    }

    @Test(.tags(.demanding)) func `none of them shows a face in a frame from after the switch`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let recordings = "\(folder)/recordings"
        try FileManager.default.createDirectory(atPath: recordings, withIntermediateDirectories: true)
        let options = ["--rtmp-port", "0", "--webrtc-port", "0", "--push", nginx.url("a"), "--recordings", recordings]
        try await VidiconProcess.serving(FaceClip.source() + options) { vidicon in
          try await Self.record("start", vidicon)
          _ = try await vidicon.status { stream in
            stream.pushes?.first.map { $0.state == "sending" && $0.bytesSent > 1 } ?? false
          }
          let quickly = ["-analyzeduration", "500000"]
          let viewers = try [
            Viewer("RTSP", vidicon.url(), FFmpeg.overTCP + ["-fpsprobesize", "0"]),
            Viewer("RTMP", vidicon.rtmp(), quickly),
            Viewer("the server that is pushed to", nginx.url("a"), quickly),
            Viewer("motion JPEG", vidicon.page("/live/mjpeg"), ["-f", "mpjpeg"]),
          ]
          defer { for viewer in viewers { viewer.process.kill() } }
          let ending = "\(folder)/end"
          let webRTC = try ChildProcess(
            Tool("env").path,
            ["PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("whep_aiortc.py")]
              + [vidicon.page("/live/whep"), "--faces", "--until", ending])
          defer { webRTC.kill() }
          // The first request starts HLS, and waits for segments.
          _ = try await Self.playlists(vidicon)
          let watched = try await vidicon.status(within: .seconds(60)) { stream in
            viewers.allSatisfy { $0.frameCount > 10 } && (stream.viewers ?? 0) >= viewers.count
          }
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > (watched.framesEncoded ?? 0) + 10 }
          #expect(try await Self.snapshot(vidicon, in: folder).brightest.allSatisfy { $0 >= 60 })
          let before = try await Self.playlists(vidicon)
          let old = Set(before.flatMap(Self.files))
          try #require(old.count > 8)

          let answer = try await LiveControl.send(
            "PUT", #"{"faces": "privacy"}"#, to: vidicon.page("/api/streams/live/effects"))
          let switched = unixMicroseconds()
          try #require(answer.status == 200, "\(answer.text)")
          try await Self.record("stop", vidicon)
          try await Self.record("start", vidicon)
          // A new viewer gets no frame from before the switch, neither the last keyframe nor an image.
          async let cached = FaceClip(vidicon.url() + "?start=cached", seconds: 1)
          for _ in 0..<3 {
            #expect(try await Self.snapshot(vidicon, in: folder).brightest.allSatisfy { $0 < 60 })
          }
          for file in old {
            #expect(try await Curl.get(vidicon.page("/live/\(file)")).status == 410, "\(file)")
          }
          let joined = try await cached.brightest
          #expect(!joined.isEmpty && joined.allSatisfy { $0 < 60 }, "\(joined)")

          let frames = try await vidicon.status { _ in true }.framesEncoded ?? 0
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > frames + 20 }
          let after = try await Self.playlists(vidicon)
          for playlist in after {
            #expect(old.isDisjoint(with: Self.files(playlist)), "\(playlist)")
            #expect(playlist.contains("#EXT-X-DISCONTINUITY"), "\(playlist)")
          }
          for name in ["playlist.m3u8", "live.m3u8"] {
            let clip = try await FaceClip(vidicon.page("/live/\(name)"), seconds: 1).brightest
            #expect(!clip.isEmpty && clip.allSatisfy { $0 < 60 }, "\(name): \(clip)")
          }
          try Data().write(to: URL(filePath: ending))
          for viewer in viewers {
            await viewer.end()
            try Self.expectHidden(viewer.name, viewer.frames, since: switched)
          }
          #expect(await webRTC.end(within: .seconds(30)) == .status(0), "\(webRTC.errors.text)")
          await webRTC.output.end()
          let received = try JSONDecoder().decode(Received.self, from: Data(webRTC.output.bytes))
          let faces = zip(received.arrivals ?? [], received.faces ?? []).map {
            Frame(unixMicroseconds: $0, brightest: $1)
          }
          try Self.expectHidden("WebRTC", faces, since: switched)
          try await Self.record("stop", vidicon)
        }
        // The recording that was started after the switch, and the one from before it.
        let files = try FileManager.default.contentsOfDirectory(atPath: recordings).sorted()
        try #require(files.count == 2, "\(files)")
        let first = try await FaceClip("\(recordings)/\(files[0])").brightest
        let second = try await FaceClip("\(recordings)/\(files[1])").brightest
        let last = try #require(first.lastIndex { $0 >= 60 })
        #expect(first[...last].allSatisfy { $0 >= 60 }, "\(first)")
        #expect(second.count > 10 && second.allSatisfy { $0 < 60 }, "\(second)")
      }
    }
  }
}
