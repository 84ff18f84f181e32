import Foundation
import Testing

extension EndToEnd {
  @Suite("Roles, tokens and foreign sites")
  struct Access {
    private static let bars = ["--source", "bars", "--audio", "none", "--size", "320x180", "--fps", "15"]
    private static let operators = ["--control", "operators"]

    /// Runs with a runtime folder of its own.
    private static func serving(
      _ arguments: [String], _ body: (VidiconProcess, _ folder: String) async throws -> Void
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(
          Self.bars + arguments, environment: ["XDG_RUNTIME_DIR": folder]
        ) { try await body($0, folder) }
      }
    }

    private static func mirror(_ vidicon: VidiconProcess, _ options: [String] = []) async throws -> Int {
      try await Curl.get(
        vidicon.page("/api/streams/live"),
        ["--request", "PATCH", "--header", "Content-Type: application/json", "--data", #"{"mirror":true}"#] + options
      ).status
    }

    @Test func `a stranger watches, and only the owner's token controls and reads recordings`() async throws {
      var tokenFile = ""
      try await Self.serving(Self.operators) { vidicon, folder in
        #expect(vidicon.started.access?.first?.contains("--user NAME:PASSWORD asks for a password") == true)
        tokenFile = try #require(vidicon.started.controlTokenFile)
        #expect(tokenFile == "\(folder)/vidicon/control-\(vidicon.httpPort)")
        let attributes = try FileManager.default.attributesOfItem(atPath: tokenFile)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let token = try String(contentsOfFile: tokenFile, encoding: .utf8)
        let bearer = ["--header", "Authorization: Bearer \(token)"]
        #expect(try await Curl.get(vidicon.page("/live/snapshot.jpg")).status == 200)
        for path in ["/api/recordings", "/api/devices", "/recordings/live/a.mp4"] {
          #expect(try await Curl.get(vidicon.page(path)).status == 401, "\(path)")
        }
        #expect(try await Curl.get(vidicon.page("/api/recordings"), bearer).status == 200)
        #expect(try await Curl.get(vidicon.page("/api/recordings?token=\(token)")).status == 200)
        let wrong = String(token.reversed())
        for options in [
          [], ["--header", "Authorization: Bearer \(wrong)"], ["--header", "X-Forwarded-For: 127.0.0.1"],
        ] {
          #expect(try await Self.mirror(vidicon, options) == 401, "\(options)")
        }
        // A rebound page of another site.
        let rebound = ["--header", "Host: evil.example", "--header", "Origin: http://evil.example"]
        #expect(try await Self.mirror(vidicon, bearer + rebound) == 421)
        #expect(try await Self.mirror(vidicon, bearer + ["--header", "Origin: http://evil.example"]) == 403)
        for path in ["/live/index.m3u8", "/live/snapshot.jpg", "/health", "/"] {
          #expect(try await Curl.get(vidicon.page(path), ["--header", "Host: evil.example"]).status == 421, "\(path)")
        }
        let state = try await Curl.get(vidicon.page("/api/streams/live"))
        #expect(state.text.contains(#""mirror":false"#) && state.text.contains(#""role":"viewer""#))
        #expect(try await Self.mirror(vidicon, bearer) == 200)
        #expect(!vidicon.child.errors.text.contains(token))
        #expect(vidicon.child.errors.text.contains("evil.example"))
      }
      #expect(!FileManager.default.fileExists(atPath: tokenFile), "the token file stays after the end")
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
          for word in ["sesame", "other", "secret", hash] { #expect(!vidicon.child.errors.text.contains(word)) }
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
        ["serve", "--rtsp-port", "0", "--http-port", "0", "--no-discovery"] + options)
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

    @Test func `the page shows controls to operators only, and removes the token from its address`() async throws {
      try await Self.serving(Self.operators) { vidicon, folder in
        let path = try #require(vidicon.started.controlTokenFile)
        let token = try String(contentsOfFile: path, encoding: .utf8)
        let run = try await Tool.run(
          "python3", [TestMedia.client("page_control.py"), vidicon.page("/live"), token], within: .seconds(60))
        #expect(run.succeeded, "\(run.errors)")
      }
    }
  }
}
