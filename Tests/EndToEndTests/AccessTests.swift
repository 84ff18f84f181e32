import Foundation
import Testing

extension EndToEnd {
  @Suite("Roles, tokens and foreign sites")
  struct Access {
    private static let bars = ["--source", "bars", "--audio", "none", "--size", "320x180", "--fps", "15"]
    private static let operators = ["--control", "operators"]

    /// Runs with a runtime folder of its own.
    static func serving(
      _ arguments: [String], _ body: (VidiconProcess, _ folder: String) async throws -> Void
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(
          Self.bars + arguments, environment: ["XDG_RUNTIME_DIR": folder]
        ) { try await body($0, folder) }
      }
    }

    /// Status of a change that an operator may make.
    static func mirror(_ vidicon: VidiconProcess, _ options: [String] = []) async throws -> Int {
      try await Curl.get(
        vidicon.page("/api/streams/live"),
        ["--request", "PATCH", "--header", "Content-Type: application/json", "--data", #"{"mirror":true}"#] + options
      ).status
    }

    @Test func `users of a file with clear and hashed passwords log in, and a change of the file counts`() async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let hashing = try await Tool.run(
          "bash", ["-c", "echo secret | '\(VidiconProcess.path())' password"], within: .seconds(20))
        let hash = hashing.outputText.trimmingCharacters(in: .newlines)
        #expect(hash.hasPrefix("$scrypt$ln=14,r=8,p=5$"), "\(hashing.errors)")
        let path = "\(folder)/users"
        func write(_ text: String) throws {
          try text.write(toFile: path, atomically: true, encoding: .utf8)
          try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        try write("anna:sesame\noperator ben:\(hash)\n")
        try await Self.serving(Self.operators + ["--user-file", path]) { vidicon, _ in
          func status(_ user: String, _ way: String) async throws -> Int {
            try await Curl.get(vidicon.page("/api/recordings"), [way, "--user", user]).status
          }
          #expect(try await Curl.get(vidicon.page("/live")).status == 401)
          #expect(try await Curl.get(vidicon.page("/live"), ["--digest", "--user", "anna:sesame"]).status == 200)
          #expect(try await status("anna:sesame", "--basic") == 403)
          #expect(try await status("ben:secret", "--basic") == 200)
          #expect(try await status("ben:wrong", "--basic") == 401)
          #expect(try await Self.mirror(vidicon, ["--basic", "--user", "ben:secret"]) == 200)
          let player = try await Tool.run(
            "ffprobe",
            ["-v", "error", "-rtsp_transport", "tcp", "rtsp://anna:sesame@127.0.0.1:\(vidicon.rtspPort)/live"],
            within: .seconds(20))
          #expect(player.succeeded, "\(player.errors)")
          try write("anna:other\n")
          for _ in 0..<40
          where try await Curl.get(vidicon.page("/live"), ["--basic", "--user", "anna:other"]).status != 200 {
            _ = try await vidicon.status { _ in true }
          }
          #expect(try await status("ben:secret", "--basic") == 401)
          // Without the file watching stays protected.
          try FileManager.default.removeItem(atPath: path)
          try await vidicon.child.complains(
            "\(path): No such file or directory; the users stay as they were", within: .seconds(30))
          #expect(try await Curl.get(vidicon.page("/live")).status == 401)
          #expect(try await Curl.get(vidicon.page("/live"), ["--basic", "--user", "anna:other"]).status == 200)
          for word in ["sesame", "other", "secret", hash] { #expect(!vidicon.child.errors.text.contains(word)) }
        }
      }
    }

    @Test func `players watch with a token in the address, over RTSP and HLS`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        // The characters of a token.
        let (path, token) = ("\(folder)/users", "0123456789-._~+/aZ==")
        try "token=\(token)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try await Self.serving(Self.operators + ["--user-file", path]) { vidicon, _ in
          let query = "?token=0123456789-._~%2B%2FaZ%3D%3D"
          _ = try await vidicon.status { $0.framesEncoded ?? 0 > 60 }
          for address in [vidicon.url(), vidicon.page("/live/index.m3u8"), vidicon.page("/live/playlist.m3u8")] {
            let options = address.hasPrefix("rtsp") ? FFmpeg.overTCP : []
            func play(_ query: String) async throws -> Tool.Run {
              try await Tool.run(
                "ffmpeg", FFmpeg.quiet + options + ["-i", address + query, "-t", "1"] + FFmpeg.decoding,
                within: .seconds(30))
            }
            let played = try await play(query)
            #expect(played.succeeded && !played.errors.contains("401"), "\(address): \(played.errors)")
            #expect(try await !play("").succeeded, "\(address)")
          }
        }
      }
    }

    @Test(arguments: [[], ["--json"]])
    func `without a terminal the token is in no output, nor in the log of requests that have it`(
      format: [String]
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--rtsp-port", "0", "--http-port", "0", "--no-discovery"] + Self.operators
        let child = try ChildProcess(
          VidiconProcess.path(), ["serve"] + format + options + Self.bars, environment: ["XDG_RUNTIME_DIR": folder])
        defer { child.kill() }
        let runtime = "\(folder)/vidicon"
        // The program prints the path of the file, as text or as JSON.
        let name = #/vidicon/control-([0-9]+)/#
        try await child.says(name)
        let httpPort = try #require(child.output.text.firstMatch(of: name).flatMap { Int($0.1) })
        let token = try String(contentsOfFile: "\(runtime)/control-\(httpPort)", encoding: .utf8)
        let page = "http://127.0.0.1:\(httpPort)"
        for (path, options, status) in [
          ("/live/snapshot.jpg?token=\(token)", [], 200), ("/api/recordings?token=\(token)", [], 200),
          ("/live/?token=\(token)", [], 308), ("/none/%?token=\(token)", [], 400),
          ("/live?token=\(token)", ["--header", "Host: evil.example"], 421),
          ("/live?token=\(token)", ["--header", "Host: anna:\(token)@evil.example"], 421),
          ("/api/streams/live?token=\(token)", ["--request", "PATCH"], 401),
        ] as [(String, [String], Int)] {
          #expect(try await Curl.get(page + path, options).status == status, "\(path)")
        }
        child.signal(SIGINT)
        #expect(await child.end(within: MachineShare.timeout(.seconds(5))) == .status(0))
        await child.output.end()
        await child.errors.end()
        let text = child.output.text + child.errors.text
        #expect(!text.contains(token), "\(text)")
        #expect(text.contains("\(runtime)/control-\(httpPort)") && text.contains("evil.example"), "\(text)")
      }
    }

    @Test(arguments: ["127.0.0.2", "::1", "0.0.0.0"])
    func `commands find a server at the address that it listens on, by its ports of HTTP and HTTPS`(
      address: String
    ) async throws {
      let bind = ["--bind", address, "--https-port", "0"]
      try await Self.serving(Self.operators + bind) { vidicon, folder in
        let port = vidicon.httpPort
        let host = ["127.0.0.2": "127.0.0.2", "::1": "[::1]"][address] ?? "localhost"
        let securePort = try #require(vidicon.started.httpsPort)
        let text = try String(contentsOfFile: "\(folder)/vidicon/address-\(port)", encoding: .utf8)
        #expect(text == "http://\(host):\(port)\nhttps://\(host):\(securePort)\n")
        for (options, state) in [
          ([], "mirror=true"), (["--port", "\(port)"], "mirror=false"), (["--port", "\(securePort)"], "mirror=true"),
        ] {
          let control = try await Self.command(["control", state] + options, folder: folder)
          #expect(control.exit == .status(0), "\(options): \(control.errors)")
          #expect(control.output.contains("mirrored") == (state == "mirror=true"))
          let status = try await Self.command(["status"] + options, folder: folder)
          #expect(status.exit == .status(0) && status.output.contains("#control="), "\(status.errors)")
        }
      }
    }

    @Test func `an operator chooses films of the given folder, and nothing that leads out of it`() async throws {
      try await TestMedia.withTemporaryFolder { outside in
        let secret = "\(outside)/secret.mp4"
        try await TestMedia.withTemporaryFolder { films in
          for path in ["\(films)/film.mp4", secret] {
            let made = try await Tool.run(
              "ffmpeg",
              FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=15", "-t", "2", "-pix_fmt", "yuv420p", path],
              within: .seconds(30))
            try #require(made.succeeded, "\(made.errors)")
          }
          let list = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n\(secret)\n#EXT-X-ENDLIST\n"
          for (name, text) in [
            ("list.m3u8", list), ("list.mp4", list), ("list.ffconcat", "ffconcat version 1.0\nfile '\(secret)'\n"),
            ("concat.mp4", "ffconcat version 1.0\nfile '\(secret)'\n"),
          ] {
            try text.write(toFile: "\(films)/\(name)", atomically: true, encoding: .utf8)
          }
          try FileManager.default.createSymbolicLink(atPath: "\(films)/link.mp4", withDestinationPath: secret)
          try await Self.serving(Self.operators + ["--files", films]) { vidicon, folder in
            let token = try String(contentsOfFile: "\(folder)/vidicon/control-\(vidicon.httpPort)", encoding: .utf8)
            func choose(_ source: String) async throws -> Int {
              try await EndToEnd.LiveControl.send(
                "PUT", #"{"video":"\#(source)"}"#, to: vidicon.page("/api/streams/live/source"),
                ["--header", "Authorization: Bearer \(token)"]
              ).status
            }
            for source in [
              secret, "\(films)/../\((outside as NSString).lastPathComponent)/secret.mp4", "\(films)/link.mp4",
              "\(films)/list.m3u8", "\(films)/list.mp4", "\(films)/list.ffconcat", "\(films)/concat.mp4",
              "concat:\(films)/film.mp4|\(secret)", "subfile,,start,0,end,0,,:\(secret)", "crypto:\(secret)",
              "/etc/passwd", "\(films)", "\(films)/none.mp4",
            ] {
              let status = try await choose("file:\(source)")
              #expect([400, 403, 502].contains(status), "\(source): \(status)")
            }
            let state = try await Curl.get(
              vidicon.page("/api/streams/live"), ["--header", "Authorization: Bearer \(token)"])
            #expect(state.text.contains(#""video":"bars""#), "\(state.text)")
            #expect(try await choose("file:\(films)/film.mp4") == 200)
          }
        }
      }
    }

    @Test(arguments: [
      (["--user", "sesame"], "sesame"), (["--operator", "sesame"], "sesame"), (["--user", "anna:"], "NAME:PASSWORD: "),
      (["--source", "file:http://anna:sesame@127.0.0.1:1/x"], "sesame"), (["--user-file", "/dev/null"], "sesame"),
    ])
    func `a wrong option ends the program with one line without the password`(
      options: [String], secret: String
    ) async throws {
      let run = try await VidiconProcess.run(
        ["serve"] + VidiconProcess.freePorts + options)
      #expect(run.exit != .status(0))
      #expect(run.errors.split(separator: "\n").count == 1 && !run.errors.contains(secret), "\(run.errors)")
    }

    @Test func `after five wrong passwords RTSP and HTTP refuse an address for a second`() async throws {
      try await Self.serving(Self.operators + ["--user", "anna:sesame"]) { vidicon, _ in
        var statuses: [Int] = []
        for _ in 0..<6 {
          statuses.append(try await Curl.get(vidicon.page("/live"), ["--basic", "--user", "anna:wrong"]).status)
        }
        #expect(statuses.prefix(5) == [401, 401, 401, 401, 401] && statuses.last == 429)
      }
    }

    /// Runs a command with a runtime folder; returns its exit status, output and errors.
    private static func command(
      _ arguments: [String], folder: String
    ) async throws -> (exit: ChildProcess.Exit?, output: String, errors: String) {
      let environment = ["XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder, "HOME": folder]
      let child = try ChildProcess(VidiconProcess.path(), arguments, environment: environment)
      let exit = await child.end(within: MachineShare.timeout(.seconds(30)))
      await child.output.end()
      await child.errors.end()
      return (exit, child.output.text, child.errors.text)
    }

    @Test func `commands of the same user find the token and control, those of others do not`() async throws {
      try await Self.serving(Self.operators + ["--user", "anna:sesame"]) { vidicon, folder in
        let token = try String(contentsOfFile: "\(folder)/vidicon/control-\(vidicon.httpPort)", encoding: .utf8)
        let status = try await Self.command(["status"], folder: folder)
        #expect(status.exit == .status(0), "\(status.errors)")
        #expect(status.output.hasPrefix("live   320×180   15 fps"), "\(status.output)")
        #expect(status.output.contains("/live#control=\(token)"))
        let alone = try await Self.command(["status", "--token"], folder: folder)
        #expect(alone.output == token + "\n")
        let control = try await Self.command(
          ["control", "live", "mirror=true", "rotation=180", "bitrate=500k", "source=plasma"], folder: folder)
        #expect(control.exit == .status(0), "\(control.errors)")
        #expect(control.output.contains("0.50 Mb/s") && control.output.contains("mirrored   rotated by 180°"))
        #expect(control.output.contains("Source     plasma") && !control.output.contains(token))
        let json = try await Self.command(["status", "live", "--json"], folder: folder)
        #expect(json.output.contains(#""mirror":true"#) && json.output.contains(#""role":"operator""#))

        // The server's words, in one line.
        let wrong = try await Self.command(["control", "source=file:/etc/passwd"], folder: folder)
        #expect(wrong.exit == .status(1) && wrong.output.isEmpty)
        #expect(wrong.errors.split(separator: "\n").count == 1 && wrong.errors.contains("--files"), "\(wrong.errors)")
        let unknown = try await Self.command(["control", "yard", "mirror=true"], folder: folder)
        #expect(unknown.errors == "vidicon: \"yard\": there is no such stream; give one of live\n")

        try await TestMedia.withTemporaryFolder { other in
          for (arguments, message) in [
            (["status"], "this machine: no server of this user was found; start one with"),
            (
              ["control", "mirror=false", "--port", "\(vidicon.httpPort)"],
              "this user has no control token for the server"
            ),
          ] {
            let run = try await Self.command(arguments, folder: other)
            #expect(run.exit == .status(1) && run.output.isEmpty)
            #expect(run.errors.split(separator: "\n").count == 1 && run.errors.contains(message), "\(run.errors)")
          }
          // A file that others could have written.
          try FileManager.default.createDirectory(atPath: "\(other)/vidicon", withIntermediateDirectories: true)
          try token.write(toFile: "\(other)/vidicon/control-1", atomically: true, encoding: .utf8)
          try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: "\(other)/vidicon/control-1")
          let open = try await Self.command(["status"], folder: other)
          #expect(open.errors.contains("it is not a file that only its user reads"), "\(open.errors)")
        }
      }
    }
  }
}
