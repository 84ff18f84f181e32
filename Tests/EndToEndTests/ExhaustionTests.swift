import Foundation
import Testing

extension EndToEnd {
  /// A stranger and the owner on networks of their own; the rows of docs/security.md.
  @Suite("What a stranger can use up")
  struct Exhaustion {
    private static let bars = ["--source", "bars", "--audio", "none", "--size", "320x180", "--fps", "30", "--rtsp-udp"]

    @Test func `connections of one address do not lock others out, on any protocol`() async throws {
      try await TwoHosts.with { hosts in
        // Room for 272 connections.
        try await hosts.serving(Self.bars, openFiles: 400) { vidicon in
          let watching = Task {
            try await hosts.run("ordinary_viewers.py", ["12"], of: vidicon, on: .owner, as: OrdinaryViewers.self)
          }
          _ = try await vidicon.status { $0.viewers ?? 0 >= 16 }
          let crowd = try hosts.start("stranger.py", ["crowd", "900"], of: vidicon, on: .stranger)
          defer { crowd.kill() }
          try await crowd.complains("crowded", within: .seconds(60))
          let seen = try await hosts.run(
            "stranger.py", ["get", "20"], of: vidicon, on: .owner, as: [String: [String: Int]].self)
          #expect(seen == ["HTTP/1.1": ["200": 20], "HTTP/2": ["200": 20], "RTSP": ["200": 20]])
          let status = try await vidicon.statusEvent { _ in true }
          // Every connection of the crowd beyond the limit has displaced another one of the crowd.
          #expect(try #require(status.refusals?["over_limit"]) >= 900 - 272)
          #expect(status.acceptFailures == 0)
          let watched = try await watching.value
          #expect(watched.packetsLost == 0)
          #expect(watched.closed == 0)
          #expect(watched.frames.count == 16 && watched.frames.allSatisfy { $0 > 30 }, "\(watched.frames)")
          #expect(watched.hls.count == 4)
          #expect(watched.hls.allSatisfy { $0.missed == 0 && $0.failures == 0 && $0.segments > 0 })
        }
      }
    }

    @Test func `streams of HTTP/2 count like connections, and do not lock others out`() async throws {
      try await TwoHosts.with { hosts in
        // Room for 272 connections and streams.
        try await hosts.serving(Self.bars, openFiles: 400) { vidicon in
          let few = try hosts.start("stranger.py", ["streams", "4"], of: vidicon, on: .stranger)
          defer { few.kill() }
          try await few.complains("streaming 64\n", within: .seconds(30))
          let many = try hosts.start("stranger.py", ["streams", "40"], of: vidicon, on: .stranger)
          defer { many.kill() }
          try await many.complains("streaming", within: .seconds(60))
          let seen = try await hosts.run(
            "stranger.py", ["get", "20"], of: vidicon, on: .owner, as: [String: [String: Int]].self)
          #expect(seen == ["HTTP/1.1": ["200": 20], "HTTP/2": ["200": 20], "RTSP": ["200": 20]])
          let counted = try await hosts.run(
            "stranger.py", ["connections", "x"], of: vidicon, on: .owner, as: [String: Int].self)
          #expect(try #require(counted["connections"]) <= 272)
        }
      }
    }

    @Test func `without file descriptors accepting pauses and says so, and goes on when there are some`() async throws {
      try await TwoHosts.with { hosts in
        try await hosts.serving(Self.bars, openFiles: 400) { vidicon in
          let watching = Task {
            try await hosts.run("ordinary_viewers.py", ["12"], of: vidicon, on: .owner, as: OrdinaryViewers.self)
          }
          _ = try await vidicon.status { $0.viewers ?? 0 >= 16 }
          let process = vidicon.child.processIdentifier
          let count = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
          // The soft limit of the running program; the table of connections has room for more.
          func limit(to count: Int) async throws {
            let run = try await Tool.run("prlimit", ["--pid", "\(process)", "--nofile=\(count):"], within: .seconds(5))
            try #require(run.succeeded, "\(run.errors)")
          }
          try await limit(to: count + 8)
          let crowd = try hosts.start("stranger.py", ["crowd", "60"], of: vidicon, on: .stranger)
          defer { crowd.kill() }
          _ = try await vidicon.statusEvent { $0.acceptFailures ?? 0 > 0 }
          try await vidicon.child.complains("no file descriptor is left for new connections, which wait")
          try await limit(to: 400)
          let seen = try await hosts.run(
            "stranger.py", ["get", "5"], of: vidicon, on: .owner, as: [String: [String: Int]].self)
          #expect(seen == ["HTTP/1.1": ["200": 5], "HTTP/2": ["200": 5], "RTSP": ["200": 5]])
          let watched = try await watching.value
          #expect(watched.packetsLost == 0)
          #expect(watched.closed == 0)
          #expect(watched.frames.count == 16 && watched.frames.allSatisfy { $0 > 30 }, "\(watched.frames)")
        }
      }
    }

    @Test func `slow and idle requests of every protocol end in time`() async throws {
      try await TwoHosts.with { hosts in
        let key = "0123456789abcdef0123"
        let streams = ["--rtmp-port", "0", "--stream", "name=live", "--stream", "name=in,source=rtmp:?key=\(key)"]
        try await hosts.serving(Self.bars + ["--user", "anna:sesame"] + streams) { vidicon in
          let seconds = try await hosts.run(
            "stranger.py", ["slow", "\(try #require(vidicon.started.rtmpPort))", key], of: vidicon, on: .stranger,
            as: [String: Double?].self)
          for (attack, limit) in [
            ("RTSP byte by byte", 10.0), ("RTSP silent", 10), ("RTSP OPTIONS", 10), ("RTSP DESCRIBE", 10),
            ("HTTP byte by byte", 15), ("TLS byte by byte", 15), ("HTTP silent", 15), ("TLS silent", 15),
            ("HTTP/2 byte by byte", 15), ("RTMP silent", 10), ("RTMP byte by byte", 10), ("RTMP noise", 1),
          ] {
            let lasted = try #require(seconds[attack] ?? nil, "\(attack) is open after 40 s: \(seconds)")
            #expect(lasted < limit + 4, "\(attack)")
          }
          // A still screen may have a frame in five minutes.
          let publisher = try #require(seconds["RTMP publisher byte by byte"])
          #expect(publisher == nil, "the publisher was refused, or closed")
        }
      }
    }

    @Test func `a reader of --json that stalls neither blocks the program nor its end`() async throws {
      struct Outcome: Decodable {
        var health: [Int]
        var exit: Int
        var secondsToExit: Double
      }
      let run = try await Tool.run(
        "python3", [TestMedia.client("stalled_output.py"), try VidiconProcess.path()], within: .seconds(60))
      try #require(run.succeeded, "\(run.errors.suffix(2_000))")
      let outcome = try JSONDecoder().decode(Outcome.self, from: Data(run.output))
      #expect(outcome.health == [200, 200, 200])
      #expect(outcome.exit == 0)
      #expect(outcome.secondsToExit < 3)
    }

    @Test func `a recording with a date in the year 2300 is listed and served`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(Self.bars + ["--record", "\(folder)/{name}.mp4"]) { vidicon in
          let path = "\(folder)/live.mp4"
          _ = try await vidicon.statusEvent { _ in (try? Data(contentsOf: URL(fileURLWithPath: path)).isEmpty) == false
          }
          // The date of a recording in progress changes.
          let recording = vidicon.page("/api/streams/live/recording")
          let stop = ["--header", "Content-Type: application/json", "--data", #"{"action": "stop"}"#]
          #expect(try await Curl.get(recording, stop).status == 200)
          try await waitUntil { try await Curl.get(recording).text.contains(#""state":"idle""#) }
          let touched = try await Tool.run("touch", ["-d", "2300-01-01", path], within: .seconds(5))
          try #require(touched.succeeded)
          let list = try await Curl.get(vidicon.page("/api/recordings"))
          #expect(list.status == 200)
          #expect(list.text.contains("live.mp4"))
          let file = vidicon.page("/recordings/live/live.mp4")
          let film = try await Curl.get(file, ["--output", "\(folder)/film"])
          #expect(film.status == 200)
          #expect(try Data(contentsOf: URL(filePath: "\(folder)/film")) == Data(contentsOf: URL(filePath: path)))
          let date = try #require(film["last-modified"])
          for (options, status) in [
            (["--range", "1-2"], 206), (["--range", "1-2", "--header", "If-Range: \(date)"], 200), (["--head"], 200),
            (["--header", "If-Modified-Since: \(date)"], 304), (["--header", "If-None-Match: *"], 304),
          ] as [([String], Int)] {
            #expect(try await Curl.get(file, options).status == status, "\(options)")
          }
          #expect(try await Curl.get(vidicon.page("/health")).status == 200)
        }
      }
    }
  }
}
