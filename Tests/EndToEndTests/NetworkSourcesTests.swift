import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Network sources")
  struct NetworkSources {
    /// Slice NAL units of an H.264 byte stream file.
    static func slices(_ path: String) throws -> [Data] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      var slices: [Data] = []
      var rest = bytes[...]
      let code = Data([0, 0, 1])
      while let start = rest.range(of: code) {
        rest = rest[start.upperBound...]
        let end = rest.range(of: code)?.lowerBound ?? rest.endIndex
        var unit = rest[..<end]
        while unit.last == 0 { unit.removeLast() }
        if let type = unit.first.map({ $0 & 31 }), type == 1 || type == 5 { slices.append(Data(unit)) }
        rest = rest[end...]
      }
      return slices
    }

    /// A compressed packet as received.
    private struct Packet {
      var hash: String
      /// Presentation time in seconds.
      var time: Double
    }

    /// Video and audio packets that ffmpeg receives, without decoding.
    private static func packets(
      of url: String, seconds: Int, options: [String] = FFmpeg.overTCP, filters: [String] = []
    ) async throws -> (video: [Packet], audio: [Packet]) {
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + options + ["-i", url, "-map", "0:v", "-map", "0:a", "-c", "copy", "-copyts"]
          + filters + ["-t", "\(seconds)", "-f", "framemd5", "pipe:1"],
        within: .seconds(seconds + 20))
      try #require(run.succeeded, "\(run.errors)")
      var units: [String: Double] = [:]
      var packets: [String: [Packet]] = [:]
      for line in run.outputText.split(separator: "\n") {
        let unit = line.split { " :/".contains($0) }
        if unit.first == "#tb", let denominator = Double(unit[3]), let numerator = Double(unit[2]) {
          units[String(unit[1])] = numerator / denominator
        }
        // Stream, decoding time, presentation time, duration, size, hash.
        let fields = line.split { ", ".contains($0) }.map(String.init)
        guard fields.count >= 6, let unit = units[fields[0]], let time = Double(fields[2]) else { continue }
        packets[fields[0], default: []].append(Packet(hash: fields[5], time: time * unit))
      }
      return (try #require(packets["0"]), try #require(packets["1"]))
    }

    /// Indices of the first received packet that is among the sent ones.
    private static func first(_ received: [Packet], in sent: [Packet]) throws -> (received: Int, sent: Int) {
      let places = Dictionary(sent.enumerated().map { ($1.hash, $0) }) { first, _ in first }
      let index = try #require(received.firstIndex { places[$0.hash] != nil }, "no received packet equals a sent one")
      return (index, try #require(places[received[index].hash]))
    }

    /// Expects that packets equal the sent ones from the first common one on, and that audio is within 20 ms of the video.
    private static func expectSame(
      _ received: (video: [Packet], audio: [Packet]), as sent: (video: [Packet], audio: [Packet]), minimumCount: Int
    ) throws {
      let (start, place) = try Self.first(received.audio, in: sent.audio)
      let count = min(received.audio.count - start, sent.audio.count - place)
      #expect(count >= minimumCount, "\(start) of \(received.audio.count) packets, then \(count)")
      let (out, original) = (received.audio[start..<start + count], sent.audio[place..<place + count])
      #expect(out.map(\.hash) == original.map(\.hash))
      let steps = zip(out, out.dropFirst()).map { $1.time - $0.time }
      #expect(steps.allSatisfy { $0 > 0 && $0 < 0.0645 }, "\(steps.max() ?? 0)")

      let (frame, shown) = try Self.first(received.video, in: sent.video)
      let moved = zip(out, original).map { out, original in
        (out.time - received.video[frame].time) - (original.time - sent.video[shown].time)
      }.sorted()
      #expect(abs(moved[moved.count / 2]) < 0.020, "audio moved by \(moved[moved.count / 2]) s against the frames")
    }

    /// ffmpeg input of stereo noise at 44.1 kHz: no two AAC packets are equal.
    private static let noise = ["-f", "lavfi", "-i", "anoisesrc=r=44100:d=60:a=0.3:s=7", "-ac", "2"]

    /// Source options of a Vidicon that serves this noise.
    private static func noisyCamera(_ folder: String) async throws -> [String] {
      let made = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + Self.noise + ["\(folder)/noise.wav"], within: .seconds(30))
      try #require(made.succeeded, "\(made.errors)")
      return ["--source", "bars", "--size", "320x240", "--audio", "file:\(folder)/noise.wav"]
    }

    // A relay that gets too little of the processor inserts silence.
    @Test(.tags(.pacing), arguments: ["RTSP", "HLS"])
    func `audio of another Vidicon is passed through byte for byte, in sync with the video`(way: String) async throws {

      try await TestMedia.withTemporaryFolder { folder in
        let camera = try await Self.noisyCamera(folder)
        try await VidiconProcess.serving(camera) { camera in
          let source = way == "HLS" ? camera.page("/live/index.m3u8") : camera.url()
          try await VidiconProcess.serving(["--source", source]) { vidicon in
            _ = try await vidicon.status(within: .seconds(30)) { $0.audioFramesPassedThrough ?? 0 > 20 }
            async let sent = Self.packets(of: camera.url(), seconds: 12)
            // HLS has a latency of seconds.
            if way == "HLS" { _ = try await Self.packets(of: camera.url(), seconds: 5) }
            async let received = Self.packets(of: vidicon.url(), seconds: way == "HLS" ? 8 : 6)
            try await Self.expectSame(received, as: sent, minimumCount: 60)
          }
        }
      }
    }

    @Test func `silence replaces passed-through audio when its source ends, with continuous timestamps`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let arguments = try await Self.noisyCamera(folder) + ["--rtsp-port", "\(FreePort.take())"]
        _ = try await VidiconProcess.serving(arguments) { camera in
          try await VidiconProcess.serving(["--source", camera.url()]) { vidicon in
            _ = try await vidicon.status { $0.audioFramesPassedThrough ?? 0 > 20 }
            async let received = Self.packets(of: vidicon.url(), seconds: 16)
            let watched = try await vidicon.status { $0.viewers ?? 0 > 0 }
            let passed = try #require(watched.audioFramesPassedThrough)
            _ = try await vidicon.status { $0.audioFramesPassedThrough ?? 0 > passed + 40 }
            camera.child.kill()
            _ = try await vidicon.status { $0.framesEncoded ?? 0 > 10 }
            let waiting = try await vidicon.status { _ in true }
            let silent = try #require(waiting.audioFramesPassedThrough)
            let back = try ChildProcess(
              VidiconProcess.path(), ["serve", "--json", "--no-discovery", "--http-port", "0"] + arguments)
            defer { back.kill() }
            _ = try await vidicon.status { $0.audioFramesPassedThrough ?? 0 > silent + 20 }
            let audio = try await received.audio
            let steps = zip(audio, audio.dropFirst()).map { $1.time - $0.time }
            #expect(steps.count > 600)
            #expect(steps.allSatisfy { $0 > 0 && $0 < 0.0645 }, "\(steps.max() ?? 0)")
            // Timestamps may step only where passed-through packets and silence meet.
            #expect(steps.count { abs($0 - 1024.0 / 44_100) > 0.000_2 } <= 3)
          }
        }
      }
    }

    @Test func `audio of an RTMP source is passed through byte for byte, in sync with the video`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let file = "\(folder)/source.flv"
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc=s=320x240:r=25:d=60"] + Self.noise
            + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25", "-c:a", "aac"]
            + [file],
          within: .seconds(60))
        try #require(made.succeeded, "\(made.errors)")
        let port = try FreePort.take()
        let url = "rtmp://127.0.0.1:\(port)/live/x"
        let server = try ChildProcess(
          Tool("ffmpeg").path, FFmpeg.quiet + ["-re", "-i", file, "-c", "copy", "-f", "flv", "-listen", "1", url])
        defer { server.kill() }
        try await Self.waitForListener(at: port)
        try await VidiconProcess.serving(["--source", url]) { vidicon in
          _ = try await vidicon.status { $0.audioFramesPassedThrough ?? 0 > 20 }
          async let sent = Self.packets(of: file, seconds: 60, options: [], filters: ["-bsf:v", "h264_mp4toannexb"])
          async let received = Self.packets(of: vidicon.url(), seconds: 6)
          try await Self.expectSame(received, as: sent, minimumCount: 200)
        }
      }
    }

    /// Waits until a program listens at a TCP port of this machine. The test does not connect: ffmpeg serves its first
    /// connection only.
    private static func waitForListener(at port: Int) async throws {
      // Columns of /proc/net/tcp: number, local address and port in hexadecimal, peer, state; 0A is LISTEN.
      let ending = String(format: ":%04X", port)
      try await eventually {
        try String(systemFile: "/proc/net/tcp").split(separator: "\n").contains { line in
          let columns = line.split(separator: " ")
          return columns.count > 3 && columns[1].hasSuffix(ending) && columns[3] == "0A"
        }
      }
    }

    @Test func `a wrong password ends the program with one line, and a missing stream with --exit-on-failure`()
      async throws
    {
      try await VidiconProcess.serving(["--source", "bars", "--size", "320x240", "--user", "jo:right"]) { camera in
        let address = "127.0.0.1:\(camera.rtspPort)"
        let cases = [
          ("rtsp://jo:wrong@\(address)/live", "the user name or password is wrong"),
          ("rtsp://\(address)/live", "it asks for a user name and password"),
          ("rtsp://jo:right@\(address)/nothing", "404"),
        ]
        for (source, cause) in cases {
          let (exit, errors) = try await VidiconProcess.run(
            ["serve"] + VidiconProcess.freePorts + ["--source", source] + (cause == "404" ? ["--exit-on-failure"] : []))
          #expect(exit == .status(1))
          #expect(errors.contains(cause), "\(errors)")
          #expect(!errors.contains("right@") && !errors.contains("jo:"))
          #expect(errors.split(separator: "\n").count == 1)
        }
      }
    }

    /// Response to a client's choice of a source, and its requests to the metadata service.
    private struct Choice: Decodable {
      var status: Int
      var text: String
      /// Number of requests that arrived at the metadata service.
      var requests: Int
    }

    @Test func `sources chosen over HTTP reach no metadata service, neither by names nor redirections nor playlists`()
      async throws
    {
      struct Outcome: Decodable {
        struct Owner: Decodable {
          var isStarted: Bool
          var requests: Int
        }
        var refused: [String: Choice]
        var namesAsked: Int
        var elsewhere: Choice
        var allowed: [String: Choice]
        var owner: Owner
      }
      for name in ["ip", "mount"] { _ = try Tool(name) }
      try await TestMedia.withTemporaryFolder { folder in
        // An unprivileged user is root in a user namespace.
        let user = getuid() == 0 ? [] : ["--user", "--map-root-user"]
        let run = try await Tool.run(
          "unshare",
          user + ["--net", "--mount", "--", try Tool("python3").path, TestMedia.client("link_local_sources.py")]
            + [try VidiconProcess.path(), folder],
          within: .seconds(90))
        try #require(run.succeeded, "\(run.errors.suffix(2_000))")
        let outcome = try JSONDecoder().decode(Outcome.self, from: Data(run.output))
        #expect(outcome.refused.count == 12)
        for (way, choice) in outcome.refused {
          #expect(choice.requests == 0, "\(way)")
          #expect(choice.status >= 400 && choice.text.contains("link-local"), "\(way): \(choice)")
        }
        #expect(outcome.namesAsked == 2, "the name was resolved before and at the connection")
        #expect(outcome.elsewhere.status == 200)
        for (way, choice) in outcome.allowed {
          #expect(choice.status == 200 && choice.requests > 0, "\(way): \(choice)")
        }
        #expect(outcome.owner.isStarted && outcome.owner.requests > 0)
      }
    }

    @Test func `an RTMP source with B-frames is transcoded`() async throws {
      let ffmpeg = try Tool("ffmpeg").path
      let port = try FreePort.take()
      let url = "rtmp://127.0.0.1:\(port)/live/x"
      let server = try ChildProcess(
        ffmpeg,
        FFmpeg.quiet + ["-re", "-f", "lavfi", "-i", "testsrc=s=320x240:r=25", "-f", "lavfi", "-i", "sine=r=48000"]
          + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "50", "-c:a", "aac"]
          + ["-f", "flv", "-listen", "1", url])
      defer { server.kill() }
      try await Self.waitForListener(at: port)
      try await VidiconProcess.serving(["--source", url]) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 5)
        #expect(play.run.succeeded)
        #expect(abs(play.frameRate - 25) < 1)
        #expect(try await vidicon.status { _ in true }.framesEncoded ?? 0 > 50)
      }
    }
  }
}
