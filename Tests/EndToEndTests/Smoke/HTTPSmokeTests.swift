import Foundation
import TestSupport
import Testing

extension Smoke {
  @Suite("Smoke: HTTP")
  struct HTTP {
    @Test func `HTTP/2 and HTTP/1.1 serve low-latency HLS with a certificate from a file`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--https-port", "0"] + (try await Smoke.certificate(in: folder))
        try await VidiconProcess.serving(Smoke.bars + options) { vidicon in
          for (option, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
            let page = try await Curl.get(vidicon.securePage("/live"), [option])
            #expect(page.status == 200 && page.version == version)
            try await Self.followParts(vidicon, [option, "--cacert", "\(folder)/cert.pem"])
          }
          // Many HTTP/2 streams on few connections. The server closes one that makes no request for 15 seconds, which of ten connections
          // one had taken for its handshake, where the program was one of many.
          let load = try await Tool.run(
            "h2load", ["-n", "600", "-c", "3", "-m", "100", try vidicon.securePage("/live/live.m3u8")],
            within: .seconds(40))
          #expect(load.outputText.contains("Application protocol: h2"))
          #expect(load.outputText.contains("600 succeeded, 0 failed, 0 errored, 0 timeout"), "\(load.outputText)")
        }
      }
    }

    /// Requests the next parts with blocking reloads, as a low-latency player does.
    private static func followParts(_ vidicon: VidiconProcess, _ options: [String]) async throws {
      _ = try await HLSFiles(of: vidicon, stream: "/live")
      var seen: Set<Substring> = []
      for _ in 0..<4 {
        let playlist = try await Curl.get(vidicon.page("/live/live.m3u8"))
        let hint = try #require(playlist.text.split(separator: "\n").last { $0.hasPrefix("#EXT-X-PRELOAD-HINT") })
        let uri = try #require(hint.split(separator: "URI=\"").last?.prefix { $0 != "\"" })
        let pieces = uri.split(separator: "-").last?.split(separator: ".").compactMap { Int($0) } ?? []
        try #require(pieces.count == 2, "\(uri)")
        let query = "_HLS_msn=\(pieces[0])&_HLS_part=\(pieces[1])"
        async let part = Curl.get(vidicon.securePage("/live/\(uri)"), options)
        async let next = Curl.get(vidicon.securePage("/live/live.m3u8?\(query)"), options)
        let (file, reloaded) = try await (part, next)
        #expect(file.status == 200 && file.body.count > 100, "\(uri)")
        #expect(reloaded.status == 200 && reloaded.text.contains("URI=\"\(uri)\""), "\(uri): \(reloaded.text)")
        seen.insert(uri)
      }
      #expect(seen.count == 4)
    }

    @Test func `a stranger watches, and only the owner's token controls and reads recordings`() async throws {
      var tokenFile = ""
      try await EndToEnd.Access.serving(["--control", "operators"]) { vidicon, folder in
        #expect(vidicon.started.access?.first?.contains("--user NAME:PASSWORD asks for a password") == true)
        tokenFile = try #require(vidicon.started.controlTokenFile)
        #expect(tokenFile == "\(folder)/vidicon/control-\(vidicon.httpPort)")
        let attributes = try FileManager.default.attributesOfItem(atPath: tokenFile)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let token = try String(contentsOfFile: tokenFile, encoding: .utf8)
        let bearer = ["--header", "Authorization: Bearer \(token)"]
        #expect(try await Curl.whenReady(vidicon.page("/live/snapshot.jpg")).status == 200)
        for path in ["/api/recordings", "/api/devices", "/recordings/live/a.mp4"] {
          #expect(try await Curl.get(vidicon.page(path)).status == 401, "\(path)")
        }
        #expect(try await Curl.get(vidicon.page("/api/recordings"), bearer).status == 200)
        #expect(try await Curl.get(vidicon.page("/api/recordings?token=\(token)")).status == 200)
        func mirror(_ options: [String]) async throws -> Int { try await EndToEnd.Access.mirror(vidicon, options) }
        let wrong = String(token.reversed())
        for options in [
          [], ["--header", "Authorization: Bearer \(wrong)"], ["--header", "X-Forwarded-For: 127.0.0.1"],
        ] {
          #expect(try await mirror(options) == 401, "\(options)")
        }
        // A rebound page of another site.
        let rebound = ["--header", "Host: evil.example", "--header", "Origin: http://evil.example"]
        #expect(try await mirror(bearer + rebound) == 421)
        #expect(try await mirror(bearer + ["--header", "Origin: http://evil.example"]) == 403)
        for path in ["/live/index.m3u8", "/live/snapshot.jpg", "/health", "/"] {
          #expect(try await Curl.get(vidicon.page(path), ["--header", "Host: evil.example"]).status == 421, "\(path)")
        }
        let state = try await Curl.get(vidicon.page("/api/streams/live"))
        #expect(state.text.contains(#""mirror":false"#) && state.text.contains(#""role":"viewer""#))
        #expect(try await mirror(bearer) == 200)
        try await vidicon.child.complains("evil.example", within: .seconds(30))
        #expect(!vidicon.child.errors.text.contains(token))
      }
      #expect(!FileManager.default.fileExists(atPath: tokenFile), "the token file stays after the end")
    }

    @Test(.tags(.desktop)) func `a file left by a crash is a valid fragmented file, and plays in every player`()
      async throws
    {
      typealias Files = EndToEnd.RecordedFiles
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/killed.mp4"
        let child = try ChildProcess(VidiconProcess.path(), ["record", path, "--json"] + RecordedFile.source)
        defer { child.kill() }
        try await child.says(#/"duration":([5-9]|[0-9]{2})/#, within: .seconds(30))
        child.kill()
        #expect(await child.end(within: MachineShare.timeout(.seconds(30))) == .signal(SIGKILL))
        try await Files.check(path, "fragmented")
        let file = try await RecordedFile(path)
        file.checkThatItIsWhole()
        #expect(try #require(file.times.last) > 3.9)
        try await Files.playInGStreamer(file)
        try await Files.playInChromium(file)
        // VLC does not seek without an index; it plays from start to end.
        let show = try await Files.playInVLC(file, [])
        let shown = show.captures.compactMap(\.self)
        #expect(zip(shown, shown.dropFirst()).allSatisfy { $0 <= $1 } && shown.allSatisfy(file.captures.contains))

        let repair = try await VidiconProcess.run(["repair", path])
        #expect(repair.exit == .status(0), "\(repair.errors)")
        try await Files.check(path, "plain")
        #expect(try await RecordedFile(path).captures == file.captures)
      }
    }

    @Test func `a recording is paused, resumed and stopped, and its file is served in ranges`() async throws {
      typealias Recording = EndToEnd.RecordingOverHTTP
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(Smoke.bars + ["--record", "\(folder)/{name}.mp4"]) { vidicon in
          let address = vidicon.page("/api/streams/live/recording")
          let first = try await Recording.state(at: address) { $0.duration >= 3 }
          // The unfinished file plays up to its last second.
          let part = "\(folder)/part"
          _ = try await Curl.get(vidicon.page(try #require(first.file)), ["--output", part])
          #expect(try #require(try await FFmpeg.times(ofVideoIn: part).last) > 1)

          #expect(try await Recording.command("pause", address).json(Recording.State.self).state == "paused")
          #expect(try await Recording.command("start", address).status == 409)
          let resumed = try await Recording.command("resume", address).json(Recording.State.self).state
          #expect(["waiting", "recording"].contains(resumed))
          let stopped = try await Recording.command("stop", address).json(Recording.State.self).state
          #expect(["finishing", "idle"].contains(stopped))
          let end = try await Recording.state(at: address) { $0.state != "finishing" }
          #expect(end.state == "idle")
          #expect(try await Recording.command("stop", address).status == 409)

          let files = try await Curl.get(vidicon.page("/api/recordings")).json(Recording.Files.self).recordings
          try #require(files.count == 1)
          #expect(files[0].finished)
          #expect(files[0].file == end.file)
          let whole = "\(folder)/whole"
          let url = vidicon.page(files[0].file)
          _ = try await Curl.get(url, ["--output", whole])
          let middle = files[0].bytes / 2
          let (head, tail) = ("\(folder)/head", "\(folder)/tail")
          #expect(try await Curl.get(url, ["--range", "0-\(middle - 1)", "--output", head]).status == 206)
          #expect(try await Curl.get(url, ["--range", "\(middle)-", "--output", tail]).status == 206)
          let bytes = try [head, tail].map { try Data(contentsOf: URL(filePath: $0)) }.reduce(Data(), +)
          #expect(bytes.count == files[0].bytes)
          #expect(try bytes == Data(contentsOf: URL(filePath: whole)))
          #expect(try bytes == Data(contentsOf: URL(filePath: "\(folder)/live.mp4")))
          let times = try await FFmpeg.times(ofVideoIn: whole)
          #expect(abs((times.last ?? 0) - end.duration) < 0.1)
          #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        }
      }
    }
  }
}
