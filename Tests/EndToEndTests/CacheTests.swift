import Foundation
import Testing

extension EndToEnd {
  @Suite("nginx as a cache, with docs/nginx.conf")
  struct Caches {
    /// Output of hls_viewers.py.
    private struct Watched: Decodable {
      var viewers: Int
      var playlists: Int
      var media: Int
      var bytes: Int
      var failures: [String]
      var gaps: Int
      var hints: Int
    }

    @Test(.tags(.pacing), arguments: [("ts", "playlist.m3u8"), ("ll", "index.m3u8")])
    func `300 viewers behind it cause as many requests as one`(mode: String, playlist: String) async throws {

      let options = ["--source", "plasma", "--audio", "tone", "--size", "320x180", "--bitrate", "200k"]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.behindNginx(vidicon) { port, _ in
          let seconds = 12.0
          let alone = try await Self.watch(mode, vidicon.page("/live/\(playlist)"), viewers: 1, seconds: seconds)
          #expect(alone.failures == [])
          let one = Double(alone.playlists + alone.media)
          try #require(one > 12)

          let before = try await Self.requests(of: vidicon)
          let many = try await Self.watch(
            mode, "http://127.0.0.1:\(port)/live/\(playlist)", viewers: 300, seconds: seconds)
          let cost = try await Self.requests(of: vidicon) - before
          #expect(many.failures == [])
          #expect(many.gaps == 0)
          #expect(many.media > 300 * Int(seconds) / 2, "\(many)")
          if mode == "ll" { #expect(many.hints > many.media / 2, "\(many)") }
          // The viewers connect over two further seconds; /metrics itself is one request.
          let share = cost / one * seconds / (seconds + 2)
          #expect((0.5...1.5).contains(share), "\(cost) requests for 300 viewers, \(one) for one in \(seconds) s")
        }
      }
    }

    struct State: Decodable { var duration: Double }

    struct Files: Decodable {
      struct Entry: Decodable { var file: String }
      var recordings: [Entry]
    }

    /// Position of a media playlist: sequence number of the segment that is not complete, and number of its parts.
    private static func position(of playlist: String) throws -> (segment: Int, part: Int) {
      let lines = playlist.split(separator: "\n")
      let first = try #require(playlist.firstMatch(of: /#EXT-X-MEDIA-SEQUENCE:([0-9]+)/))
      let segments = lines.filter { $0.hasPrefix("#EXTINF:") }.count
      let parts = lines.reversed().prefix { !$0.hasPrefix("#EXTINF:") }.filter { $0.hasPrefix("#EXT-X-PART:") }.count
      return (try #require(Int(first.1)) + segments, parts)
    }

    @Test func `low latency works over TLS and HTTP/2, and only under the names of the configuration`() async throws {
      let options = ["--source", "bars", "--audio", "none", "--size", "320x180"]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.behindNginx(vidicon) { _, securePort in
          let folder = "https://127.0.0.1:\(securePort)/live/"
          var playlist = ""
          try await waitUntil {
            playlist = try await Curl.get("\(folder)live.m3u8", ["--http2"]).text
            return playlist.contains("#EXT-X-PART:")
          }
          // Twice, of which at least one waits for a part that does not exist yet.
          for _ in 0..<2 {
            let (segment, part) = try Self.position(of: playlist)
            let reload = try await Curl.get(
              "\(folder)live.m3u8?_HLS_msn=\(segment)&_HLS_part=\(part)", ["--http2"])
            try #require(reload.status == 200, "\(reload.text)")
            #expect(reload.version == "2")
            let next = try Self.position(of: reload.text)
            #expect(next > (segment, part), "\(next) after \((segment, part))")
            playlist = reload.text
          }
          let name = try #require(playlist.matches(of: /#EXT-X-PART:[^\n]*URI="([^"]*)"/).last).1
          let part = try await Curl.get("\(folder)\(name)", ["--http2"])
          #expect(part.status == 200 && part.version == "2" && part.body.count > 0)
          for path in ["live.m3u8", String(name)] {
            let foreign = try await Curl.get("\(folder)\(path)", ["--http2", "--header", "Host: evil.example"])
            #expect(foreign.status == 421 && foreign.version == "2", "\(path)")
          }
        }
      }
    }

    @Test func `with --cors a page gets its field from the cache, and other clients' copies have none`() async throws {
      let origin = "https://site.example"
      let options = ["--source", "bars", "--audio", "none", "--size", "320x180", "--cors", origin]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.behindNginx(vidicon) { port, _ in
          var playlist = ""
          try await waitUntil {
            playlist = try await Curl.get(vidicon.page("/live/playlist.m3u8")).text
            return playlist.contains(".ts")
          }
          let segment = try #require(playlist.split(separator: "\n").last { $0.contains(".ts") && !$0.hasPrefix("#") })
          let url = "http://127.0.0.1:\(port)/live/\(segment)"
          for expected in ["MISS", "HIT"] {
            let plain = try await Curl.get(url)
            #expect(plain.status == 200 && plain["x-cache"] == expected)
            #expect(plain["access-control-allow-origin"] == nil)
            let page = try await Curl.get(url, ["--header", "Origin: \(origin)"])
            #expect(page.status == 200 && page["x-cache"] == expected)
            #expect(page["access-control-allow-origin"] == origin)
          }
          let foreign = try await Curl.get(url, ["--header", "Origin: https://evil.example"])
          #expect(foreign.status == 403 && foreign["access-control-allow-origin"] == nil)
        }
      }
    }

    @Test func `a viewer that requests a part before it exists keeps it from no other`() async throws {
      let options = ["--source", "bars", "--audio", "none", "--size", "320x180"]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.behindNginx(vidicon) { port, _ in
          // Meanwhile viewers request each part that a playlist hints at, and a hostile one those after it.
          async let watched = Self.watch("ll", "http://127.0.0.1:\(port)/live/index.m3u8", viewers: 3, seconds: 6)
          let end = ContinuousClock.now + .seconds(7)
          var refusals = 0
          while ContinuousClock.now < end {
            let media = try await Curl.get(vidicon.page("/live/live.m3u8")).text
            guard
              let hint = media.firstMatch(of: #/PRELOAD-HINT:TYPE=PART,URI="([^"]*-)([0-9]+)\.([0-9]+)(\.m4s)"/#),
              let number = Int(hint.2), let part = Int(hint.3)
            else { continue }
            for (segment, index) in [(number, part + 1), (number, part + 2), (number + 1, 0), (number + 1, 1)] {
              let url = "http://127.0.0.1:\(port)/live/\(hint.1)\(segment).\(index)\(hint.4)"
              if try await Curl.get(url, ["--max-time", "30"]).status == 404 { refusals += 1 }
            }
          }
          let viewers = try await watched
          #expect(viewers.failures == [] && viewers.gaps == 0, "\(viewers)")
          #expect(viewers.hints > 3 * 15, "\(viewers)")
          #expect(refusals > 20)

          let playlist = try await Curl.get(vidicon.page("/live/index.m3u8")).text
          // The variant's playlist, and the address of a part some seconds ahead of the hint.
          let variant = try #require(playlist.split(separator: "\n").last { !$0.hasPrefix("#") })
          let media = try await Curl.get(vidicon.page("/live/\(variant)")).text
          let hint = try #require(
            media.firstMatch(of: #/PRELOAD-HINT:TYPE=PART,URI="([^"]*?)([0-9]+)(\.[0-9]+)?(\.m4s[^"]*)"/#))
          let number = try #require(Int(hint.2))
          let ahead = "\(hint.1)\(number + 2)\(hint.3 ?? "")\(hint.4)"
          let folder =
            variant.contains("/")
            ? "/live/\(variant.split(separator: "/").dropLast().joined(separator: "/"))/" : "/live/"
          let url = "http://127.0.0.1:\(port)\(folder)\(ahead)"
          #expect(try await Curl.get(url).status == 404)
          try await waitUntil { try await Curl.get(vidicon.page(folder + ahead)).status == 200 }
          #expect(try await Curl.get(url).status == 200)
        }
      }
    }

    /// A cache that keeps every path, and ignores the query of requests, as many do.
    @Test func `what was fetched with a token is served from the cache to no other client`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--source", "bars", "--audio", "none", "--size", "320x180", "--control", "operators"]
        let recording = ["--record", "\(folder)/{name}.mp4"]
        try await VidiconProcess.serving(
          options + recording, environment: ["XDG_RUNTIME_DIR": folder]
        ) { vidicon in
          let token = try String(contentsOfFile: #require(vidicon.started.controlTokenFile), encoding: .utf8)
          let (query, bearer) = ("?token=\(token)", ["--header", "Authorization: Bearer \(token)"])
          let recorded = vidicon.page("/api/streams/live/recording")
          try await waitUntil { try await Curl.get(recorded, bearer).json(State.self).duration >= 2 }
          let files = try await Curl.get(vidicon.page("/api/recordings"), bearer).json(Files.self).recordings
          let file = try #require(files.first).file
          let playlist = try await Curl.get(vidicon.page("/live/index.m3u8")).text
          let variant = "/live/" + (try #require(playlist.split(separator: "\n").last { !$0.hasPrefix("#") }))
          let media = try await Curl.get(vidicon.page(variant)).text
          let name = try #require(media.firstMatch(of: #/EXT-X-MAP:URI="([^"]*)"/#)).1
          let header = variant.prefix { $0 != "?" }.split(separator: "/").dropLast().joined(separator: "/")
          let initialization = "/\(header)/\(name)"
          let everything = [
            ("$uri$is_args$args", "$uri"), ("location ~ \\.(m3u8|ts|m4s|mp4)$ {", "location ~ ^/ {"),
            ("location ^~ /recordings/ {", "location ^~ /none/ {"),
          ]
          try await Self.behindNginx(vidicon, replacing: everything) { port, _ in
            let proxy = "http://127.0.0.1:\(port)"
            for path in [
              "/live/index.m3u8", variant, initialization, file, "/live/", "/api/openapi.json", "/api/recordings",
            ] {
              for (owned, options) in [(path + query, []), (path, bearer)] as [(String, [String])] {
                for _ in 0..<2 {
                  let owner = try await Curl.get(proxy + owned, options)
                  #expect(owner.status < 400 && owner["x-cache"] != "HIT", "\(owned)")
                  #expect(owner["cache-control"]?.contains("public") == false, "\(owned)")
                }
              }
              let other = try await Curl.get(proxy + path)
              let isOpen = path != file && path != "/api/recordings"
              #expect(other.status == (isOpen ? path == "/live/" ? 308 : 200 : 401), "\(path)")
              #expect(other["x-cache"] != "HIT" && !other.text.contains(token), "\(path)")
              #expect(other["location"]?.contains("token") != true)
            }
            // The cache works.
            #expect(try await Curl.get(proxy + initialization)["x-cache"] == "HIT")
          }
        }
      }
    }

    @Test func `segments and parts from before faces were private leave it in seven seconds`() async throws {
      let options = ["--source", "bars", "--audio", "none", "--size", "320x180"]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.behindNginx(vidicon) { port, _ in
          let files = try await HLSFiles(of: vidicon, stream: "/live")
          let paths = [files.segment, files.fragment, files.part]
          let cached = ContinuousClock.now
          for path in paths {
            #expect(try await Curl.get("http://127.0.0.1:\(port)\(path)").status == 200)
            #expect(try await Curl.get("http://127.0.0.1:\(port)\(path)")["x-cache"] == "HIT")
          }
          let answer = try await LiveControl.send(
            "PUT", #"{"faces": "privacy"}"#, to: vidicon.page("/api/streams/live/effects"))
          try #require(answer.status == 200, "\(answer.text)")
          var (kept, lastShown) = (Set(paths), cached)
          while !kept.isEmpty, ContinuousClock.now - cached < .seconds(30) {
            for path in paths {
              #expect(try await Curl.get(vidicon.page(path)).status == 410)
              // Viewers that request it do not prolong its life.
              let start = ContinuousClock.now
              let status = try await Curl.get("http://127.0.0.1:\(port)\(path)").status
              if status == 410 { kept.remove(path) } else { lastShown = start }
              #expect(status == 410 || kept.contains(path), "\(path) has come back")
            }
          }
          // The cache counts from its own requests, which were made just before or after.
          #expect(kept.isEmpty && lastShown - cached < .seconds(8), "\(kept), \(lastShown - cached)")
          let playlist = try await Curl.get("http://127.0.0.1:\(port)/live/live.m3u8").text
          #expect(playlist.contains("#EXTINF"), "\(playlist)")
          #expect(paths.allSatisfy { !playlist.contains($0.dropFirst("/live/".count)) }, "\(playlist)")
        }
      }
    }

    private static func watch(_ mode: String, _ url: String, viewers: Int, seconds: Double) async throws -> Watched {
      let arguments = [mode, url, "--viewers", "\(viewers)", "--seconds", "\(seconds)"]
      let run = try await Tool.run(
        "python3", [TestMedia.client("hls_viewers.py")] + arguments + ["--ramp", viewers == 1 ? "0" : "2"],
        within: .seconds(seconds + 40))
      try #require(run.succeeded, "\(run.errors)")
      return try JSONDecoder().decode(Watched.self, from: Data(run.output))
    }

    /// Number of HTTP requests that the server has answered.
    private static func requests(of vidicon: VidiconProcess) async throws -> Double {
      try await #require(Metrics(of: vidicon).sum("vidicon_http_requests_total"))
    }

    /// Runs nginx with docs/nginx.conf; without `changes` only ports and paths are replaced.
    static func behindNginx(
      _ vidicon: VidiconProcess, replacing changes: [(String, String)] = [],
      _ body: (_ port: Int, _ securePort: Int) async throws -> Void
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let (port, securePort) = (try FreePort.take(), try FreePort.take())
        let certificate = try await Tool.run(
          "openssl",
          [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=camera.example", "-keyout", "\(folder)/key.pem", "-out", "\(folder)/fullchain.pem",
          ], within: .seconds(20))
        try #require(certificate.succeeded, "\(certificate.errors)")
        let text = try String(contentsOf: TestMedia.checkout.appendingPathComponent("docs/nginx.conf"), encoding: .utf8)
        var changed = text
        for (old, new) in [
          ("server 127.0.0.1:8080;", "server 127.0.0.1:\(vidicon.httpPort);"),
          ("listen 8088", "listen 127.0.0.1:\(port)"), ("listen 8443", "listen 127.0.0.1:\(securePort)"),
          ("/etc/vidicon", folder),
          ("/run/vidicon-nginx.pid", "\(folder)/pid"), ("/var/log/vidicon-nginx.log", "\(folder)/log"),
          ("/dev/shm/vidicon-cache", "\(folder)/cache"),
        ] + changes {
          try #require(changed.contains(old), "docs/nginx.conf has no \"\(old)\"")
          changed = changed.replacingOccurrences(of: old, with: new)
        }
        // Workers of another user could not write into the test's folder.
        if getuid() == 0 { changed = "user root;\n" + changed }
        try Data(changed.utf8).write(to: URL(fileURLWithPath: "\(folder)/nginx.conf"))
        let nginx = try ChildProcess(
          Tool("nginx").path, ["-p", folder, "-e", "\(folder)/log", "-c", "\(folder)/nginx.conf", "-g", "daemon off;"])
        do {
          _ = try await Curl.get(
            "http://127.0.0.1:\(port)/health", ["--retry", "20", "--retry-connrefused", "--retry-delay", "1"])
          try await body(port, securePort)
        } catch {
          nginx.signal(SIGTERM)
          _ = await nginx.end(within: MachineShare.timeout(.seconds(5)))
          throw error
        }
        nginx.signal(SIGTERM)
        _ = await nginx.end(within: MachineShare.timeout(.seconds(5)))
        // nginx reads the length of a header from shared memory before it opens the file. Another worker may replace the file
        // in between by one with a longer header; nginx then fetches the response again, and the viewer gets it whole.
        let log = try String(contentsOfFile: "\(folder)/log", encoding: .utf8).split(separator: "\n")
          .filter { !$0.contains("has too long header") }
          .joined(separator: "\n")
        #expect(!log.contains("[error]") && !log.contains("[crit]") && !log.contains("[emerg]"), "\(log)")
      }
    }
  }
}
