import Foundation
import Testing

extension EndToEnd {
  @Suite("Pushes over a link that is too slow")
  struct PushLinks {
    /// Media that a viewer of the stream over TCP received in 12 seconds.
    private struct Watched {
      /// Bits per second.
      var bitrate: Double
      var keyframes: Int
      /// Times between the arrivals of two frames, in seconds, sorted.
      var intervals: [Double]

      /// The time that all but one of twenty frames differ from the frame rate's 33 ms by, at most.
      var jitter: Double {
        let jitters = self.intervals.map { abs($0 - 1.0 / 30) }.sorted()
        return jitters[jitters.count * 19 / 20]
      }
    }

    /// Starts a viewer whose packets get the time of their arrival in place of their timestamp.
    private static func startViewer(_ url: String, on hosts: TwoHosts, to path: String) throws -> ChildProcess {
      try hosts.start(
        "ffmpeg",
        FFmpeg.quiet + ["-y", "-use_wallclock_as_timestamps", "1"] + FFmpeg.overTCP
          + ["-i", url, "-map", "0:v:0", "-t", "12", "-c", "copy", "-f", "nut", path])
    }

    private static func watched(_ viewer: ChildProcess, _ path: String) async throws -> Watched {
      #expect(await viewer.end(within: .seconds(30)) == .status(0), "\(viewer.errors.text)")
      #expect(FFmpeg.complaints(in: viewer.errors.text) == [])
      let entries = ["-show_entries", "packet=pts_time,size,flags", "-of", "csv=p=0"]
      let run = try await Tool.run("ffprobe", ["-v", "error"] + entries + [path], within: .seconds(20))
      // The client's parser delivers the first frames together.
      let packets = run.outputText.split(separator: "\n").map { $0.split(separator: ",") }.filter { $0.count > 2 }
      let times = packets.compactMap { Double($0[0]) }
      try #require(times.count > 300, "\(times.count) frames in 12 s")
      let bits = packets.compactMap { Double($0[1]) }.reduce(0, +) * 8
      return Watched(
        bitrate: bits / (times[times.count - 1] - times[0]), keyframes: packets.count { $0[2].hasPrefix("K") },
        intervals: zip(times.dropFirst(16), times.dropFirst(15)).map { $0 - $1 }.sorted())
    }

    /// Sets the rate of the link to the host of the server, which lets no more than a packet pass at once; nil for no limit any more.
    private static func limitLink(to rate: String?, on hosts: TwoHosts) async throws {
      let limit = rate.map { "replace dev stranger root tbf rate \($0) burst 1600 limit 60kb" }
      let link = "qdisc \(limit ?? "del dev stranger root")".split(separator: " ")
      let control = try hosts.start("tc", link.map(String.init))
      #expect(await control.end(within: .seconds(10)) == .status(0), "\(control.errors.text)")
    }

    /// Serves 640x360 with 2.3 Mb/s to an nginx on another host.
    private static func withServer(
      _ body: (_ hosts: TwoHosts, _ vidicon: VidiconProcess, _ target: String, _ folder: String) async throws -> Void
    ) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await TwoHosts.with { hosts in
          let nginx = try NginxRTMP(in: folder, port: 1935)
          let server = try hosts.start("ip", ["netns", "exec", "stranger"] + nginx.command)
          defer { server.kill() }
          let options = ["--source", "plasma", "--audio", "tone", "--size", "640x360", "--bitrate", "2300k"]
          try await hosts.serving(options) { vidicon in
            _ = try await vidicon.status { $0.framesEncoded ?? 0 > 60 }
            try await body(hosts, vidicon, nginx.url("key", host: "10.77.2.2"), folder)
          }
        }
      }
    }

    /// Starts a push over HTTP.
    private static func push(
      to url: String, isAdaptive: Bool, of vidicon: VidiconProcess, on hosts: TwoHosts
    ) async throws {
      let curl = try hosts.start(
        "curl",
        [
          "-sS", "--fail", "-X", "PUT", "-H", "Content-Type: application/json", "-d",
          #"{"pushes":[{"url":"\#(url)","adaptive":\#(isAdaptive)}]}"#, vidicon.page("/api/streams/live/pushes"),
        ])
      #expect(await curl.end(within: .seconds(10)) == .status(0), "\(curl.errors.text)")
    }

    @Test(.tags(.timing)) func `a push that drops waits two seconds at most, in 5 MB, and viewers notice nothing`()
      async throws
    {
      try await Self.withServer { hosts, vidicon, target, folder in
        try await Self.push(to: target, isAdaptive: false, of: vidicon, on: hosts)
        let path = "\(folder)/viewer.nut"
        let before = try await Self.watched(try Self.startViewer(vidicon.url(), on: hosts, to: path), path)
        #expect(try await vidicon.status { _ in true }.pushes?.first?.framesDropped == 0)
        let memory = try vidicon.residentMemory()
        try await Self.limitLink(to: "1mbit", on: hosts)
        // The link is full, and the push drops.
        _ = try await vidicon.status(within: .seconds(60)) { $0.pushes?.first?.framesDropped ?? 0 > 30 }
        let viewer = try Self.startViewer(vidicon.url(), on: hosts, to: path)
        var (queues, memories): ([Double], [Int]) = ([], [])
        for _ in 0..<13 {
          let push = try #require(try await vidicon.status { _ in true }.pushes?.first)
          #expect(push.state == "sending" && !push.ownEncoding)
          queues.append(push.queue)
          memories.append(try vidicon.residentMemory())
        }
        let during = try await Self.watched(viewer, path)
        report("maximum queue, s", queues.max() ?? 9, limit: 2)
        #expect(queues.max() ?? 9 <= 2, "\(queues)")
        #expect(memories.max() ?? .max <= memory + 5 << 20, "\(memories.map { ($0 - memory) >> 10 }) kB")
        #expect(during.jitter <= before.jitter + 0.003, "\(during.jitter), \(before.jitter)")
        #expect(during.intervals.last ?? 9 < 0.2 && during.bitrate > 1_900_000, "\(during.intervals.suffix(5))")
        // One for the viewer, and one each two seconds: the push adds none.
        #expect(during.keyframes <= 8, "\(during.keyframes)")
        let growth = ((memories.max() ?? 0) - memory) >> 10
        print("push: queue \(queues.max() ?? 0) s, \(growth) kB, jitter \(before.jitter) s, \(during.jitter) s")
        #expect(try await vidicon.status { _ in true }.pushes?.first?.reconnects == 0)
      }
    }

    /// State of a push and of its link at a time: a line of Clients/poll_pushes.py.
    private struct Observation: Decodable {
      /// Seconds of the monotonic clock.
      var time: Double
      var push: VidiconEvent.Push?
      /// Bytes that the host of the server has received.
      var linkBytes: Int
    }

    /// Seconds of the monotonic clock.
    private static func monotonicTime() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func observations(
      _ poller: ChildProcess, from start: Double, until end: Double = .infinity
    ) throws -> [Observation] {
      // The last line may be incomplete.
      try poller.output.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .map { try JSONDecoder().decode(Observation.self, from: Data($0.utf8)) }
        .filter { $0.time >= start && $0.time < end }
    }

    @Test(.tags(.timing))
    func `a push that adapts keeps to its link, and has the stream's bitrate again once that is wide`()
      async throws
    {
      let linkBitrate = 1_000_000.0
      try await Self.withServer { hosts, vidicon, target, folder in
        try await Self.push(to: target, isAdaptive: true, of: vidicon, on: hosts)
        _ = try await vidicon.status {
          $0.pushes?.first.map { $0.state == "sending" && $0.bytesSent > 500_000 } == true
        }
        let poller = try hosts.start(
          "python3",
          [TestMedia.client("poll_pushes.py"), "\(vidicon.httpPort)", "\(vidicon.child.processIdentifier)", "stranger"])
        defer { poller.kill() }
        _ = try await vidicon.status { _ in poller.output.text.contains("\n") }

        // The queue begins to grow within the time that this command takes.
        let narrowing = Self.monotonicTime()
        try await Self.limitLink(to: "1mbit", on: hosts)
        let narrow = Self.monotonicTime()
        _ = try await vidicon.status(within: .seconds(60)) { _ in Self.monotonicTime() >= narrow + 8 }
        let (memory, path) = (try vidicon.residentMemory(), "\(folder)/viewer.nut")
        let watched = try await Self.watched(try Self.startViewer(vidicon.url(), on: hosts, to: path), path)
        #expect(watched.bitrate > 1_900_000 && watched.intervals.last ?? 9 < 0.5, "\(watched)")
        #expect(watched.keyframes <= 8, "\(watched.keyframes)")
        #expect(try vidicon.residentMemory() < memory + 24 << 20)
        _ = try await vidicon.status(within: .seconds(60)) { _ in Self.monotonicTime() >= narrow + 43 }
        let widening = Self.monotonicTime()
        try await Self.limitLink(to: nil, on: hosts)
        let wide = Self.monotonicTime()
        _ = try await vidicon.status(within: .seconds(60)) { stream in
          stream.pushes?.first.map { Double($0.videoBitrate) >= 0.95 * 2_300_000 } == true
        }

        let narrowed = try Self.observations(poller, from: narrowing, until: widening)
        let pushes = narrowed.compactMap(\.push)
        #expect(pushes.count == narrowed.count && pushes.allSatisfy { $0.state == "sending" && $0.reconnects == 0 })
        report("maximum queue, s", pushes.map(\.queue).max() ?? 9, limit: 2.5)
        #expect(pushes.map(\.queue).max() ?? 9 <= 2.5, "\(pushes.map(\.queue))")
        let below = try #require(
          narrowed.first { $0.push.map { $0.ownEncoding && Double($0.videoBitrate) < 0.9 * linkBitrate } == true })
        // The program has 4 s; a busy machine has a second more for the start of the encoder.
        #expect(below.time - narrow <= 5, "\(below.time - narrow) s")
        let constant = narrowed.filter { $0.time >= narrow + 8 }
        let (first, last) = (try #require(constant.first), try #require(constant.last))
        let share = Double(last.linkBytes - first.linkBytes) * 8 / (last.time - first.time) / linkBitrate
        #expect(share >= 0.8 && share <= 1.05, "\(share)")
        let bitrates = constant.compactMap { $0.push?.videoBitrate }
        let changes = zip(bitrates.dropFirst(), bitrates).count { $0 != $1 }
        #expect(constant.allSatisfy { $0.push?.ownEncoding == true } && changes <= 3, "\(changes) changes")
        let back = try #require(
          try Self.observations(poller, from: widening).first {
            $0.push.map { Double($0.videoBitrate) >= 0.95 * 2_300_000 } == true
          })
        #expect(back.time - wide <= 30, "\(back.time - wide) s")
        #expect(back.push?.reconnects == 0)
        print("push: \(below.time - narrow) s, share \(share), \(changes) changes, back in \(back.time - wide) s")
      }
    }

    /// Figures of push_link.py. The queue is that of the link, from eight seconds after it became slow on.
    private struct OverWHIP: Decodable {
      var secondsToOwnEncoding: Double?
      var isOwnEncoding: Bool
      var share: Double
      var frameRate: Double
      var queue: Double
      var secondsToBitrate: Double?
      var reconnects: Int
      var states: [String]
    }

    @Test(.tags(.timing))
    func `a push over WHIP gets an encoding for a link of 1 Mb per second, and the stream's once that is wide`()
      async throws
    {
      let seen: OverWHIP = try await Browsers.drive(
        "push_link.py", [VidiconProcess.path(), "--seconds", "40"], within: .seconds(180))
      report("seconds until a push over WHIP keeps to a link of 1 Mb/s", seen.secondsToOwnEncoding ?? 99, limit: 4)
      #expect(seen.secondsToOwnEncoding ?? 99 <= 4 && seen.isOwnEncoding)
      report("share of the link that a push over WHIP uses", seen.share, limit: -0.75)
      report("queue of a push over WHIP, s", seen.queue, limit: 0.3)
      #expect(seen.share >= 0.75 && seen.share <= 1.05 && seen.queue <= 0.3 && seen.frameRate >= 28)
      report("seconds until a push over WHIP has the stream's bitrate again", seen.secondsToBitrate ?? 99, limit: 30)
      #expect(seen.secondsToBitrate ?? 99 <= 30)
      #expect(seen.reconnects == 0 && seen.states == ["sending"])
    }
  }
}
