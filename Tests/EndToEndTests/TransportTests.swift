import Foundation
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Transports: TCP, UDP, and the fallback to TCP")
  struct Transports {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360"]

    @Test(.tags(.pacing)) func `ffmpeg and GStreamer play over UDP, two at once`() async throws {
      try await VidiconProcess.serving(Self.plasma + ["--rtsp-udp"]) { vidicon in
        async let frames = GStreamer.play(vidicon.url(), protocols: "udp")
        let play = try await FFmpeg.play(vidicon.url(), seconds: 10, options: ["-rtsp_transport", "udp"])
        try expectGood(play, frameRate: 30, seconds: 10)
        try expectMoving(await frames, count: GStreamer.frameCount)
      }
    }

    /// Output of first_packets.py.
    private struct FirstPackets: Decodable {
      struct Track: Decodable {
        var sources: [String]
        var announced: [UInt32]
        var first: [UInt32]
      }

      var status: Int
      var tracks: [Track]
    }

    @Test(arguments: ["127.0.0.1", "127.0.0.2", "::1"])
    func `RTP and RTCP come from the address that was asked, and begin as RTP-Info announces`(address: String)
      async throws
    {
      try await VidiconProcess.serving(Self.plasma + ["--rtsp-udp"]) { vidicon in
        let run = try await Tool.run(
          "python3", [TestMedia.client("first_packets.py"), address, "\(vidicon.rtspPort)"], within: .seconds(60))
        try #require(run.succeeded, "\(run.errors)")
        let seen = try JSONDecoder().decode(FirstPackets.self, from: Data(run.output))
        #expect(seen.status == 200 && seen.tracks.count == 2)
        for track in seen.tracks {
          #expect(track.sources == [address, address])
          #expect(track.announced == track.first)
        }
      }
    }

    private struct DatagramCounts: Decodable {
      var packets: Int
      var missing: Int
      var viewers: Int
    }

    /// The queue of the link holds less than one viewer's keyframe: what is sent faster than the link is lost.
    @Test(.tags(.pacing)) func `twenty viewers over UDP lose no packet on a link with a short queue`() async throws {
      try await TwoHosts.with { hosts in
        let link = "qdisc replace dev stranger root tbf rate 100mbit burst 16kb limit 60kb".split(separator: " ")
        let control = try hosts.start("tc", link.map(String.init))
        #expect(await control.end(within: .seconds(10)) == .status(0))
        let options = ["--source", "plasma", "--audio", "tone", "--rtsp-udp"]
        try await hosts.serving(options) { vidicon in
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 30 }
          let counts = try await hosts.run(
            "udp_viewers.py", ["20", "10"], of: vidicon, on: .stranger, as: DatagramCounts.self)
          #expect(counts.viewers == 20)
          // Ten seconds of 30 access units and 43 audio frames, at least half of them.
          #expect(counts.packets > 20 * 10 * (30 + 43) / 2)
          let queue = try hosts.start("tc", ["-s", "qdisc", "show", "dev", "stranger"])
          #expect(await queue.end(within: .seconds(10)) == .status(0))
          // The output may be read after the end.
          try await eventually { queue.output.text.contains("dropped") }
          #expect(queue.output.text.contains("(dropped 0,"), "\(queue.output.text)")
          let refusals = try await vidicon.statusEvent { _ in true }.refusals ?? [:]
          #expect(refusals["datagram_dropped"] == 0)
          // Packets that the viewers' own receive buffers did not hold.
          #expect(counts.missing * 1000 < counts.packets, "\(counts.missing) of \(counts.packets)")
        }
      }
    }

    /// Media that wait for the link of one viewer delay no viewer in another network.
    @Test(.tags(.pacing)) func `a viewer on a link too slow for the stream costs others no packet`() async throws {
      let slowHost = TwoHosts.Host.stranger
      try await TwoHosts.with { hosts in
        let link = "qdisc replace dev \(slowHost.rawValue) root tbf rate 1mbit burst 16kb limit 60kb"
          .split(separator: " ")
        let control = try hosts.start("tc", link.map(String.init))
        #expect(await control.end(within: .seconds(10)) == .status(0))
        let options = ["--source", "plasma", "--audio", "tone", "--rtsp-udp"]
        try await hosts.serving(options) { vidicon in
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 30 }
          async let slow = hosts.run(
            "udp_viewers.py", ["1", "12"], of: vidicon, on: slowHost, as: DatagramCounts.self)
          // Two, so that one of them shares an event loop with the slow one.
          let counts = try await hosts.run(
            "udp_viewers.py", ["2", "10"], of: vidicon, on: .owner, as: DatagramCounts.self)
          #expect(counts.viewers == 2 && counts.missing == 0, "\(counts)")
          #expect(counts.packets > 2 * 10 * (30 + 43) / 2)
          // The link was in fact too slow.
          #expect(try await slow.missing > 0)
        }
      }
    }

    @Test(.tags(.pacing)) func `a player that requests UDP falls back to TCP at once`() async throws {
      try await VidiconProcess.serving(Self.plasma) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 2, options: [])
        #expect(play.run.exit == .status(0), "\(play.run.errors)")
        #expect(play.frames.count > 50)
        #expect(play.run.duration < .seconds(6))
      }
    }
  }
}
