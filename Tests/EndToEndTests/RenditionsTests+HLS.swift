import Foundation
import HLSRules
import Testing

// Players of HLS, which choose among renditions, and what they are offered.
extension EndToEnd.Renditions {
  /// Output of hls_switch.py for one phase.
  private struct Phase: Decodable {
    var heights: [Int]
    var still: Double
    var gaps: [Int]
    var playedSeconds: Double
    var elapsedSeconds: Double
    var estimate: Int
    var errors: [String]
  }

  @Test(.tags(.timing)) func `hls.js goes to the smaller rendition in a slow network, and back, without a stall`()
    async throws
  {
    let options = ["--source", "noise", "--audio", "tone", "--size", "1280x720", "--bitrate", "2300k", "--cors", "*"]
    try await VidiconProcess.serving(options) { vidicon in
      // A player that is to be seconds behind needs a stream that is older.
      let first = try await Curl.get(vidicon.page("/live/main/live.m3u8")).text
      let last = try #require(Self.segments(first).keys.max())
      for number in last + 1...last + 6 {
        #expect(try await Curl.get(vidicon.page("/live/main/live.m3u8?_HLS_msn=\(number)")).status == 200)
      }
      let arguments = [vidicon.page("/live/index.m3u8"), "--library", try TestMedia.file("hls.mjs")]
      let run = try await Tool.run(
        "python3",
        [TestMedia.client("hls_switch.py")] + arguments + ["--limit", "1200000", "--buffer", "6"],
        within: .seconds(120))
      try #require(run.succeeded, "\(run.errors)")
      let phases = try JSONDecoder().decode([String: Phase].self, from: Data(run.output))
      let (before, limited) = (try #require(phases["before"]), try #require(phases["limited"]))
      let after = try #require(phases["after"])
      #expect(before.heights == [720])
      #expect(limited.heights == [720, 360])
      #expect(after.heights == [360, 720])
      for phase in [before, limited, after] {
        #expect(phase.playedSeconds > 10 && phase.gaps.allSatisfy { $0 < 400 }, "\(phase.gaps)")
        #expect(abs(phase.playedSeconds - phase.elapsedSeconds) < 1)
        // Chromium may hold a request that is under way when its limit changes.
        #expect(phase.errors.filter { $0 != "hls.js: levelLoadTimeOut" } == [])
      }
    }
  }

  /// Types and times of the frames that a decoder finds in a segment, in seconds; not what its container says of them.
  private static func decoded(_ path: String) async throws -> [(time: Double, isIntra: Bool)] {
    let run = try await Tool.run(
      "ffprobe",
      ["-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pts_time,pict_type", "-of", "csv=p=0", path],
      within: .seconds(20))
    return run.outputText.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: ",")
      guard fields.count >= 2, let time = Double(fields[0]) else { return nil }
      return (time, fields[1] == "I")
    }
  }

  /// A file of one segment behind its initialization section.
  private static func segmentFile(
    _ segment: String, of playlist: String, at path: String, _ vidicon: VidiconProcess, in folder: String
  ) async throws -> (path: String, byteCount: Int, head: [UInt8]) {
    let map = try #require(playlist.firstMatch(of: /EXT-X-MAP:URI="([^"]*)"/)).output.1
    let head = try await Curl.get(vidicon.page("\(path)/\(map)")).body
    let media = try await Curl.get(vidicon.page("\(path)/\(segment)")).body
    let file = "\(folder)/\(segment)"
    try Data(head + media).write(to: URL(filePath: file))
    return (file, media.count, head)
  }

  @Test(.tags(.pacing))
  func `all keyframes of all segments are at the same times in every rendition, by their bytes`()
    async throws
  {
    let slow = [
      "--rendition", "name=low,size=640x360,bitrate=450k", "--rendition",
      "name=slow,size=320x180,bitrate=200k,fps=10",
    ]
    let options = ["--source", "plasma", "--audio", "tone", "--size", "1280x720", "--fps", "30"] + slow
    try await VidiconProcess.serving(options) { vidicon in
      let names = ["main", "low", "slow"]
      // Waits for the first playlist, in which all run.
      let first = try await Curl.get(vidicon.page("/live/main/live.m3u8")).text
      let start = try #require(Self.segments(first).keys.max()) + 1
      let count = 10
      try await TestMedia.withTemporaryFolder { folder in
        for name in names {
          try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        var files: [[String]] = []
        for number in start..<start + count {
          // A viewer joins in each segment.
          let path = number.isMultiple(of: 2) ? "/live" : "/live/slow"
          let viewer = try RTSPDialogue(port: vidicon.rtspPort, path: path)
          #expect(try viewer.play().status == 200)
          var paths: [String] = []
          for name in names {
            let text = try await Curl.get(vidicon.page("/live/\(name)/live.m3u8?_HLS_msn=\(number)")).text
            for other in names where other != name {
              #expect(text.contains("#EXT-X-RENDITION-REPORT:URI=\"../\(other)/live.m3u8\""))
            }
            let segment = try #require(Self.segments(text)[number], "\(name) has no segment \(number)")
            let file = try await Self.segmentFile(
              segment, of: text, at: "/live/\(name)", vidicon, in: "\(folder)/\(name)")
            paths.append(file.path)
          }
          files.append(paths)
        }
        for (number, paths) in files.enumerated() {
          var times: [[Double]] = []
          for path in paths {
            let frames = try await Self.decoded(path)
            #expect(frames.first?.isIntra == true, "\(path) starts with no keyframe")
            // The keyframes of the container are those of the decoder, none more and none less.
            #expect(try await Self.times(of: path).keyframes == frames.filter(\.isIntra).map(\.time))
            times.append(frames.filter(\.isIntra).map(\.time))
          }
          for (name, other) in zip(names, times).dropFirst() {
            let isEqual = other.count == times[0].count && zip(other, times[0]).allSatisfy { abs($0 - $1) < 0.0001 }
            #expect(isEqual, "segment \(start + number): main \(times[0]), \(name) \(other)")
          }
        }
      }
    }
  }

  @Test(.tags(.pacing))
  func `the multivariant playlist says what segments of each variant hold, and reports are right`()
    async throws
  {
    let slow = [
      "--rendition", "name=low,size=640x360,bitrate=450k", "--rendition",
      "name=slow,size=320x180,bitrate=200k,fps=12.5",
    ]
    let options = ["--source", "noise", "--audio", "tone", "--size", "1280x720", "--fps", "25"] + slow
    try await VidiconProcess.serving(options) { vidicon in
      let names = ["main", "low", "slow"]
      var checker = HLSVariantChecker()
      func playlist(_ name: String, _ query: String = "") async throws -> String {
        let answer = try await Curl.get(vidicon.page("/live/\(name)/live.m3u8\(query)"))
        try #require(answer.status == 200, "\(answer.text)")
        return answer.text
      }
      func position(_ text: String) -> HLSVariantChecker.Position { .init(lastOf: MediaPlaylistText(text)) }
      let start = try #require(Self.segments(try await playlist("main")).keys.max()) + 1
      try await TestMedia.withTemporaryFolder { folder in
        var media: [String: HLSVariantChecker.Media] = [:]
        var intervals: [String: [Double]] = [:]
        for number in start..<start + 8 {
          for name in names {
            // A report is of a moment between two looks at the other playlist.
            var before: [String: HLSVariantChecker.Position] = [:]
            for other in names where other != name { before[other] = position(try await playlist(other)) }
            let text = try await playlist(name, "?_HLS_msn=\(number)")
            var ranges: [String: ClosedRange<HLSVariantChecker.Position>] = [:]
            for (other, before) in before {
              ranges["../\(other)/live.m3u8"] = before...position(try await playlist(other))
            }
            checker.check(reportsOf: text, on: ranges)

            let listed = MediaPlaylistText(text)
            let index = try #require(listed.whole.indices.first { listed.number($0) == number })
            let uri = try #require(listed.whole[index].uri)
            let file = try await Self.segmentFile(uri, of: text, at: "/live/\(name)", vidicon, in: folder)
            let segment = HLSVariantChecker.Segment(bytes: file.byteCount, seconds: listed.whole[index].duration)
            intervals[name, default: []] += Self.intervals(try await Self.times(of: file.path).all)
            if media[name] == nil {
              // The record of ISO/IEC 14496-15 §5.3.3.1, and what a decoder makes of it.
              let box = try #require(file.head.firstRange(of: Array("avcC".utf8)))
              let profile = file.head[(box.upperBound + 1)..<(box.upperBound + 4)]
              #expect(file.head.firstRange(of: Array("mp4a".utf8)) != nil)
              let found = try await FFprobe.look(at: file.path, options: []).video
              media[name] = HLSVariantChecker.Media(
                segments: [], targetDuration: Double(try #require(listed.targetDuration)),
                codecs: ["avc1." + profile.map { String(format: "%02x", $0) }.joined(), "mp4a.40.2"],
                width: found?.width ?? 0, height: found?.height ?? 0, frameInterval: 0)
            }
            media[name]?.segments.append(segment)
          }
        }
        for (name, times) in intervals {
          // An interval is longer where the machine was too slow for a frame; most are those of the rate.
          media[name]?.frameInterval = times.sorted()[times.count / 2]
        }
        let index = try await Curl.get(vidicon.page("/live/index.m3u8")).text
        checker.check(index, media: Dictionary(uniqueKeysWithValues: media.map { ("\($0)/live.m3u8", $1) }))
      }
      #expect(checker.violations == [])
    }
  }

  /// Names of the complete segments of a low-latency playlist, by number.
  private static func segments(_ playlist: String) -> [Int: String] {
    var segments: [Int: String] = [:]
    for line in playlist.split(separator: "\n") where !line.hasPrefix("#") {
      guard let name = line.split(separator: "-").last?.split(separator: ".").first, let number = Int(name) else {
        continue
      }
      segments[number] = String(line)
    }
    return segments
  }

  /// Output of hls_start.py.
  private struct Start: Decodable {
    var before: [String]
    var after: [String]
    var segments: Int
    var throughput: Double
  }

  @Test func `a player that starts again is offered first what its network carries`() async throws {
    try await TwoHosts.with { hosts in
      let link = ["rate", "1200kbit", "burst", "16kb", "latency", "300ms"]
      let limit = try hosts.start("tc", ["qdisc", "add", "dev", "stranger", "root", "tbf"] + link)
      #expect(await limit.end(within: .seconds(5)) == .status(0))
      let options = ["--source", "noise", "--audio", "tone", "--size", "1280x720", "--fps", "15"]
      try await hosts.serving(options) { vidicon in
        _ = try await vidicon.status { ($0.framesEncoded ?? 0) > 30 }
        let usual = ["main/live.m3u8", "low/live.m3u8"]
        for (host, expected) in [(TwoHosts.Host.stranger, ["low/live.m3u8", "main/live.m3u8"]), (.owner, usual)] {
          let start = try await hosts.run("hls_start.py", ["live", "8"], of: vidicon, on: host, as: Start.self)
          #expect(start.before == usual && start.segments >= 2, "\(host) \(start)")
          #expect(start.after == expected, "\(host) \(start)")
        }
      }
    }
  }
}
