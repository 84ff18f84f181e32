import Foundation
import Testing

extension EndToEnd {
  @Suite("Pushes to media servers")
  struct Pushes {
    static let key = "SECRETKEY"
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360", "--bitrate", "800k"]

    /// A file of pushes that only its owner reads.
    static func file(_ urls: [String], in folder: String) throws -> String {
      let path = "\(folder)/pushes"
      let data = Data(urls.joined(separator: "\n").utf8)
      try #require(
        FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600]))
      return path
    }

    static func state(of push: Int, _ stream: VidiconEvent.Stream) -> String? {
      stream.pushes?.first { $0.id == push }?.state
    }

    /// Reads frames of a stream of an RTMP server, and checks that they decode and move.
    static func expectPlays(_ url: String) async throws {
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-xerror", "-rw_timeout", "20000000", "-i", url, "-an", "-vf", "scale=160:90,format=gray"]
          + ["-frames:v", "45"] + FFmpeg.rawVideo + ["pipe:1"], within: .seconds(40))
      try #require(run.succeeded, "\(run.errors)")
      #expect(FFmpeg.complaints(in: run.errors) == [])
      let frames = LumaFrames(width: 160, height: 90, bytes: run.output)
      try #require(frames.count == 45)
      #expect(frames.deviation(44) > 4)
      #expect(frames.difference(44, 14) > 0.3)
    }

    /// A file that ffmpeg writes from an RTMP URL, until it is interrupted.
    private static func startRecording(_ url: String, to path: String) throws -> ChildProcess {
      try ChildProcess(Tool("ffmpeg").path, FFmpeg.quiet + ["-i", url, "-c", "copy", "-flush_packets", "1", path])
    }

    @Test(.tags(.demanding)) func `no face reaches a player or a server once faces are private, from either rendition`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let pushes = ["--push", nginx.url("main"), "--push", "rendition=low,url=\(nginx.url("low"))"]
        let low = ["--rtmp-port", "0", "--rendition", "name=low,size=320x180,bitrate=150k"]
        let options = try FaceClip.source() + low + pushes
        func urls(_ vidicon: VidiconProcess) throws -> [String] {
          [try vidicon.rtmp(), try vidicon.rtmp("live/live/low"), nginx.url("main"), nginx.url("low")]
        }
        // From the first frame on.
        try await VidiconProcess.serving(options + ["--faces", "privacy"]) { vidicon in
          _ = try await vidicon.status { stream in [1, 2].allSatisfy { Self.state(of: $0, stream) == "sending" } }
          for url in try urls(vidicon) {
            // Long enough for its next keyframe, and for the frame rate of a busy machine.
            let clip = try await FaceClip(url, seconds: 4)
            #expect(clip.frames.count >= 5 && clip.brightest.allSatisfy { $0 < 60 }, "\(url): \(clip.brightest)")
          }
        }
        // Switched on while they watch.
        try await VidiconProcess.serving(options) { vidicon in
          _ = try await vidicon.status { stream in [1, 2].allSatisfy { Self.state(of: $0, stream) == "sending" } }
          let recordings = try urls(vidicon).enumerated().map { index, url in
            let path = "\(folder)/\(index).nut"
            return (url: url, path: path, process: try Self.startRecording(url, to: path))
          }
          defer { for recording in recordings { recording.process.kill() } }
          @Sendable func size(_ path: String) -> Int {
            (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
          }
          // Each has had the face for a while.
          let paths = recordings.map(\.path)
          let watched = try await vidicon.status { _ in paths.allSatisfy { size($0) > 20_000 } }
          let frames = watched.framesEncoded ?? 0
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > frames + 10 }
          let answer = try await Curl.get(
            vidicon.page("/api/streams/live/effects"),
            ["-X", "PUT", "-H", "Content-Type: application/json", "-d", #"{"faces": "privacy"}"#])
          try #require(answer.status == 200, "\(answer.text)")
          let covered = try await vidicon.status { _ in true }.framesEncoded ?? 0
          // More than are expected in the files: the last ones are in flight when they end.
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > covered + 60 }
          for recording in recordings {
            recording.process.signal(SIGINT)
            _ = await recording.process.end(within: .seconds(20))
            let shown = try await FaceClip(recording.path).brightest.map { $0 >= 60 }
            let last = try #require(shown.lastIndex(of: true), "\(recording.url): nothing was shown before")
            // The face, and then none.
            #expect(!shown[...last].contains(false), "\(recording.url): \(shown)")
            #expect(shown.count - last > 30, "\(recording.url): \(shown)")
          }
        }
      }
    }

    /// A packet as a player of a server gets it.
    private struct Packet {
      var isVideo: Bool
      var milliseconds: Double
      var hash: Substring
    }

    /// Reads the packets of a stream of an RTMP server until that ends.
    private static func startReading(_ url: String) throws -> ChildProcess {
      try ChildProcess(
        Tool("ffprobe").path,
        ["-v", "error", "-show_data_hash", "MD5", "-show_entries", "packet=codec_type,pts_time,data_hash"]
          + ["-of", "csv=p=0", url])
    }

    /// The packets that a player got, once its server has ended.
    private static func packets(of reader: ChildProcess) async throws -> [Packet] {
      _ = try #require(await reader.end(within: MachineShare.timeout(.seconds(20))))
      await reader.output.end()
      return reader.output.text.split(separator: "\n").compactMap { line in
        let fields = line.split(separator: ",")
        guard fields.count == 3, let time = Double(fields[1]) else { return nil }
        return Packet(isVideo: fields[0] == "video", milliseconds: time * 1000, hash: fields[2])
      }
    }

    /// Mean difference of the timestamps of the same frames at two servers, in milliseconds; nil for fewer than 20 of them.
    /// Audio frames that repeat within a second, which are silent, are left out.
    private static func shift(_ packets: [Packet], to others: [Packet], isVideo: Bool, near guess: Double?) -> Double? {
      let times = Dictionary(grouping: others.filter { $0.isVideo == isVideo }, by: \.hash).mapValues {
        $0.map(\.milliseconds)
      }
      let shifts = packets.filter { $0.isVideo == isVideo }.compactMap { packet -> Double? in
        guard let times = times[packet.hash], zip(times.dropFirst(), times).allSatisfy({ $0 - $1 > 1000 }) else {
          return nil
        }
        let shifts = times.map { packet.milliseconds - $0 }
        guard let guess else { return shifts.count == 1 ? shifts[0] : nil }
        return shifts.min { abs($0 - guess) < abs($1 - guess) }
      }
      return shifts.count < 20 ? nil : shifts.reduce(0, +) / Double(shifts.count)
    }

    @Test(.tags(.pacing))
    func `a server that is killed every 10 s is sent to again in 1.5 s, in sync, and another one goes on`() async throws
    {
      struct List: Decodable {
        struct Push: Decodable { var state: String }
        var pushes: [Push]
      }
      try await TestMedia.withTemporaryFolder { folder in
        let steady = try NginxRTMP(in: folder, port: FreePort.take())
        let shaky = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try steady.start()
        defer { server.kill() }
        var killed = try shaky.start()
        defer { killed.kill() }
        let urls = [steady.url("a"), shaky.url("b")]
        let recording = "\(folder)/recording.mp4"
        let options = Self.plasma + ["--push-file", try Self.file(urls, in: folder), "--record", recording]
        let times = try await VidiconProcess.serving(options) { vidicon in
          func isSending() async throws -> Bool {
            try await Curl.get(vidicon.page("/api/streams/live/pushes")).json(List.self).pushes.last?.state == "sending"
          }
          _ = try await vidicon.status { stream in [1, 2].allSatisfy { Self.state(of: $0, stream) == "sending" } }
          let undisturbed = try Self.startReading(steady.url("a"))
          defer { undisturbed.kill() }
          var readers = [try Self.startReading(shaky.url("b"))]
          defer { for reader in readers { reader.kill() } }
          var kill = ContinuousClock.now
          for outage in [Duration.zero, .milliseconds(500), .seconds(1), .zero] {
            kill += .seconds(10)
            _ = try await vidicon.status { [kill] _ in ContinuousClock.now >= kill }
            killed.kill()
            _ = await killed.end(within: .seconds(5))
            let end = ContinuousClock.now + outage
            while ContinuousClock.now < end { #expect(try await !isSending()) }
            let back = ContinuousClock.now
            killed = try shaky.start()
            while !(try await isSending()) { try #require(ContinuousClock.now - back < .seconds(20)) }
            let delay = ContinuousClock.now - back
            #expect(delay <= .milliseconds(1500), "after \(outage)")
            readers.append(try Self.startReading(shaky.url("b")))
          }
          let encoded = try await vidicon.status { _ in true }.framesEncoded ?? 0
          let status = try await vidicon.status { ($0.framesEncoded ?? 0) > encoded + 100 }
          #expect(status.pushes?.map(\.reconnects) == [0, 4])
          #expect(status.pushes?.first?.framesDropped == 0)
          killed.kill()
          server.kill()
          let all = try await Self.packets(of: undisturbed)
          for reader in readers {
            let packets = try await Self.packets(of: reader)
            let video = try #require(Self.shift(packets, to: all, isVideo: true, near: nil), "\(packets.count)")
            let audio = try #require(Self.shift(packets, to: all, isVideo: false, near: video), "\(packets.count)")
            #expect(abs(audio - video) < 1, "audio by \(audio) ms, video by \(video) ms")
          }
          return all.filter(\.isVideo).map(\.milliseconds)
        }
        // From its first frame on, the other server has every frame that was encoded.
        let encoded = try await FFmpeg.times(ofVideoIn: recording).map { $0 * 1000 }
        #expect(times.count > 1100)
        #expect(
          encoded.indices.dropLast(times.count - 1).contains { first in
            zip(encoded[first...], times).allSatisfy { abs(($0 - encoded[first]) - ($1 - times[0])) < 2 }
          }, "\(times.count) of \(encoded.count) frames")
      }
    }

    @Test func `rtmps verifies the authority and the host name, and sends the name`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        for command in [
          "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Test -keyout ca.key -out ca.pem",
          "req -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout server.key -out server.csr",
          "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy -out server.pem",
          "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days -1 -copy_extensions copy -out expired.pem",
          "req -x509 -key server.key -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -out self.pem",
        ] {
          let arguments = command.split(separator: " ").map { part in
            part.hasSuffix(".key") || part.hasSuffix(".pem") || part.hasSuffix(".csr")
              ? "\(folder)/\(part)" : String(part)
          }
          let run = try await Tool.run("openssl", arguments, within: .seconds(20))
          try #require(run.succeeded, "\(run.errors)")
        }
        func startTerminator(_ certificate: String) async throws -> (port: Int, process: ChildProcess) {
          let port = try FreePort.take()
          let terminator = try ChildProcess(
            Tool("python3").path,
            [
              TestMedia.client("tls_terminator.py"), "\(port)", "\(nginx.port)", "\(folder)/\(certificate)",
              "\(folder)/server.key",
            ])
          try await terminator.says("ready")
          return (port, terminator)
        }
        let (port, terminator) = try await startTerminator("server.pem")
        defer { terminator.kill() }
        let others = [try await startTerminator("expired.pem"), try await startTerminator("self.pem")]
        defer { for other in others { other.process.kill() } }
        let url = "rtmps://localhost:\(port)/app/\(Self.key)"
        let authority = ["--push-ca", "\(folder)/ca.pem"]
        try await VidiconProcess.serving(Self.plasma + authority + ["--push", url]) { vidicon in
          _ = try await vidicon.status { Self.state(of: 1, $0) == "sending" }
          try await Self.expectPlays(nginx.url(Self.key))
          #expect(terminator.output.text.contains("name localhost"))
        }
        let address = "rtmps://127.0.0.1:\(port)/app/\(Self.key)"
        let untrusted = "not from a trusted authority, or has expired"
        let refused: [(String, [String], String)] =
          others.map { ("rtmps://localhost:\($0.port)/app/\(Self.key)", authority, untrusted) }
          + [(url, [], untrusted), (address, authority, "for another host name")]
        for (url, options, reason) in refused {
          try await VidiconProcess.serving(Self.plasma + options + ["--push", url]) { vidicon in
            let status = try await vidicon.status { $0.pushes?.first?.lastFailure != nil }
            #expect(status.pushes?.first?.lastFailure?.contains(reason) == true, "\(status.pushes ?? [])")
            #expect(status.pushes?.first?.bytesSent == 0)
            #expect(!vidicon.child.errors.text.contains(Self.key))
          }
        }
      }
    }

    @Test(arguments: ["adobe", "llnw"])
    func `a server that wants a user and password gets them as from ffmpeg, and wrong ones are reported`(
      method: String
    ) async throws {
      let password = "s3same-\(method)"
      func serving(_ body: (ChildProcess, _ port: String) async throws -> Void) async throws {
        let server = try ChildProcess(
          Tool("python3").path, [TestMedia.client("rtmp_login_server.py"), method, "anna", password])
        defer { server.kill() }
        try await server.says("\n")
        let line = try #require(server.output.text.split(separator: "\n").first)
        try await body(server, String(line.dropFirst(5)))
      }
      func lines(_ server: ChildProcess) -> [Substring] { Array(server.output.text.split(separator: "\n").dropFirst()) }
      let dialogue: [Substring] = ["refused", "refused", "accepted", "published"]
      // The server is as others expect it.
      try await serving { server, port in
        let url = "rtmp://anna:\(password)@127.0.0.1:\(port)/live/key"
        try await RTMPPublisher.publishing(RTMPPublisher.small, to: url) { _ in try await server.says("published") }
        #expect(lines(server) == dialogue)
      }
      try await serving { server, port in
        let push = ["--push", "rtmp://anna:\(password)@127.0.0.1:\(port)/live/key"]
        try await VidiconProcess.serving(Self.plasma + push) { vidicon in
          try await server.says("published")
          #expect(lines(server) == dialogue)
          let status = try await vidicon.status { Self.state(of: 1, $0) == "sending" }
          #expect(status.pushes?[0].failedAttempts == 0 && status.pushes?[0].server == "rtmp://127.0.0.1:\(port)/live")
          #expect(!vidicon.child.output.text.contains(password) && !vidicon.child.errors.text.contains(password))
        }
      }
      try await serving { _, port in
        for (login, reason) in [
          ("anna:n0t-\(password)@", "the user or password is wrong"), ("", "give rtmp://USER:PASSWORD@HOST"),
        ] {
          let push = ["--push", "rtmp://\(login)127.0.0.1:\(port)/live/key"]
          try await VidiconProcess.serving(Self.plasma + push) { vidicon in
            let status = try await vidicon.status { $0.pushes?[0].lastFailure != nil }
            #expect(status.pushes?[0].lastFailure?.contains(reason) == true, "\(status.pushes ?? [])")
          }
        }
      }
    }

    @Test
    func `pushes of the environment and of a configuration file send, and one line warns of a file for all to read`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let path = "\(folder)/vidicon.yaml"
        let push = "    push: \(nginx.url("\(Self.key)1"))\n"
        let data = Data("streams:\n  - name: live\n    source: plasma\n    size: 320x180\n\(push)".utf8)
        try #require(
          FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o644]))
        let variable = ["VIDICON_PUSH": "\(nginx.url("\(Self.key)2"))\n \(nginx.url("\(Self.key)3"))"]
        try await VidiconProcess.serving(["--config", path], environment: variable) { vidicon in
          _ = try await vidicon.status { stream in [1, 2, 3].allSatisfy { Self.state(of: $0, stream) == "sending" } }
          for number in 1...3 {
            let looked = try await FFprobe.look(at: nginx.url("\(Self.key)\(number)"), options: [])
            #expect(looked.video?.width == 320)
          }
          let warnings = vidicon.child.errors.text.split(separator: "\n").filter { $0.contains("chmod 600") }
          #expect(warnings.count == 1 && warnings[0].contains(path), "\(vidicon.child.errors.text)")
          for text in [vidicon.child.output.text, vidicon.child.errors.text] {
            #expect(!text.contains(Self.key), "\(text)")
          }
        }
      }
    }

    @Test(.tags(.pacing)) func `a stream without audio is pushed with silence, which players of the server decode`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let options = ["--source", "plasma", "--audio", "none", "--size", "320x180", "--fps", "30"]
        try await VidiconProcess.serving(options + ["--push", nginx.url("a")]) { vidicon in
          _ = try await vidicon.status { Self.state(of: 1, $0) == "sending" }
          let looked = try await FFprobe.look(at: nginx.url("a"), options: [])
          #expect(looked.audio?.codecName == "aac" && looked.audio?.sampleRate == "48000")
          #expect(looked.audio?.channels == 2 && looked.video?.width == 320)
          let play = try await FFmpeg.play(nginx.url("a"), seconds: 4, options: [], within: .seconds(40))
          #expect(play.run.exit == .status(0), "\(play.run.errors)")
          #expect(FFmpeg.complaints(in: play.run.errors) == [])
          #expect(play.frames.count > 60, "\(play.frames.count) frames")
          let audio = try #require(play.audio)
          #expect(audio.samples.count > 2 * audio.sampleRate && audio.samples.allSatisfy { $0 == 0 })
          // The stream itself stays without audio.
          #expect(try await FFprobe.look(at: vidicon.url()).audio == nil)
        }
      }
    }

    @Test func `a third push that wants an encoding of its own waits for it, which its state says`() async throws {
      struct List: Decodable {
        struct Push: Decodable {
          var id: Int
          var ownEncoding: Bool
          var waitingForEncoding: Bool
        }
        var pushes: [Push]
      }
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let pushes = ["a", "b", "c"].flatMap { ["--push", "bitrate=150k,url=\(nginx.url($0))"] }
        let options = [
          "--source", "plasma", "--audio", "none", "--size", "320x180", "--fps", "15", "--bitrate", "300k",
        ]
        try await VidiconProcess.serving(options + pushes) { vidicon in
          let status = try await vidicon.status { stream in
            stream.pushes?.count { $0.ownEncoding } == 2
              && stream.pushes?.count { $0.waitingForEncoding && $0.state == "sending" } == 1
          }
          let waiting = try #require(status.pushes?.first { $0.waitingForEncoding })
          #expect(waiting.state == "sending" && waiting.videoBitrate == 300_000, "\(waiting)")
          let url = vidicon.page("/api/streams/live/pushes")
          let list = try await Curl.get(url).json(List.self).pushes
          #expect(list.filter(\.waitingForEncoding).map(\.id) == [waiting.id])
          #expect(list.count { $0.ownEncoding } == 2)
          try await waitUntil { vidicon.child.output.text.contains(#""state":"waitingForEncoding""#) }
          // One of the others ends: its encoding is the third's.
          let others = list.filter(\.ownEncoding).dropFirst() + list.filter(\.waitingForEncoding)
          let body = #"{"pushes":[\#(others.map { #"{"id":\#($0.id)}"# }.joined(separator: ","))]}"#
          let put = ["-X", "PUT", "-H", "Content-Type: application/json", "-d", body]
          #expect(try await Curl.get(url, put).status == 200)
          let granted = try await vidicon.status { stream in stream.pushes?.allSatisfy { $0.ownEncoding } == true }
          #expect(granted.pushes?.count == 2 && granted.pushes?.contains { $0.waitingForEncoding } == false)
        }
      }
    }

    @Test func `operators change the list while the stream runs`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
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
