import Foundation
import Testing

extension EndToEnd {
  /// nginx on the program's host, through which the owner and a stranger come.
  @Suite("Clients behind a reverse proxy")
  struct Proxies {
    private static let proxyPort = 8088
    private static let bars = ["--source", "bars", "--audio", "none", "--size", "320x180", "--fps", "15"]

    /// Runs `vidicon serve` behind nginx.
    private static func serving(
      _ arguments: [String], openFiles: Int? = nil, _ body: (TwoHosts, VidiconProcess) async throws -> Void
    ) async throws {
      try await TwoHosts.with { hosts in
        try await hosts.serving(Self.bars + arguments, openFiles: openFiles) { vidicon in
          try await TestMedia.withTemporaryFolder { folder in
            try Self.configuration(folder, port: vidicon.httpPort)
              .write(toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
            let nginx = try hosts.start("nginx", ["-p", folder, "-e", "\(folder)/log", "-c", "\(folder)/nginx.conf"])
            defer { nginx.signal(SIGTERM) }
            try await body(hosts, vidicon)
          }
        }
      }
    }

    private static func configuration(_ folder: String, port: Int) -> String {
      let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
      return """
        \(getuid() == 0 ? "user root;" : "")
        daemon off;
        worker_processes 1;
        worker_rlimit_nofile 4096;
        pid \(folder)/pid;
        events { worker_connections 2048; }
        http {
          access_log off;
          \(temporary.joined(separator: "\n  "))
          server {
            listen \(Self.proxyPort) backlog=1024;
            location / {
              proxy_pass http://127.0.0.1:\(port);
              proxy_http_version 1.1;
              proxy_buffering off;
              proxy_set_header Connection "";
              proxy_set_header Host $http_host;
              proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            }
          }
        }
        """
    }

    @Test func `guesses through the proxy slow their own address down, whatever it claims to be`() async throws {
      struct Seen: Decodable {
        var direct: [Int]
        var proxied: [Int]
        var forged: [Int]
        var change: Int
      }
      struct Owner: Decodable {
        var wrong: Int
        var right: Int
      }
      let options = ["--behind-proxy", "127.0.0.1", "--user", "anna:sesame", "--insecure-basic"]
      try await Self.serving(options + ["--control", "machine"]) { hosts, vidicon in
        let port = "\(Self.proxyPort)"
        let seen = try await hosts.run("proxied.py", [port, "guess"], of: vidicon, on: .stranger, as: Seen.self)
        // Over IPv6, without the proxy: each request claims to come from another address, and the last from the owner's.
        #expect(seen.direct == [401, 401, 401, 401, 401, 429, 429])
        #expect(seen.proxied == [401, 401, 401, 401, 401, 429])
        #expect(seen.forged == [429, 429])
        // The proxy is on this machine, its clients are not.
        #expect(seen.change == 401)
        let owner = try await hosts.run("proxied.py", [port, "login"], of: vidicon, on: .owner, as: Owner.self)
        #expect(owner.wrong == 401)
        #expect(owner.right == 200)
        let errors = vidicon.child.errors.text
        #expect(errors.contains("10.77.2.2: wrong password or token") && errors.contains("fd77:2::2: wrong password"))
        #expect(!errors.contains("127.0.0.1: wrong password"))
      }
    }

    @Test func `connections through the proxy count for their clients`() async throws {
      // Room for 272 connections.
      try await Self.serving(["--behind-proxy", "127.0.0.1"], openFiles: 400) { hosts, vidicon in
        let port = "\(Self.proxyPort)"
        let owner = try hosts.start("proxied.py", [port, "watch", "15"], of: vidicon, on: .owner)
        defer { owner.kill() }
        try await owner.complains("watching")
        let crowd = try hosts.start("proxied.py", [port, "crowd", "400"], of: vidicon, on: .stranger)
        defer { crowd.kill() }
        try await crowd.complains("crowded", within: .seconds(60))
        let status = try await vidicon.statusEvent { $0.refusals?["over_limit"] ?? 0 >= 400 - 272 }
        #expect(status.acceptFailures == 0)
        #expect(await owner.end(within: .seconds(30)) == .status(0), "\(owner.errors.text)")
      }
    }
  }
}
