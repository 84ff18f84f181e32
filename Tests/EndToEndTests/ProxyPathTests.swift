import Foundation
import Testing

extension EndToEnd {
  /// nginx, which has the program below the path `/cam/` and a page of its own at `/`.
  @Suite("Below a path of a reverse proxy")
  struct ProxyPaths {
    /// Output of page_below.py.
    private struct Seen: Decodable {
      var card: String
      var page: String
      var name: String
      var ways: [String]
      var addresses: [String: String]
      var links: [String]
      var publisher: String
      var requested: Int
      var outside: [String]
      var complaints: [String]
    }

    /// Runs `vidicon serve` behind nginx with lines of a configuration beside `proxy_pass`.
    private static func below(
      _ lines: [String], options: [String] = [], _ body: (_ root: String, VidiconProcess) async throws -> Void
    ) async throws {
      try await Access.serving(["--webrtc", "on", "--webrtc-port", "0"] + options) { vidicon, folder in
        let port = try FreePort.take()
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
        let text = """
          \(getuid() == 0 ? "user root;" : "")
          daemon off;
          worker_processes 1;
          pid \(folder)/pid;
          events {}
          http {
            access_log off;
            \(temporary.joined(separator: "\n  "))
            server {
              listen 127.0.0.1:\(port);
              location = / { return 200 "another site"; }
              location /cam/ {
                proxy_pass http://127.0.0.1:\(vidicon.httpPort)/;
                \(lines.joined(separator: "\n      "))
              }
            }
          }
          """
        try text.write(toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
        let nginx = try ChildProcess(
          Tool("nginx").path, ["-p", folder, "-e", "\(folder)/log", "-c", "\(folder)/nginx.conf"])
        defer { nginx.signal(SIGTERM) }
        _ = try await Curl.get(
          "http://127.0.0.1:\(port)/cam/health", ["--retry", "20", "--retry-connrefused", "--retry-delay", "1"])
        try await body("http://127.0.0.1:\(port)/cam/", vidicon)
      }
    }

    /// The configuration of docs/nginx.conf, and none at all: the proxy then forwards its own name, and HTTP/1.0.
    @Test(
      .tags(.demanding),
      arguments: [
        (["proxy_http_version 1.1;", "proxy_set_header Host $http_host;", "proxy_buffering off;"], "chromium"),
        (["proxy_buffering off;"], "chromium"),
        (["proxy_http_version 1.1;", "proxy_set_header Host $http_host;", "proxy_buffering off;"], "firefox"),
      ])
    func `the pages play, control and link below it`(lines: [String], browser: String) async throws {
      try await Self.below(lines) { root, vidicon in
        let path = try #require(vidicon.started.controlTokenFile)
        let token = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let seen: Seen = try await Browsers.drive(
          "page_below.py", [root, token, "--browser", browser], within: .seconds(180))
        #expect(seen.card == root + "live" && seen.page == root + "live" && seen.name == "live")
        // Firefox has no H.264 for WebRTC as packaged.
        let first = browser == "chromium" ? "WebRTC, real time" : "HLS, low latency"
        #expect(seen.ways == [first, "HLS, low latency", "images"])
        #expect(seen.links == [root, root] && seen.publisher == "live")
        #expect(seen.addresses.count > 5)
        #expect(seen.requested > 50 && seen.outside == [])
        #expect(seen.complaints == [])
      }
    }

    @Test func `redirections, sessions and playlists of clients stay below it`() async throws {
      let lines = ["proxy_http_version 1.1;", "proxy_set_header Host $http_host;"]
      try await Self.below(lines) { root, _ in
        let moved = try await Curl.get(root + "live/")
        #expect(moved.status == 308 && moved["location"] == "../live")
        let page = try await Curl.get(root + "live/", ["--location"])
        #expect(page.status == 200 && page.text.contains("<script type=\"module\" src=\"./_page/player.js\">"))
        for playlist in ["index.m3u8", "playlist.m3u8"] {
          let look = try await FFprobe.look(at: root + "live/\(playlist)", options: [])
          #expect(look.video != nil, "\(playlist)")
        }
      }
    }

    @Test func `a known proxy names the path, for the root without a slash and for Digest`() async throws {
      let lines = [
        "proxy_http_version 1.1;", "proxy_set_header Host $http_host;", "proxy_set_header X-Forwarded-Prefix /cam;",
      ]
      let options = ["--behind-proxy", "127.0.0.1", "--user", "anna:sesame"]
      try await Self.below(lines, options: options) { root, _ in
        let login = ["--digest", "--user", "anna:sesame"]
        let page = try await Curl.get(root, login)
        #expect(page.status == 200 && page.text.contains("src=\"/cam/_page/list.js\""))
        let moved = try await Curl.get(root + "live/", login)
        #expect(moved.status == 308 && moved["location"] == "/cam/live")
        let wrong = try await Curl.get(root + "api/streams", ["--digest", "--user", "anna:wrong"])
        #expect(wrong.status == 401)
      }
    }
  }
}
