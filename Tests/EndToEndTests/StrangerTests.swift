import Foundation
import Testing

extension EndToEnd {
  /// The rows of docs/security.md, on networks of their own. The owner sends the stranger's requests with a token, which
  /// shows that they are refused for its lack only.
  @Suite("What a stranger can do")
  struct Stranger {
    private static let bars = ["--source", "bars", "--audio", "none", "--size", "320x180", "--fps", "15"]
    static let token = "0123456789abcdef-owner"

    /// Statuses of `rows`, HTTP/1.1 and HTTP/2 together.
    typealias Rows = [String: [Int]]

    /// The rows that do not depend on who asks.
    static let common: Rows = [
      "watch": [200], "own host": [200], "foreign host": [421], "foreign host and change": [421],
      "foreign origin": [403], "null origin": [403], "readable by other sites": [0], "no host, HTTP/1.0": [200],
      "no host, HTTP/1.0, change": [421], "no host, HTTP/1.1": [400], "RTSP watch": [200],
      // ANNOUNCE, RECORD without it, and a method that is not implemented.
      "RTSP publish": [401, 455, 501],
    ]
    static let changes = ["settings", "source", "effects", "mask", "recording", "recordings", "a recording"]

    /// Output of `state`.
    struct State: Decodable, Equatable {
      var mute: Bool
      var mirror: Bool
      var video: String
    }

    /// Runs with an operator's token and password, and watching open to everybody.
    static func serving(
      _ hosts: TwoHosts, _ body: (VidiconProcess) async throws -> Void
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let users = "\(folder)/users"
        try "operator token=\(Self.token)\noperator ben:secret\n".write(
          toFile: users, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: users)
        let options = ["--control", "operators", "--user-file", users, "--record", "\(folder)/{name}.mp4"]
        try await hosts.serving(Self.bars + options, body)
      }
    }

    @Test func `a recorded change is not accepted again, and an address uploads one image at a time`() async throws {
      try await TwoHosts.with { hosts in
        try await Self.serving(hosts) { vidicon in
          for protocolVersion in ["1.1", "2"] {
            let proof = try await hosts.run(
              "stranger.py", ["prove", "ben:secret"], of: vidicon, on: .owner, as: Proof.self)
            func change(_ version: String, _ host: TwoHosts.Host) async throws -> Change {
              try await hosts.run(
                "stranger.py", ["change", version, proof.value], of: vidicon, on: host, as: Change.self)
            }
            #expect(try await change(protocolVersion, .owner).status == 200)
            for host in [TwoHosts.Host.stranger, .owner] {
              #expect(try await change("1.1", host) == Change(status: 401, stale: true), "\(host)")
              #expect(try await change("2", host).status == 401, "\(host)")
            }
          }
          let uploads = try await hosts.run(
            "stranger.py", ["uploads", Self.token], of: vidicon, on: .stranger, as: [String: String].self)
          #expect(uploads == ["role": "operator", "HTTP/1.1": "429", "HTTP/2": "429"])
        }
      }
    }

    /// Output of `change`.
    private struct Change: Decodable, Equatable {
      var status: Int
      var stale: Bool
    }

    /// Output of `prove`.
    private struct Proof: Decodable {
      var value: String
    }

    @Test func `a neighbor in the owner's IPv6 network uses neither the owner's nonce nor login`() async throws {
      try await TwoHosts.with { hosts in
        let users = ["--user", "anna:sesame", "--operator", "ben:secret"]
        try await hosts.serving(Self.bars + ["--control", "operators"] + users) { vidicon in
          func run<Result: Decodable>(
            _ arguments: String..., on host: TwoHosts.Host, as type: Result.Type
          ) async throws -> Result {
            try await hosts.run("stranger.py", arguments, of: vidicon, on: host, overIPv6: true, as: type)
          }
          let proof = try await run("prove", "ben:secret", on: .owner, as: Proof.self).value
          #expect(
            try await run("change", "1.1", proof, on: .neighbor, as: Change.self) == Change(status: 401, stale: true))
          // The same proof is right for the owner.
          #expect(try await run("change", "1.1", proof, on: .owner, as: Change.self).status == 200)
          let right = ["HTTP": 200, "RTSP": 200]
          #expect(try await run("login", on: .owner, as: [String: Int].self) == right)
          let seen = try await run("guess", on: .neighbor, as: [String: [String: Int]].self)
          let (http, rtsp) = (seen["HTTP"] ?? [:], seen["RTSP"] ?? [:])
          #expect(Set(http.keys) == ["401", "429", "right 429"] && Set(rtsp.keys) == ["401", "503"], "\(seen)")
          #expect(try await run("login", on: .owner, as: [String: Int].self) == right)
        }
      }
    }

    @Test func `guesses of passwords over HTTP/2 and RTSP slow the stranger down, and not the owner`() async throws {
      try await TwoHosts.with { hosts in
        try await hosts.serving(Self.bars + ["--control", "operators", "--user", "anna:sesame"]) { vidicon in
          let seen = try await hosts.run(
            "stranger.py", ["guess"], of: vidicon, on: .stranger, as: [String: [String: Int]].self)
          let (http, rtsp) = (seen["HTTP"] ?? [:], seen["RTSP"] ?? [:])
          #expect(Set(http.keys).subtracting(["401", "429"]) == ["right 429"], "\(seen)")
          #expect(Set(rtsp.keys) == ["401", "503"], "\(seen)")
          // Five guesses are free, for both protocols together; later ones wait 1 s, then 2 s.
          #expect((5...8).contains((http["401"] ?? 0) + (rtsp["401"] ?? 0)), "\(seen)")
          let login = try await hosts.run("stranger.py", ["login"], of: vidicon, on: .owner, as: [String: Int].self)
          #expect(login == ["HTTP": 200, "RTSP": 200])
          let status = try await vidicon.statusEvent { _ in true }
          #expect(status.refusals?["throttled"] ?? 0 >= 50, "\(status.refusals ?? [:])")
        }
      }
    }

    /// Without the check of `Host`, which `--host` switches off for the name, the same page reads and changes everything.
    @Test(.tags(.demanding), arguments: [([], 421), (["--host", "rebound.example"], 200)])
    func `a page in Chromium whose name is rebound to the server gets nothing`(options: [String], status: Int)
      async throws
    {
      try await TwoHosts.with { hosts in
        try await hosts.serving(Self.bars + ["--control", "all", "--recordings-for", "viewers"] + options) { vidicon in
          let seen = try await hosts.run("rebind.py", [], of: vidicon, on: .owner, as: [String: [Int]?].self)
          for request in ["snapshot", "playlist", "page", "streams", "recordings", "metrics", "change"] {
            #expect((seen[request] ?? nil)?.first == status, "\(request): \(seen)")
          }
          // An image that is no image has no size.
          #expect((seen["image"] ?? nil) == (status == 200 ? [200, 320] : [0, 0]))
          let state = try await hosts.run("stranger.py", ["state"], of: vidicon, on: .owner, as: State.self)
          #expect(state == State(mute: false, mirror: status == 200, video: "bars"))
        }
      }
    }
  }
}
