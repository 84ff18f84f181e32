import Foundation
import Testing

extension EndToEnd.WHIPPushes {
  /// Output of whip_janus.py.
  private struct JanusSeen: Decodable {
    var requests: [String]
    /// Of video and audio.
    var codecs: [String]
  }

  /// Pushes `bars` into a room of Janus until it has 300 packets of each track, then ends the push and Janus.
  ///
  /// - Parameter condition: The status of the push that is waited for before its end.
  private static func push(
    to janus: Janus, until condition: @escaping @Sendable (VidiconEvent.Push) -> Bool
  ) async throws -> JanusSeen {
    let server = try await janus.start()
    defer { server.kill() }
    let endpoint = try ChildProcess(
      Tool("python3").path, [TestMedia.client("whip_janus.py"), janus.folder, Self.token],
      environment: ["PYTHONPATH": try TestMedia.file("aiortc")])
    defer { endpoint.kill() }
    try await endpoint.says("\n", within: .seconds(300))
    let port = try #require(endpoint.output.text.split(separator: "\n").first)
    let options = [
      "--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30", "--bitrate", "800k",
      "--push", "whip+http://127.0.0.1:\(port)/whip/endpoint/live",
    ]
    try await VidiconProcess.serving(options, environment: ["VIDICON_PUSH_TOKEN": Self.token]) { vidicon in
      try await endpoint.says("enough", within: .seconds(300))
      _ = try await vidicon.status(within: .seconds(300)) { $0.pushes?.first.map(condition) == true }
    }
    let exit = await endpoint.end(within: .seconds(300))
    await endpoint.output.end()
    try #require(exit == .status(0), "\(endpoint.errors.text)")
    // At its end it closes its files.
    server.signal(SIGINT)
    #expect(await server.end(within: .seconds(300)) == .status(0))
    let line = try #require(endpoint.output.text.split(separator: "\n").last)
    return try JSONDecoder().decode(JanusSeen.self, from: Data(line.utf8))
  }

  @Test(.tags(.pacing)) func `Janus stores the colors, the capture times and the beeps`() async throws {
    try await TestMedia.withTemporaryFolder { folder in
      let janus = try Janus(in: folder)
      let seen = try await Self.push(to: janus) { $0.state == "sending" && $0.reconnects == 0 }
      #expect(seen.requests == ["POST /whip/endpoint/live", "DELETE /whip/resource/live"])
      #expect(seen.codecs == ["h264", "opus"])

      let video = try await janus.media("video")
      // One pixel for each bar, between the text and the flash.
      let bars = ["-vf", "crop=iw:ih/4:0:ih*3/8,scale=7:1:flags=area,format=rgb24"]
      let decoded = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-xerror", "-i", video] + bars + FFmpeg.rawVideo + ["pipe:1"], within: .seconds(300))
      #expect(decoded.succeeded && FFmpeg.complaints(in: decoded.errors) == [], "\(decoded.errors)")
      let colors: [[Int]] = [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1]]
      let expected = colors.joined().map { $0 * 191 }
      try #require(decoded.output.count >= 100 * expected.count)
      let differences = decoded.output.enumerated().map { abs(Int($1) - expected[$0 % expected.count]) }
      #expect(try #require(differences.max()) <= 16)

      let rows = Timecode.cellSize(width: 640)
      let strip = ["-vf", "crop=iw:\(rows):0:0,format=gray"]
      let run = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-i", video] + strip + FFmpeg.rawVideo + ["pipe:1"], within: .seconds(300))
      let strips = LumaFrames(width: 640, height: rows, bytes: run.output)
      let captured = (0..<strips.count).compactMap { Timecode.read(strips[$0], width: 640) }
      #expect(captured.count == decoded.output.count / expected.count, "not every strip is readable")
      #expect(captured == captured.sorted() && Set(captured).count == captured.count)

      let beeps = try await EndToEnd.Synchrony.beeps(in: janus.media("audio"))
      // 300 packets are six seconds.
      #expect(beeps.count >= 4, "\(beeps)")
    }
  }

  @Test(.tags(.demanding)) func `the bitrate of a room of Janus is kept by an encoding for this push alone`()
    async throws
  {
    try await TestMedia.withTemporaryFolder { folder in
      let janus = try Janus(in: folder, bitrate: 300_000)
      let seen = try await Self.push(to: janus) { $0.ownEncoding && $0.videoBitrate <= 300_000 }
      #expect(seen.codecs == ["h264", "opus"])
      let video = try await janus.media("video")
      let decoded = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-xerror", "-i", video] + FFmpeg.decoding, within: .seconds(300))
      #expect(decoded.succeeded && FFmpeg.complaints(in: decoded.errors) == [], "\(decoded.errors)")
    }
  }
}
