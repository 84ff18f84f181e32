import Foundation
import Testing

extension EndToEnd {
  @Suite("What is refused is counted")
  struct RefusalCounts {
    private static let token = "0123456789abcdef-owner"

    /// The words of the terminal for each reason of `--json` and the metrics.
    private static let words = [
      "bad_host": "foreign Host", "bad_origin": "foreign Origin", "failed_login": "failed login",
      "throttled": "throttled login", "unauthorized": "without login", "forbidden": "without permission",
      "over_limit": "over a limit",
      "malformed": "malformed", "rtsp_454": "RTSP 454", "rtsp_455": "RTSP 455", "rtsp_461": "RTSP 461",
      "tls_failure": "TLS failure", "datagram_dropped": "datagram dropped", "slow_viewer": "slow viewer",
    ]
    /// Reasons that are counted as often as refusals.py provokes them.
    private static let exact = [
      "bad_host": 1, "bad_origin": 1, "failed_login": 6, "throttled": 1, "unauthorized": 1, "over_limit": 1,
      "malformed": 6, "rtsp_454": 1,
      "rtsp_455": 1,
      "rtsp_461": 1, "tls_failure": 1,
    ]
    /// Responses to refusals.py.
    private static let answers = [
      "bad host": [421], "bad origin": [403], "forbidden": [401], "clear password": [401],
      "failed login": [401, 401, 401, 401, 401], "throttled": [429], "over limit": [429, 400],
      "unauthorized": [200, 401],
      "malformed": [400, 400, 400, 400, 1], "RTSP 454": [454], "RTSP 455": [455], "RTSP 461": [461],
      "slow viewer": [200, 200], "datagram dropped": [200, 200],
    ]

    @Test(.tags(.pacing)) func `a refusal of every reason is counted on the terminal, in the metrics and in --json`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let users = "\(folder)/users"
        try "operator token=\(Self.token)\noperator ben:secret\n".write(
          toFile: users, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: users)
        let options = [
          "--source", "plasma", "--audio", "none", "--size", "640x360", "--bitrate", "4M", "--rtsp-udp", "--control",
          "operators", "--user-file", users,
        ]
        try await TwoHosts.with { hosts in
          // Without a wire there is no route, so that datagrams are dropped.
          let routing = try hosts.start(
            "bash", ["-euc", "echo 1 > /proc/sys/net/ipv4/conf/stranger/ignore_routes_with_linkdown"])
          #expect(await routing.end(within: .seconds(10)) == .status(0))
          // The ports are this network's own.
          let terminal = try hosts.start(
            "env",
            ["XDG_RUNTIME_DIR=\(folder)", try VidiconProcess.path(), "serve", "--no-discovery", "--no-qr"] + options
              + ["--http-port", "18080", "--https-port", "18443", "--rtsp-port", "18554"])
          defer { terminal.kill() }
          try await hosts.serving(options) { vidicon in
            try await terminal.says("Browser")
            let seen = try await hosts.run(
              "refusals.py", [Self.token, "18080", "18443", "18554"], of: vidicon, on: .stranger,
              as: [[String: [Int]]].self, within: .seconds(90))
            #expect(seen == [Self.answers, Self.answers])
            let reasons = Set(Self.words.keys)
            let events = try await vidicon.statusEvent { status in
              reasons.allSatisfy { status.refusals?[$0] ?? 0 > 0 }
            }
            let json = events.refusals ?? [:]
            #expect(Set(json.keys) == reasons)
            for (reason, count) in Self.exact { #expect(json[reason] == count, "\(reason): \(json)") }
            let metrics = try await hosts.run(
              "stranger.py", ["refused"], of: vidicon, on: .owner, as: [String: Int].self)
            for reason in reasons { #expect(metrics[reason] ?? -1 >= json[reason] ?? 0, "\(reason): \(metrics)") }
            for (reason, count) in Self.exact { #expect(metrics[reason] == count, "\(reason): \(metrics)") }
            // The status is a line every ten seconds where the output is no terminal.
            var line = ""
            for _ in 0..<60 {
              line =
                terminal.output.text.split(separator: "\n").last { $0.contains("refused: ") }.map(String.init) ?? ""
              if Self.words.values.allSatisfy({ line.contains($0) }) { break }
              _ = try await vidicon.statusEvent { _ in true }
            }
            for (reason, words) in Self.words { #expect(line.contains(words), "\(reason): \(line)") }
            for (reason, count) in Self.exact {
              #expect(line.contains("\(count) \(Self.words[reason] ?? "")"), "\(reason): \(line)")
            }
          }
        }
      }
    }
  }
}
