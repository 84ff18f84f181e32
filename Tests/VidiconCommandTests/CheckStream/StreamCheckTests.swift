import Media
import MediaInput
import TestSupport
import Testing
import Vidicon

@testable import VidiconCommand

@Suite("vidicon check URL", .timeLimit(.minutes(5)))
struct StreamCheckTests {
  /// Limits under which the machine's speed decides nothing.
  private static let limits = {
    var limits = StreamCheck.Limits()
    (limits.whole, limits.step, limits.response) = (.seconds(300), .seconds(300), .seconds(300))
    (limits.play, limits.datagrams, limits.responseLength) = (.seconds(2), .seconds(1), 100_000)
    return limits
  }()

  /// Verdict on an address; asked for again while a busy machine has encoded nothing yet.
  private static func verdict(_ url: String) async throws -> StreamVerdict {
    var verdict = StreamVerdict(clients: [], findings: [])
    for _ in 0..<20 {
      verdict = try await StreamCheck(NetworkSpecification(parsing: url), limits: Self.limits).run()
      if !verdict.problems.contains(where: { $0.contains("503") || $0.contains("504") }) { break }
    }
    return verdict
  }

  @Test func `streams of a server play over each protocol, and other paths have their cause`() async throws {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0), isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    settings.rtmp = RTMPServerSettings(port: 0)
    settings.rtmp?.address = "127.0.0.1"
    settings.webRTC = WebRTCServerSettings(port: 0)
    settings.webRTC?.address = "127.0.0.1"
    let server = CameraServer(settings: settings)
    try await server.start()
    let ports = try #require(server.ports)
    let stream = LiveStream("door", video: VideoSettings(width: 128, height: 72, frameRate: 10))
    stream.attachVideo(BarsCapturer(width: 128, height: 72))
    try await server.serve(stream)
    let rtsp = try await Self.verdict("rtsp://127.0.0.1:\(ports.rtsp)/door")
    #expect(rtsp.observations.contains { $0.hasPrefix("PLAY 200") }, "\(rtsp)")
    #expect(rtsp.observations.contains("announced video H264"))
    let http = try #require(ports.http)
    let hls = try await Self.verdict("http://127.0.0.1:\(http)/door/live.m3u8")
    #expect(hls.observations.contains { $0.hasPrefix("playlist 200, application/vnd.apple.mpegurl") }, "\(hls)")
    #expect(hls.observations.contains { $0.hasPrefix("segment of") && $0.hasSuffix("keyframe true") }, "\(hls)")
    let motion = try await Self.verdict("http://127.0.0.1:\(http)/door/mjpeg")
    #expect(motion.observations.contains { $0.hasPrefix("multipart/x-mixed-replace") }, "\(motion)")
    let rtmp = try await Self.verdict("rtmp://127.0.0.1:\(try #require(ports.rtmp))/live/door")
    #expect(rtmp.observations.contains { $0.hasPrefix("accepted after") && !$0.hasSuffix("none") }, "\(rtmp)")
    // The page of a stream stands for its endpoint.
    for path in ["door/whep", "door"] {
      let session = try await Self.verdict("http://127.0.0.1:\(http)/\(path)")
      #expect(
        session.observations.contains { $0.hasPrefix("offer 201") && $0.hasSuffix("Location, answer") }, "\(session)")
    }

    let none = try await Self.verdict("rtsp://127.0.0.1:\(ports.rtsp)/none")
    #expect(none.problems == ["fault RTSP: no stream has this path (404)"])
    let page = try await Self.verdict("http://127.0.0.1:\(http)/none/live.m3u8")
    #expect(page.problems == ["fault live.m3u8: the server does not have it (404)"])
    // Another protocol's port.
    let other = try await Self.verdict("rtsp://127.0.0.1:\(http)/door")
    #expect(other.problems.count == 1 && other.line(.players).hasPrefix("fault: does not play"))
    await server.stop()
    let refused = try await Self.verdict("rtsp://127.0.0.1:\(ports.rtsp)/door")
    #expect(
      refused.problems == ["fault connection to 127.0.0.1:\(ports.rtsp): no server listens there (connection refused)"])
  }

  @Test func `the page of a server without WebRTC is judged by its HLS`() async throws {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0), isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    settings.webRTC = nil
    let server = CameraServer(settings: settings)
    try await server.start()
    let port = try #require(server.ports?.http)
    let stream = LiveStream("door", video: VideoSettings(width: 128, height: 72, frameRate: 10))
    stream.attachVideo(BarsCapturer(width: 128, height: 72))
    try await server.serve(stream)
    let page = try await Self.verdict("http://127.0.0.1:\(port)/door")
    #expect(page.findings.first?.finding.subject == "WebRTC" && page.findings.first?.finding.verdict == .ok, "\(page)")
    #expect(page.observations.contains { $0.hasPrefix("playlist 200, application/vnd.apple.mpegurl") }, "\(page)")
    #expect(page.line(.webRTC) == "none" && page.line(.players) != "none")
    // Another address of it stays what it is.
    let session = try await Self.verdict("http://127.0.0.1:\(port)/door/whep")
    #expect(session.problems == ["fault WHEP: no stream has this path (404)"], "\(session)")
    await server.stop()
  }

  @Test func `a server that is silent up to the end of a check is named by what it leaves open`()
    async throws
  {
    let listener = try SilentListener()
    defer { listener.close() }
    var limits = StreamCheck.Limits()
    // The end of the check is that of each step.
    (limits.whole, limits.step) = (.seconds(3), .seconds(300))
    let expected = [
      "rtsp": "fault RTSP: the server does not respond to OPTIONS",
      "rtmp": "fault RTMP: the server does not respond in time",
      // A server of text waits for the end of a line.
      "rtsps":
        "fault connection to 127.0.0.1:\(listener.port): the server accepts the connection, and does not speak TLS at this "
        + "port, or hangs",
    ]
    for (scheme, problem) in expected {
      let url = "\(scheme)://127.0.0.1:\(listener.port)/live/door"
      let verdict = try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
      #expect(verdict.problems == [problem], "\(verdict)")
    }
  }
}
