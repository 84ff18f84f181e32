import Foundation
import Testing

extension EndToEnd {
  @Suite("Passwords and encryption over HTTP")
  struct HTTPSecurity {
    private static let bars = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30"]
    private static let user = ["--user", "anna:sesame"]

    @Test func `three authentication schemes are offered, each in its own header field, and accepted`() async throws {
      try await VidiconProcess.serving(Self.bars + Self.user) { vidicon in
        for path in ["/", "/live", "/live/playlist.m3u8", "/live/mjpeg", "/metrics", "/api/streams", "/none"] {
          let refused = try await Curl.get(vidicon.page(path))
          #expect(refused.status == 401, "\(path)")
          let offers = refused.values(of: "www-authenticate")
          #expect(offers.count == 3, "\(offers)")
          #expect(offers.first?.hasPrefix("Digest ") == true && offers.first?.contains("SHA-256") == true)
          #expect(offers.dropFirst().first?.contains("algorithm=MD5") == true)
          #expect(offers.last?.hasPrefix("Basic realm=") == true)
          #expect(refused["access-control-allow-origin"] == nil)
          #expect(refused["cache-control"] == "no-store")
        }
        for way in ["--digest", "--basic", "--anyauth"] {
          let right = try await Curl.get(vidicon.page("/live/live.m3u8?_HLS_skip=YES"), [way, "--user", "anna:sesame"])
          #expect(right.status == 200, "\(way)")
          #expect(right["cache-control"]?.hasPrefix("private") == true, "shared caches must not hand it to others")
          for wrong in ["anna:barley", "eve:sesame", "anna:", ":"] {
            let refused = try await Curl.get(vidicon.page("/live/live.m3u8"), [way, "--user", wrong])
            #expect(refused.status == 401, "\(way) \(wrong)")
          }
        }
        #expect(try await Curl.get(vidicon.page("/health")).text == "ok\n")
      }
    }

    @Test(.tags(.demanding)) func `players and a browser with the password play`() async throws {
      try await VidiconProcess.serving(Self.bars + Self.user) { vidicon in
        let address = "http://anna:sesame@127.0.0.1:\(vidicon.httpPort)"
        async let fragments = FFmpeg.play("\(address)/live/index.m3u8", seconds: 5, options: [])
        async let segments = FFmpeg.play("\(address)/live/playlist.m3u8", seconds: 5, options: [])
        for play in try await [fragments, segments] {
          #expect(play.run.succeeded && FFmpeg.complaints(in: play.run.errors) == [], "\(play.run.errors)")
          #expect(play.frames.count > 130, "\(play.frames.count) frames in 5 s")
        }
        let stranger = try await FFmpeg.play(
          "http://anna:wrong@127.0.0.1:\(vidicon.httpPort)/live/index.m3u8", seconds: 2, options: [])
        #expect(!stranger.run.succeeded && stranger.run.errors.contains("401"), "\(stranger.run.errors)")

        let source = ["souphttpsrc", "location=\(vidicon.page("/live/index.m3u8"))", "user-id=anna", "user-pw=sesame"]
        let pipeline =
          ["-q"] + source + ["!", "hlsdemux", "!", "decodebin3", "name=d", "d.", "!", "audioconvert", "!", "fakesink"]
          + ["d.", "!", "videoconvert", "!", "videoscale", "!", "video/x-raw,format=GRAY8,width=160,height=90", "!"]
          + ["fdsink", "fd=1", "sync=false"]
        let run = try await Tool.run("gst-launch-1.0", pipeline, byteLimit: 60 * 160 * 90, within: .seconds(25))
        #expect(run.output.count >= 60 * 160 * 90, "\(run.errors)")

        try await TestMedia.withTemporaryFolder { folder in
          let browser = try await Tool.run(
            "python3", [TestMedia.client("page_play.py"), "\(address)/live", folder, "--seconds", "3"],
            within: .seconds(60))
          #expect(browser.succeeded, "\(browser.errors)")
        }
      }
    }

    @Test func `a certificate is created once, served with the announced fingerprint, and readable by its owner only`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let options = Self.bars + ["--https-port", "0"]
        var fingerprints: [String] = []
        for _ in 0..<2 {
          try await VidiconProcess.serving(options, environment: ["XDG_STATE_HOME": folder]) { vidicon in
            let fingerprint = try #require(vidicon.started.certificateFingerprint)
            let port = try #require(vidicon.started.httpsPort)
            fingerprints.append(fingerprint)
            let certificate = try await Self.certificate(port: port, in: folder)
            #expect(certificate.contains("Fingerprint=\(fingerprint)"), "\(certificate)")
            #expect(certificate.contains("DNS:localhost") && certificate.contains("IP Address:127.0.0.1"))
            // curl accepts it as the certificate of a trusted authority: names and dates are valid.
            let authority = try await Curl.get(vidicon.page("/ca"))
            try Data(authority.body).write(to: URL(fileURLWithPath: "\(folder)/ca.pem"))
            let trusted = try await Tool.run(
              "curl",
              ["--silent", "--noproxy", "*", "--cacert", "\(folder)/ca.pem"]
                + [try vidicon.securePage("/health"), try vidicon.securePage("/health", host: "127.0.0.1")],
              within: .seconds(10))
            #expect(trusted.outputText == "ok\nok\n", "\(trusted.errors)")
          }
        }
        #expect(fingerprints.count == 2 && fingerprints[0] == fingerprints[1])
        for (file, mode) in [
          ("vidicon/authority-key.pem", 0o600), ("vidicon/certificate-key.pem", 0o600), ("vidicon", 0o700),
        ] {
          let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(file)")
          #expect(attributes[.posixPermissions] as? Int == mode, "\(file)")
        }
      }
    }

    @Test(arguments: ["XDG_STATE_HOME", "HOME"])
    func `a state folder that cannot be created is reported in one line`(variable: String) async throws {
      let run = try await VidiconProcess.run(
        ["serve"] + VidiconProcess.freePorts + ["--https-port", "0", "--source", "plasma"],
        environment: ["XDG_STATE_HOME": ""].merging([variable: "/dev/null/nowhere"]) { $1 })
      #expect(run.exit == .status(1))
      let lines = run.errors.split(separator: "\n")
      #expect(lines.count == 1 && lines.first?.contains("/dev/null/nowhere") == true, "\(run.errors)")
    }

    /// Fingerprint and names of the certificate that a port serves, as printed by openssl.
    private static func certificate(port: Int, in folder: String) async throws -> String {
      let shown = try await Tool.run("openssl", ["s_client", "-connect", "127.0.0.1:\(port)"], within: .seconds(10))
      try Data(shown.output).write(to: URL(fileURLWithPath: "\(folder)/shown"))
      let read = try await Tool.run(
        "openssl",
        ["x509", "-in", "\(folder)/shown", "-noout", "-fingerprint", "-sha256", "-ext", "subjectAltName"],
        within: .seconds(10))
      return read.outputText
    }
  }
}
