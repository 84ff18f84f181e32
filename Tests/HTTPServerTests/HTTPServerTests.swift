import Authentication
import Capture
import Foundation
import Media
import NIOCore
import Serving
import Streaming
import TestSupport
import Testing

@testable import ControlAPI
@testable import HLSServer
@testable import HTTPServer

@Suite("HTTP server", .timeLimit(.minutes(5)))
struct HTTPServerTests {
  @Test func `a port in use is named in the error`() async throws {
    try await withServer { _, port in
      let second = WebServer(settings: HTTPServerSettings(port: port), access: .permissive())
      await #expect(
        throws: VidiconError(
          .portInUse, subject: "port \(port)", cause: "in use by another program",
          nextStep: "choose another port with --http-port or --https-port; 0 selects any free one")
      ) {
        try await second.start()
      }
      await second.stop()
    }
  }

  @Test func `an address that is a name is rejected`() async {
    var settings = HTTPServerSettings.patient()
    settings.address = "localhost"
    let server = WebServer(settings: settings, access: .permissive())
    await #expect { try await server.start() } throws: { ($0 as? VidiconError)?.code == .invalidSpecification }
    await server.stop()
  }

  @Test func `a request in one-byte pieces is answered, and the connection stays open`() async throws {
    try await withServer { _, port in
      let client = try await RawClient.connect(port: port)
      let request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
      let text = try await client.exchange(request.map { String($0) } + [request], until: "\r\n\r\nok\n", times: 2)
      #expect(text.ranges(of: "HTTP/1.1 200 OK").count == 2)
    }
  }

  @Test(arguments: [
    ("\u{16}\u{3}\u{1}\r\n\r\n", "400"), ("GET / HTTP/1.1\r\n\r\n", "400"),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"), ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", "400"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 100_000) + "\r\n\r\n", "431"),
    ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: x\r\n", count: 10_000) + "\r\n", "431"),
    ("GET /" + String(repeating: "x", count: 5_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
    ("POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", "405"),
    ("GET /health HTTP/1.0\r\n\r\n", "200"), ("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200"),
  ])
  func `a rejected request gets a status and ends its connection, and others are served`(
    request: String, status: String
  ) async throws {
    try await withServer { _, port in
      let text = try await RawClient.connect(port: port).exchange([request])
      #expect(text.prefix(12).suffix(3) == status)
      #expect(text.lowercased().contains("connection: close"))
      #expect(try await RawClient.get("/health", port: port).body == "ok\n")
    }
  }

  @Test func `the connection that has been idle longest is closed at the limit of all event loops`() async throws {
    let registry = ConnectionRegistry(maximumCount: 4)
    try await withServer(registry: registry) { server, port in
      var clients: [RawClient] = []
      for number in 1...5 {
        clients.append(try await RawClient.connect(port: port))
        // Event loops register connections in an order of their own.
        if number <= 4 { try await eventually { registry.count == number } }
      }
      await clients[0].waitForClose()
      #expect(try await RawClient.get("/health", port: port).body == "ok\n")
      for client in clients { try? await client.close() }
    }
  }

  @Test func `connections without a request evict each other, not one that sends requests`() async throws {
    try await withServer(registry: ConnectionRegistry(maximumCount: 64)) { _, port in
      let player = try await RawClient.connect(port: port)
      let text = try await player.exchange("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", until: "ok\n") {
        var clients: [RawClient] = []
        for _ in 0..<256 { clients.append(try await RawClient.connect(port: port)) }
        await clients[0].waitForClose()
        for client in clients { try? await client.close() }
      }
      #expect(text.hasPrefix("HTTP/1.1 200 OK"))
    }
  }

  @Test(arguments: [
    ("\u{1}\r\n\r\n", "400"), ("GET /health HTTP/1.1\r\n\r\n", "400"),
    ("GET /" + String(repeating: "x", count: 5_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "414"),
    ("POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"),
  ])
  func `a rejected request is answered after the requests before it`(
    refused: String, status: String
  ) async throws {
    try await withServer { _, port in
      let request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
      let text = try await RawClient.connect(port: port).exchange([request + request + refused])
      let statuses = text.ranges(of: "HTTP/1.1 ").map { String(text[$0.upperBound...].prefix(3)) }
      #expect(statuses == ["200", "200", status])
      #expect(text.ranges(of: "\r\n\r\nok\n").count == 2)
    }
  }

  @Test func `data after the last request of a connection is ignored`() async throws {
    try await withServer { _, port in
      let text = try await RawClient.connect(port: port).exchange([
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
      ])
      #expect(text.hasPrefix("HTTP/1.1 200 OK"))
      #expect(text.hasSuffix("\r\n\r\nok\n"))
      #expect(text.ranges(of: "HTTP/1.1 ").count == 1)
    }
  }

  @Test func `a connection with an incomplete request head is closed`() async throws {
    var settings = HTTPServerSettings.patient()
    settings.limits.headTime = .milliseconds(300)
    try await withServer(settings) { _, port in
      let text = try await RawClient.connect(port: port).exchange(["GET /health HT"])
      #expect(text == "")
    }
  }

  @Test func `without a password only the health check is served`() async throws {
    try await withServer(access: .permissive { $0.users = [Credentials(user: "us", password: "pw")] }) { _, port in
      #expect(try await RawClient.get("/health", port: port).body == "ok\n")
      for path in ["/", "/metrics", "/api/streams", "/none"] {
        let refused = try await RawClient.get(path, port: port)
        #expect(refused.head.hasPrefix("HTTP/1.1 401"))
        #expect(refused.head.ranges(of: "WWW-Authenticate: Digest ").count == 2)
        #expect(refused.head.contains("WWW-Authenticate: Basic realm="))
      }
      let preflight = try await RawClient.get("/metrics", port: port, method: "OPTIONS")
      #expect(preflight.head.hasPrefix("HTTP/1.1 204"))
      // A Basic password is accepted from this machine, under a name that only this machine has.
      let login = "Authorization: Basic dXM6cHc="
      for (host, status) in [("127.0.0.1", "200"), ("localhost", "200"), ("cam", "401")] {
        let text = try await RawClient.connect(port: port).exchange([
          "GET /api/streams HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\(login)\r\n\r\n"
        ])
        #expect(text.hasPrefix("HTTP/1.1 \(status)"), "\(host)")
      }
      #expect(try await RawClient.get("/", port: port, "Authorization: Basic dXM6cHg=").head.hasPrefix("HTTP/1.1 401"))
    }
  }

  @Test func `a QR code is returned for a text, or an error for a text that is too long or missing`() async throws {
    var providers = WebServerProviders()
    providers.qrCode = { $0.utf8.count > 3 ? nil : "<svg>\($0)</svg>" }
    try await withServer(providers: providers) { _, port in
      let code = try await RawClient.get("/api/qr.svg?text=%C3%A4b", port: port)
      #expect(code.body == "<svg>äb</svg>")
      for query in ["", "?text=", "?text=abcd", "?text=%FF"] {
        let refused = try await RawClient.get("/api/qr.svg\(query)", port: port)
        #expect(refused.head.hasPrefix("HTTP/1.1 400"))
      }
      // A text with a token is in the body, and in no cache.
      func post(_ text: String, type: String = "text/plain; charset=utf-8") async throws -> (head: String, body: String)
      {
        try await HTTPControlTests.send("POST", text, to: "/api/qr.svg", type: type, port: port)
      }
      let secret = try await post("äb")
      #expect(secret.head.hasPrefix("HTTP/1.1 200") && secret.body == "<svg>äb</svg>")
      #expect(secret.head.contains("Cache-Control: no-store") && !secret.head.contains("ETag"))
      for (text, type, status) in [
        ("", "text/plain", "400"), ("abcd", "text/plain", "400"), ("a", "application/json", "415"),
        (String(repeating: "a", count: 513), "text/plain", "413"),
      ] {
        #expect(try await post(text, type: type).head.hasPrefix("HTTP/1.1 \(status)"), "\(text.prefix(9))")
      }
    }
    try await withServer { _, port in
      let none = try await RawClient.get("/api/qr.svg?text=a", port: port)
      #expect(none.head.hasPrefix("HTTP/1.1 404"))
    }
  }

  @Test func `the lag of event loops and the UDP buffer are in the metrics, the lag in the entry of the stream`()
    async throws
  {
    var providers = WebServerProviders()
    var statistics = ViewerStatistics()
    (statistics.viewers, statistics.viewersClosedAsSlow, statistics.loopLag) = (3, 2, .microseconds(140_300))
    (statistics.datagramsDropped, statistics.udpSendBufferLength) = (5, 425_984)
    providers.statistics = { [statistics] _ in
      [.init(name: "rtsp", statistics: statistics), .init(name: "rtmp", statistics: ViewerStatistics())]
    }
    try await withServer(providers: providers) { server, port in
      let stream = LiveStream("a", audio: AudioSettings())
      stream.attachAudio(SilenceCapturer())
      try await stream.start()
      server.serve(stream)
      let entry = try await RawClient.get("/api/streams/a", port: port).body
      #expect(entry.contains("\"loopLag\":0.14,"))
      let metrics = try await RawClient.get("/metrics", port: port).body
      #expect(metrics.contains("vidicon_viewers_closed_as_slow_total{stream=\"a\",protocol=\"rtsp\"} 2\n"))
      #expect(metrics.contains("vidicon_datagrams_dropped_total{stream=\"a\",protocol=\"rtsp\"} 5\n"))
      #expect(!metrics.contains("vidicon_datagrams_dropped_total{stream=\"a\",protocol=\"rtmp\"}"))
      #expect(metrics.contains("vidicon_loop_lag_seconds{stream=\"a\",protocol=\"rtsp\"} 0.1403\n"))
      #expect(metrics.contains("vidicon_udp_send_buffer_bytes{stream=\"a\",protocol=\"rtsp\"} 425984\n"))
      await stream.stop()
    }
  }

  /// The viewers over WebRTC in the entry of a stream.
  private struct WebRTCViewers: Decodable {
    struct Viewer: Decodable, Hashable {
      var number: Int
      var rendition: String
      var roundTrip: Double?
      var fractionLost: Double?
      var estimatedBitrate: Int?
      var queueingDelay: Double?
      var packetsSent: Int
      var packetsLost: Int
      var packetsRetransmitted: Int
      var framesSkipped: Int
      var keyframesRequested: Int
    }

    var webrtcViewers: [Viewer]
  }

  @Test func `viewers over WebRTC are in the entry of the stream and in the metrics, by number`() async throws {
    var measured = WebRTCViewerStatistics(number: 7, rendition: "low")
    (measured.roundTrip, measured.fractionLost, measured.estimatedBitrate) = (.microseconds(51_340), 0.0234, 812_000)
    (measured.packetsSent, measured.packetsRetransmitted) = (900, 11)
    (measured.framesSkipped, measured.keyframesRequested, measured.feedbackDropped) = (5, 2, 77)
    (measured.queueingDelay, measured.packetsLost, measured.datagramsDropped) = (.microseconds(8_500), 13, 6)
    var providers = WebServerProviders()
    let all = [measured] + (9..<120).map { WebRTCViewerStatistics(number: $0, rendition: "main") }
    var webRTC = ViewerStatistics()
    (webRTC.viewers, webRTC.viewerList, webRTC.sessionsFailed) = (112, all, [.wrongFingerprint: 1])
    providers.statistics = { [webRTC] _ in
      [.init(name: "rtsp", statistics: ViewerStatistics()), .init(name: "webrtc", statistics: webRTC)]
    }
    try await withServer(providers: providers) { server, port in
      let stream = LiveStream("a", audio: AudioSettings())
      stream.attachAudio(SilenceCapturer())
      try await stream.start()
      server.serve(stream)
      let body = try await RawClient.get("/api/streams/a", port: port).body
      #expect(!body.contains("null"))
      let viewers = try JSONDecoder().decode(WebRTCViewers.self, from: Data(body.utf8)).webrtcViewers
      #expect(viewers.count == 100)
      #expect(
        viewers[0]
          == WebRTCViewers.Viewer(
            number: 7, rendition: "low", roundTrip: 51.3, fractionLost: 0.023, estimatedBitrate: 812_000,
            queueingDelay: 8.5, packetsSent: 900, packetsLost: 13, packetsRetransmitted: 11, framesSkipped: 5,
            keyframesRequested: 2))
      // Without a report nothing is known of the network.
      #expect(
        viewers[1]
          == WebRTCViewers.Viewer(
            number: 9, rendition: "main", packetsSent: 0, packetsLost: 0, packetsRetransmitted: 0, framesSkipped: 0,
            keyframesRequested: 0))
      let metrics = try await RawClient.get("/metrics", port: port).body
      for line in [
        #"rendition{stream="a",viewer="7",rendition="low"} 1"#, #"round_trip_seconds{stream="a",viewer="7"} 0.05134"#,
        #"lost_ratio{stream="a",viewer="7"} 0.0234"#, #"estimated_bitrate{stream="a",viewer="7"} 812000"#,
        #"packets_sent_total{stream="a",viewer="7"} 900"#, #"packets_retransmitted_total{stream="a",viewer="7"} 11"#,
        #"frames_skipped_total{stream="a",viewer="7"} 5"#, #"keyframes_requested_total{stream="a",viewer="7"} 2"#,
        #"feedback_dropped_total{stream="a",viewer="7"} 77"#, #"datagrams_dropped_total{stream="a",viewer="7"} 6"#,
        #"queueing_delay_seconds{stream="a",viewer="7"} 0.0085"#, #"packets_lost_total{stream="a",viewer="7"} 13"#,
        #"rendition{stream="a",viewer="119",rendition="main"} 1"#,
      ] {
        #expect(metrics.contains("vidicon_webrtc_viewer_\(line)\n"), "\(line)")
      }
      #expect(!metrics.contains(#"round_trip_seconds{stream="a",viewer="9"}"#))
      for line in [#"reason="never_checked"} 0"#, #"reason="wrong_fingerprint"} 1"#] {
        #expect(metrics.contains("vidicon_webrtc_sessions_failed_total{stream=\"a\",\(line)\n"), "\(line)")
      }
      await stream.stop()
    }
  }

  @Test func `a stream is served as HLS, snapshot and motion JPEG until serving ends`() async throws {
    try await withServer { server, port in
      let stream = LiveStream("a/b c", video: VideoSettings(width: 64, height: 64, frameRate: 30))
      stream.attachVideo(PlasmaCapturer(width: 64, height: 64))
      try await stream.start()
      server.serve(stream)
      let playlist = try await RawClient.getMedia("/a/b%20c/playlist.m3u8", port: port)
      #expect(playlist.head.contains("Content-Type: application/vnd.apple.mpegurl"))
      #expect(server.statistics(of: stream).hlsViewers == 1)
      let segment = try #require(playlist.body.split(separator: "\n").first { $0.hasSuffix(".ts") })
      let head = try await RawClient.get("/a/b%20c/\(segment)", port: port, method: "HEAD")
      #expect(head.head.contains("Content-Type: video/mp2t"))
      #expect(head.head.contains("Cache-Control: public, max-age=1, s-maxage=6"))
      #expect(head.body == "")
      let snapshot = try await RawClient.getMedia("/a/b%20c/snapshot.jpg", port: port, method: "HEAD")
      #expect(snapshot.head.contains("image/jpeg"))
      let response = try await RawClient.connect(port: port)
        .exchange(
          ["GET /mjpeg?fps=30 HTTP/1.1\r\nHost: localhost\r\n\r\n"], until: "--\(MotionJPEGPart.boundary)", times: 3)
      #expect(response.contains("multipart/x-mixed-replace"))
      let entry = try await RawClient.get("/api/streams/a/b%20c", port: port).body
      #expect(entry.contains("\"page\":\"/a/b%20c\""))
      let metrics = try await RawClient.get("/metrics", port: port).body
      #expect(metrics.contains("vidicon_encoders{stream=\"a/b c\",kind=\"video\"} 1\n"))
      let waiting = Task { try await RawClient.get("/a/b%20c/playlist.m3u8?_HLS_msn=1000000", port: port) }
      #expect(try await waiting.value.head.hasPrefix("HTTP/1.1 400"))
      server.stopServing(stream)
      let end = try await RawClient.get("/a/b%20c/playlist.m3u8", port: port)
      #expect(end.body.hasSuffix("#EXT-X-ENDLIST\n"))
      let last = try #require(end.body.split(separator: "\n").last { $0.hasSuffix(".ts") })
      #expect(try await RawClient.get("/a/b%20c/\(last)", port: port).head.hasPrefix("HTTP/1.1 200"))
      for path in ["/a/b%20c/snapshot.jpg", "/a/b%20c/mjpeg", "/api/streams/a/b%20c"] {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 404"))
      }
      // Another stream with this name replaces it.
      let successor = LiveStream("a/b c", audio: AudioSettings())
      successor.attachAudio(SilenceCapturer())
      try await successor.start()
      server.serve(successor)
      let next = try await RawClient.getMedia("/a/b%20c/playlist.m3u8", port: port)
      #expect(next.head.hasPrefix("HTTP/1.1 200") && !next.body.contains("#EXT-X-ENDLIST"))
      await successor.stop()
      await stream.stop()
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `motion JPEG ends when the stream is no longer served, although it runs on`() async throws {

    try await withServer { server, port in
      let stream = LiveStream("x", video: VideoSettings(width: 64, height: 64, frameRate: 30))
      stream.attachVideo(PlasmaCapturer(width: 64, height: 64))
      try await stream.start()
      server.serve(stream)
      let watching = Task {
        try await RawClient.connect(port: port)
          .exchange(["GET /x/mjpeg?fps=30 HTTP/1.0\r\n\r\n"])
      }
      try await eventually { server.statistics(of: stream).motionJPEGViewers > 0 }
      server.stopServing(stream)
      let response = try await watching.value
      #expect(response.hasSuffix("--\(MotionJPEGPart.boundary)\r\n\r\n--\(MotionJPEGPart.boundary)--\r\n"))
      #expect(stream.isRunning)
      await stream.stop()
    }
  }

  @Test(arguments: [("", "pw"), ("a:b", "pw"), ("a", "")])
  func `a name or password that cannot be used is rejected`(user: String, password: String) async {
    let access = AccessControl.permissive { $0.users = [Credentials(user: user, password: password)] }
    let server = WebServer(settings: HTTPServerSettings(port: 0), access: access)
    await #expect { try await server.start() } throws: { ($0 as? VidiconError)?.code == .invalidSpecification }
    await server.stop()
  }

  @Test func `waiting requests are answered when the stream is no longer served`() async throws {
    try await withServer { server, port in
      let stream = LiveStream("x", audio: AudioSettings())
      stream.attachAudio(ToneCapturer())
      try await stream.start()
      server.serve(stream)
      let waiting = Task { try await RawClient.get("/x/live.m3u8?_HLS_msn=1&_HLS_part=0", port: port) }
      let first = try await RawClient.getMedia("/x/live.m3u8", port: port)
      #expect(first.head.hasPrefix("HTTP/1.1 200"))
      server.stopServing(stream)
      #expect(try await waiting.value.head.hasPrefix("HTTP/1.1 "))
      await stream.stop()
    }
  }
}

/// Runs a server during `body`.
func withServer(
  _ settings: HTTPServerSettings = .patient(), access: AccessControl = .permissive(),
  providers: WebServerProviders = WebServerProviders(), registry: ConnectionRegistry = ConnectionRegistry(),
  _ body: (WebServer, _ port: Int) async throws -> Void
) async throws {
  let server = WebServer(settings: settings, access: access, providers: providers, registry: registry)
  do {
    try await server.start()
    try await body(server, try #require(server.ports?.http))
  } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}

extension HTTPServerSettings {
  /// Settings for tests that are not about time: the server waits longer for clients than a slow machine keeps a test waiting
  /// for a thread.
  static func patient() -> Self {
    var settings = Self(port: 0)
    settings.limits.idleTime = .seconds(600)
    settings.limits.headTime = .seconds(600)
    settings.limits.stallTime = .seconds(600)
    settings.limits.bodyTime = .seconds(600)
    settings.limits.viewerIdleTime = .seconds(600)
    return settings
  }
}

extension AccessControl {
  /// Access rules for tests: programs on this machine control streams, unless `change` sets another policy.
  static func permissive(_ change: (inout AccessSettings) -> Void = { _ in }) -> AccessControl {
    var settings = AccessSettings()
    settings.control = .machine
    change(&settings)
    // An hour, since a second may pass between two requests.
    return AccessControl(
      settings: settings, makeRandom: { .random(in: 0...UInt64.max) }, isOnOwnLink: { _ in false },
      firstLoginDelay: .seconds(3600))
  }
}
