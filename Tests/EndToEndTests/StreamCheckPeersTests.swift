import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// `vidicon check` against servers of other projects, healthy ones and such with a planted fault, and on this machine.
  @Suite("The check of a stream, and its peers")
  struct StreamCheckPeers {
    /// Maximum number of checks of one peer. A user runs one, which is all there is on a quiet machine; one that is busy may have faults of
    /// its own in some. No planted fault is one of chance: each begins with the session, or repeats within the time of a check.
    private static let checkCount = judgesTiming ? 1 : 4

    @Test func `a stream of this program is all right over each protocol`() async throws {
      let options = Smoke.plasma + ["--rtmp-port", "0", "--webrtc-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        let pages =
          ["live.m3u8", "playlist.m3u8", "mjpeg", "snapshot.jpg", "whep"].map { vidicon.page("/live/\($0)") } + [
            vidicon.page("/live")
          ]
        for url in try [vidicon.url(), vidicon.rtmp()] + pages {
          let report = try await StreamReport.check([url])
          #expect(report.lasting.isEmpty && report.findings.count > 1, "\(url)\n\(report)")
        }
        let none = try await StreamReport.check([vidicon.url("none")])
        #expect(none.names("RTSP") && none.problems.allSatisfy { $0.subject == "RTSP" }, "\(none)")
      }
    }

    @Test(.tags(.timing)) func `both checks end in their time, also where a server is silent`() async throws {
      let machine = try await CheckedPeer.serving("machine") { try await $0.check().seconds }
      report("check of this machine, s", machine, limit: 6)
      #expect(onQuietMachine(machine <= 6))
      for (name, peer) in [
        ("a stream", "rtsp audio"), ("a stream of HLS", "http"), ("a silent server", "rtsp fault=silent"),
      ] {
        let seconds = try await CheckedPeer.serving(peer) { try await $0.check().seconds }
        report("check of \(name), s", seconds, limit: 12)
        #expect(onQuietMachine(seconds <= 12), "\(name)")
      }
    }

    /// Eight servers, five runs each.
    private static let healthy = [
      "mediamtx rtsp", "mediamtx rtsp audio login=digest+basic", "mediamtx rtsp audio tls query=?insecure=1",
      "mediamtx hls fmp4 variants", "mediamtx whep",
      "gstreamer h264", "gstreamer h264 audio", "gstreamer h264 digest", "gstreamer h264 few",
      "gstreamer h264 digest tls",
      "nginx", "nginx fmp4 audio", "nginx tls query=?insecure=1", "nginx login=basic tls query=?insecure=1",
      "nginx images",
      "nginx-rtmp", "nginx-rtmp audio", "nginx-rtmp high", "nginx-rtmp hls", "nginx-rtmp hls audio",
      "ffmpeg rtmp", "ffmpeg rtmp audio", "ffmpeg images", "ffmpeg hls", "ffmpeg hls fmp4 audio variants",
      "vidicon rtsp", "vidicon rtmp", "vidicon hls", "vidicon images", "vidicon whep",
      "vlc rtsp", "vlc rtsp audio", "vlc images", "vlc hls", "vlc hls audio",
      "files", "files audio", "files fmp4", "files whole", "files event",
    ]

    @Test(arguments: Self.healthy)
    func `a healthy server is all right`(peer: String) async throws {
      let report = try await CheckedPeer.serving(peer) { try await $0.check() }
      #expect(report.lasting.isEmpty && report.findings.count > 1, "\(report)")
      #expect(onQuietMachine(report.verdict == "ok"), "\(report)")
    }

    /// Media over HTTP without a playlist.
    @Test(arguments: ["ffmpeg ts audio", "vlc ts audio", "files media=ts", "files media=mp4"])
    func `media without a playlist plays`(peer: String) async throws {
      let report = try await CheckedPeer.serving(peer) { try await $0.check() }
      #expect(report.lasting.isEmpty, "\(report)")
      #expect(report.findings.contains { $0.part == "clients" && $0.meaning == "plays" }, "\(report)")
      #expect(report.findings.contains { $0.subject == "media" && $0.meaning.contains("h264 and aac") }, "\(report)")
    }

    @Test func `the page of a server without WebRTC plays HLS`() async throws {
      let options = Smoke.plasma + ["--webrtc", "off"]
      try await VidiconProcess.serving(options) { vidicon in
        let report = try await StreamReport.check([vidicon.page("/live")])
        #expect(report.lasting.isEmpty && report.findings.contains { $0.subject == "WebRTC" }, "\(report)")
      }
    }

    @Test func `video that browsers do not decode is named, and not judged for players`() async throws {
      let report = try await CheckedPeer.serving("gstreamer h265") { try await $0.check() }
      #expect(report.problems.map(\.subject) == ["video track"], "\(report)")
      #expect(report.findings.contains { $0.part == "clients" && $0.meaning == "not judged: its video is H265" })
    }

    @Test(arguments: PlantedFault.all)
    func `a planted fault is named, and its next step mends it`(fault: PlantedFault) async throws {
      try await CheckedPeer.serving(fault.peer) { peer in
        let report = try await Self.firstReport(of: peer) { fault.isNamed(by: $0) }
        let named = try #require(fault.finding(in: report), "\(report)")
        let others = report.lasting.filter { $0.subject != named.subject }
        #expect(others.isEmpty, "\(report)")
        // Commands that mend, and those that show more.
        if let command = named.command, ["mkdir", "openssl", "df"].contains(where: { command.hasPrefix($0) }) {
          let run = try await Tool.run("sh", ["-c", command], within: .seconds(120))
          #expect(run.succeeded, "\(command): \(run.errors)")
        }
        guard fault.mended.isEmpty else { return }
        let mended = try await Self.firstReport(of: peer) { !fault.isNamed(by: $0) }
        #expect(!fault.isNamed(by: mended), "\(mended)")
      }
      guard !fault.mended.isEmpty else { return }
      try await CheckedPeer.serving(fault.mended) { peer in
        let report = try await Self.firstReport(of: peer) { !fault.isNamed(by: $0) && $0.lasting.isEmpty }
        #expect(!fault.isNamed(by: report) && report.lasting.isEmpty, "\(report)")
        if peer.arguments[0].contains("://") { #expect(onQuietMachine(report.verdict == "ok"), "\(report)") }
      }
    }

    @Test func `the step against dropped datagrams makes a player play`() async throws {
      try await CheckedPeer.serving("rtsp fault=drops-udp") { peer in
        let report = try await peer.check()
        let finding = try #require(report.problems.first { $0.subject == "RTP over UDP" }, "\(report)")
        let step = ["-rtsp_transport", "tcp"]
        #expect(finding.step?.contains(step.joined(separator: " ")) == true, "\(report)")
        let run = try await Tool.run(
          "ffmpeg", FFmpeg.quiet + step + ["-i", peer.arguments[0], "-frames:v", "30"] + FFmpeg.decoding,
          within: .seconds(120))
        #expect(run.succeeded, "\(run.errors)")
      }
    }

    /// The first report that is as expected, else the last one.
    private static func firstReport(
      of peer: CheckedPeer, where isExpected: (StreamReport) -> Bool
    ) async throws -> StreamReport {
      for _ in 1..<Self.checkCount {
        let report = try await peer.check()
        if isExpected(report) { return report }
      }
      return try await peer.check()
    }
  }
}
