import Authentication
import Capture
import Codecs
import Media
import StreamControl
import TestSupport
import Testing
import Threading

@testable import ControlAPI
@testable import HLSServer
@testable import HTTPServer
@testable import Streaming

@Suite("Renditions over HTTP", .timeLimit(.minutes(5)))
struct RenditionsOverHTTPTests {
  /// A server with the stream `a/b`, 64x64, and its rendition `low`, 32x32.
  private func withStream(
    access: AccessControl = .permissive(), _ body: (_ stream: LiveStream, _ port: Int) async throws -> Void
  ) async throws {
    try await self.withServedStream(access: access) { _, stream, port in try await body(stream, port) }
  }

  private func withServedStream(
    access: AccessControl, _ body: (_ server: WebServer, _ stream: LiveStream, _ port: Int) async throws -> Void
  ) async throws {
    var providers = WebServerProviders()
    providers.controls = { StreamControls(sources: StreamSources($0, video: "plasma", catalog: .none)) }
    try await withServer(access: access, providers: providers) { server, port in
      let low = RenditionSettings(name: "low", width: 32, height: 32, bitrate: 50_000)
      var video = VideoSettings(width: 64, height: 64, frameRate: 30, renditions: .list([low]))
      video.renditionRetryDelay = .seconds(1)
      let stream = LiveStream("a/b", video: video)
      stream.attachVideo(PlasmaCapturer(width: 64, height: 64))
      try await stream.start()
      server.serve(stream)
      server.serve(LiveStream("a/b/taken"))
      do {
        try await body(server, stream, port)
      } catch {
        await stream.stop()
        throw error
      }
      await stream.stop()
    }
  }

  /// The first playlist that has a part.
  private static let start = "live.m3u8?_HLS_msn=0&_HLS_part=0"

  /// The first `index.m3u8` that has waited for all encoders: it waits for two seconds, and a busy machine may open them later.
  private static func index(of stream: LiveStream, query: String = "", port: Int) async throws -> String {
    let start = StreamClock.system.now()
    let first = try await RawClient.get("/a/b/index.m3u8\(query)", port: port).body
    if StreamClock.system.now() - start < Rendition.preparationTimeout { return first }
    try await eventually { stream.renditions.allSatisfy { !$0.descriptions.isEmpty } }
    return try await RawClient.get("/a/b/index.m3u8\(query)", port: port).body
  }

  /// Address of the last part in a playlist.
  private static func part(_ playlist: String) throws -> Substring {
    let line = try #require(playlist.split(separator: "\n").last { $0.hasPrefix("#EXT-X-PART:") })
    return line.split(separator: "\"")[1]
  }

  @Test func `each has playlists and images, and all run while one is played`() async throws {
    try await self.withStream { stream, port in
      let low = try #require(stream.rendition(named: "low"))
      let variants = try await Self.index(of: stream, port: port).split(separator: "\n")
      #expect(variants.filter { !$0.hasPrefix("#") } == ["main/live.m3u8", "low/live.m3u8"])
      #expect(low.statistics.users == 0)
      let main = try await RawClient.getMedia("/a/b/main/\(Self.start)", port: port)
      #expect(main.head.hasPrefix("HTTP/1.1 200"))
      #expect(low.statistics.users == 1)
      for path in ["/a/b/low", "/low"] {
        let playlist = try await RawClient.getMedia("\(path)/\(Self.start)", port: port)
        #expect(playlist.head.contains("application/vnd.apple.mpegurl"))
        #expect(playlist.body.contains("#EXT-X-RENDITION-REPORT:URI=\"../main/live.m3u8\",LAST-MSN="))
        let part = try await RawClient.get("\(path)/\(try Self.part(playlist.body))", port: port, method: "HEAD")
        #expect(part.head.hasPrefix("HTTP/1.1 200") && part.head.contains("video/mp4"))
      }
      let image = try await RawClient.getMedia("/a/b/low/snapshot.jpg", port: port, method: "HEAD").head
      #expect(image.hasPrefix("HTTP/1.1 200") && image.contains("image/jpeg"))
      for path in ["/a/b/none/live.m3u8", "/a/b/low/none.m4s", "/a/b/low/index.m3u8", "/a/b/low"] {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 404"), "\(path)")
      }
    }
  }

  @Test func `the state and the metrics of the stream have those of each rendition`() async throws {
    try await self.withStream { stream, port in
      let before = try await RawClient.get("/api/streams/a/b", port: port).body
      #expect(before.contains(#""renditions":[{"#) && before.contains(#""encoding":false"#))
      #expect(!before.contains("encodeMilliseconds"))
      _ = try await RawClient.getMedia("/a/b/low/\(Self.start)", port: port)
      let entry = try await RawClient.get("/api/streams/a/b", port: port).body
      let list = try #require(entry.firstMatch(of: /"renditions":\[\{(.*?)\}\]/)).output.1
      for member in [
        #""name":"low""#, #""hls":"/a/b/low/live.m3u8""#, #""snapshot":"/a/b/low/snapshot.jpg""#, #""width":32"#,
        #""height":32"#, #""frameRate":30"#, #""bitrate":50000"#, #""encoding":true"#, #""failed":false"#, #""hls":1"#,
        #""rtsp":0"#, #""encodeMilliseconds":"#,
      ] {
        #expect(list.contains(member), "\(member) \(list)")
      }
      let metrics = try await RawClient.get("/metrics", port: port).body
      try await expectMetrics(metrics)
      for line in [
        #"vidicon_rendition_viewers{stream="a/b",rendition="low",protocol="hls"} 1"#,
        #"vidicon_rendition_encoding{stream="a/b",rendition="low"} 1"#,
        #"vidicon_rendition_bitrate{stream="a/b",rendition="low"} 50000"#,
        #"vidicon_rendition_starts_total{stream="a/b",rendition="low"} 1"#,
      ] {
        #expect(metrics.contains(line + "\n"), "\(line)")
      }
      let time = #"vidicon_rendition_encode_seconds_total{stream="a/b",rendition="low"} "#
      let seconds = try #require(metrics.split(separator: "\n").first { $0.hasPrefix(time) }).dropFirst(time.count)
      #expect((Double(seconds) ?? 0) > 0)
    }
  }

  private static let low = "/api/streams/a/b/renditions/low"

  private static func put(_ body: String, to name: String = "low", port: Int) async throws -> (
    head: String, body: String
  ) {
    try await HTTPControlTests.send("PUT", body, to: "/api/streams/a/b/renditions/\(name)", port: port)
  }

  @Test func `an operator adds, replaces and removes renditions while the stream runs`() async throws {
    try await self.withStream { stream, port in
      let added = try await Self.put(#"{"width":48,"height":32,"bitrate":90000,"frameRate":15}"#, to: "mid", port: port)
      #expect(added.head.hasPrefix("HTTP/1.1 200"), "\(added)")
      #expect(added.body.contains(#""name":"mid""#) && added.body.contains(#""frameRate":15,"#), "\(added.body)")
      let variants = try await Self.index(of: stream, port: port).split(separator: "\n")
      #expect(variants.filter { !$0.hasPrefix("#") } == ["main/live.m3u8", "low/live.m3u8", "mid/live.m3u8"])
      let first = try await RawClient.getMedia("/a/b/low/\(Self.start)", port: port)
      #expect(first.head.hasPrefix("HTTP/1.1 200"))
      let part = try Self.part(first.body)

      // With a new bitrate alone its viewers stay.
      let low = try #require(stream.rendition(named: "low"))
      let bitrate = try await Self.put(#"{"width":32,"height":32,"bitrate":70000}"#, port: port)
      #expect(bitrate.head.hasPrefix("HTTP/1.1 200") && low.bitrate == 70_000)
      #expect(stream.rendition(named: "low") == low)

      // The files of a replaced one are gone, those of the new one have other names.
      let replaced = try await Self.put(#"{"width":16,"height":16,"bitrate":70000}"#, port: port)
      #expect(replaced.head.hasPrefix("HTTP/1.1 200"))
      #expect(low.failure != nil)
      #expect(try await RawClient.getMedia("/a/b/low/\(part)", port: port).head.hasPrefix("HTTP/1.1 404"))
      let second = try await RawClient.getMedia("/a/b/low/\(Self.start)", port: port)
      #expect(second.head.hasPrefix("HTTP/1.1 200"))
      let (old, new) = (part.split(separator: "-"), try Self.part(second.body).split(separator: "-"))
      #expect(old.first != new.first, "\(old) \(new)")

      for name in ["low", "mid"] {
        let removed = try await HTTPControlTests.send(
          "DELETE", "", to: "/api/streams/a/b/renditions/\(name)", port: port)
        #expect(removed.head.hasPrefix("HTTP/1.1 200"), "\(removed)")
        #expect(!removed.body.contains(#""name":"\#(name)""#))
        for file in ["live.m3u8", "playlist.m3u8", "snapshot.jpg"] {
          #expect(try await RawClient.get("/a/b/\(name)/\(file)", port: port).head.hasPrefix("HTTP/1.1 404"))
        }
      }
      let again = try await HTTPControlTests.send("DELETE", "", to: Self.low, port: port)
      #expect(again.head.hasPrefix("HTTP/1.1 404") && again.body.contains("low"))
      // Players of the main one among others go on.
      #expect(try await RawClient.getMedia("/a/b/main/live.m3u8", port: port).head.hasPrefix("HTTP/1.1 200"))
      let alone = try await RawClient.get("/a/b/index.m3u8", port: port).body.split(separator: "\n")
      #expect(alone.filter { !$0.hasPrefix("#") } == ["live.m3u8"])
    }
  }

  @Test func `a request that waits for a removed rendition is answered`() async throws {
    try await self.withServedStream(access: .permissive()) { server, stream, port in
      let hls = try #require(server.hls.streams[stream]).hls
      // On a slow machine the segment may be there before the rendition is removed.
      for number in 1...10 {
        let name = "r\(number)"
        try await stream.setRendition(RenditionSettings(name: name, width: 32, height: 32, bitrate: 50_000))
        _ = try await RawClient.get("/a/b/index.m3u8", port: port)
        let playlist = try await RawClient.getMedia("/a/b/\(name)/live.m3u8", port: port).body.split(separator: "\n")
        let sequence = try #require(playlist.compactMap { $0.firstMatch(of: /^#EXT-X-MEDIA-SEQUENCE:(\d+)$/) }.first)
          .output.1
        let next = try #require(Int(sequence)) + playlist.count { $0.hasPrefix("#EXTINF") } + 1
        let isAnswered = Monitor(false)
        let waiting = Task {
          defer { isAnswered.withLock { $0 = true } }
          return try await RawClient.get("/a/b/\(name)/live.m3u8?_HLS_msn=\(next)", port: port)
        }
        try await eventually { hls.waitingCount == 1 || isAnswered.read { $0 } }
        try await stream.removeRendition(named: name)
        let response = try await waiting.value
        if response.head.hasPrefix("HTTP/1.1 404") { return }
        // Or three seconds were over, after which the request is answered too.
        try #require(["200", "503"].contains(response.head.prefix(12).suffix(3)), "\(response)")
      }
      Issue.record("each segment was there before its rendition was removed")
    }
  }

  @Test func `a change that is refused has a line that says why, and changes nothing`() async throws {
    let good = #""width":32,"height":32,"bitrate":50000"#
    let cases: [(name: String, body: String, status: Int, says: String)] = [
      ("x", #"{"width":31,"height":32,"bitrate":50000}"#, 400, "even"),
      ("x", #"{"width":128,"height":32,"bitrate":50000}"#, 400, "larger than the stream's 64x64"),
      ("x", #"{"width":0,"height":32,"bitrate":50000}"#, 400, "even"),
      ("x", #"{"width":-9223372036854775808,"height":32,"bitrate":50000}"#, 400, "even"),
      ("x", #"{"width":32,"height":32,"bitrate":1}"#, 400, "bitrate"),
      ("x", #"{"width":32,"height":32}"#, 400, "required"),
      ("x", #"{"width":"32","height":32,"bitrate":50000}"#, 400, "number"),
      ("x", #"{"width":32.5,"height":32,"bitrate":50000}"#, 400, "number"),
      ("x", "{\(good),\"frameRate\":0}", 400, "frameRate"),
      ("x", "{\(good),\"frameRate\":1e300}", 400, "frameRate"),
      ("x", "{\(good),\"encoder\":\"png\"}", 400, "encoder"),
      ("x", "[]", 400, "body is"), ("x", "{", 400, "no JSON"),
      ("main", "{\(good)}", 400, "another meaning"), ("WHEP", "{\(good)}", 400, "another meaning"),
      ("publish", "{\(good)}", 400, "another meaning"), ("a%20b", "{\(good)}", 400, "letters"),
      (String(repeating: "a", count: 33), "{\(good)}", 400, "letters"),
      ("taken", "{\(good)}", 409, "served"),
    ]
    try await self.withStream { stream, port in
      for (name, body, status, says) in cases {
        let response = try await Self.put(body, to: name, port: port)
        #expect(response.head.hasPrefix("HTTP/1.1 \(status)"), "\(name) \(body) \(response)")
        #expect(response.body.contains(says) && response.body.split(separator: "\n").count == 1, "\(response.body)")
      }
      #expect(stream.renditions.map(\.name) == ["low"])
      for index in 1...15 {
        #expect(try await Self.put("{\(good)}", to: "r\(index)", port: port).head.hasPrefix("HTTP/1.1 200"))
      }
      let excess = try await Self.put("{\(good)}", to: "r16", port: port)
      #expect(excess.head.hasPrefix("HTTP/1.1 400") && excess.body.contains("at most 16"))
      #expect(try await RawClient.get(Self.low, port: port).head.hasPrefix("HTTP/1.1 405"))
      let other = try await HTTPControlTests.send("PUT", "{}", to: "/api/streams/none/renditions/low", port: port)
      #expect(other.head.hasPrefix("HTTP/1.1 404"))
    }
  }

  @Test func `main waits for no encoder, and index.m3u8 at most two seconds`() async throws {
    let gate = Monitor(false)
    try await self.withStream { stream, port in
      defer { gate.withLock { $0 = true } }
      stream.shared.renditions.encoders.replace { (settings) throws(VidiconError) in
        gate.wait { $0 ? () : nil }
        return try LibavH264Encoder(settings)
      }
      let mid = RenditionSettings(name: "mid", width: 48, height: 48, bitrate: 50_000)
      try await stream.setRendition(mid)
      func get(_ path: String) async throws -> (response: (head: String, body: String), time: MediaDuration) {
        let start = StreamClock.system.now()
        let response = try await RawClient.get("/a/b/\(path)", port: port)
        return (response, StreamClock.system.now() - start)
      }
      // The playlist of main alone, whose segments exist then.
      _ = try await RawClient.getMedia("/a/b/\(Self.start)", port: port)
      let main = try await get("main/\(Self.start)")
      #expect(main.response.head.hasPrefix("HTTP/1.1 200"), "\(main)")
      #expect(onQuietMachine(main.time < .seconds(1)), "\(main)")
      let index = try await get("index.m3u8")
      #expect(index.response.body.split(separator: "\n").filter { !$0.hasPrefix("#") } == ["live.m3u8"])
      #expect(onQuietMachine(index.time < .seconds(4)), "\(index.time)")
      let low = try await get("low/live.m3u8")
      #expect(low.response.head.hasPrefix("HTTP/1.1 503"), "\(low)")
      #expect(onQuietMachine(low.time < .seconds(4)), "\(low)")
      // Once the encoders are open, the next request names them.
      gate.withLock { $0 = true }
      try await eventually { stream.renditions.allSatisfy { !$0.descriptions.isEmpty } }
      let all = try await get("index.m3u8").response.body.split(separator: "\n").filter { !$0.hasPrefix("#") }
      #expect(all == ["main/live.m3u8", "low/live.m3u8", "mid/live.m3u8"])
    }
  }

  @Test func `a rendition whose encoder was busy is there once it is not`() async throws {
    let isBusy = Monitor(true)
    try await self.withStream { stream, port in
      stream.shared.renditions.encoders.replace { (settings) throws(VidiconError) in
        if isBusy.read({ $0 }) {
          throw VidiconError(.busy, subject: "encoder", cause: "it is in use", nextStep: "wait")
        }
        return try LibavH264Encoder(settings)
      }
      let low = try #require(stream.rendition(named: "low"))
      let index = try await RawClient.get("/a/b/index.m3u8", port: port).body.split(separator: "\n")
      #expect(index.filter { !$0.hasPrefix("#") } == ["live.m3u8"])
      // The encoder may be opened after the two seconds for which the playlist waits, and again a second after it has failed.
      try await eventually { low.hasFailed }
      #expect(try await RawClient.getMedia("/a/b/low/live.m3u8", port: port).head.hasPrefix("HTTP/1.1 404"))
      let entry = try await RawClient.get("/api/streams/a/b", port: port).body
      #expect(entry.contains(#""failed":true"#))
      isBusy.withLock { $0 = false }
      try await eventually { low.failure == nil }
      let playlist = try await RawClient.getMedia("/a/b/low/\(Self.start)", port: port)
      #expect(playlist.head.hasPrefix("HTTP/1.1 200") && !low.hasFailed && low.statistics.users == 1)
    }
  }

  @Test func `viewers do not change renditions, even where they control`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "us", password: "pw")]
      $0.users.append(Credentials(user: "op", password: "pw", role: .operator))
      $0.control = .all
      // A client elsewhere: programs on this machine are operators with this policy.
      $0.hosts = ["cam.lan"]
      $0.allowsInsecureBasic = true
    }
    try await self.withStream(access: access) { stream, port in
      let body = #"{"width":16,"height":16,"bitrate":50000}"#
      for (login, status) in [("", 401), ("dXM6cHc=", 403), ("b3A6cHc=", 200)] {
        for method in ["PUT", "DELETE"] {
          let response = try await HTTPControlTests.send(
            method, method == "PUT" ? body : "", to: Self.low, host: "cam.lan", port: port,
            "Authorization: Basic \(login)")
          #expect(response.head.hasPrefix("HTTP/1.1 \(status)"), "\(login) \(method) \(response.head)")
        }
        #expect(stream.renditions.isEmpty == (status == 200))
      }
    }
  }

  @Test func `a password protects each address of a rendition`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "us", password: "pw")]
      $0.control = .operators
    }
    try await self.withStream(access: access) { _, port in
      let paths = [
        "/a/b/index.m3u8", "/a/b/main/\(Self.start)", "/a/b/low/\(Self.start)", "/low/\(Self.start)",
        "/a/b/low/snapshot.jpg", "/a/b/low/mjpeg", "/a/b/low/x-1.m4s", "/a/b/low/playlist.m3u8",
      ]
      for path in paths {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 401"), "\(path)")
      }
      for path in paths.prefix(5) {
        let response = try await RawClient.getMedia(path, port: port, method: "HEAD", "Authorization: Basic dXM6cHc=")
        #expect(response.head.hasPrefix("HTTP/1.1 200"), "\(path)")
        #expect(!response.head.contains("public"), "\(path)")
      }
    }
  }

  @Test func `a viewer's token in the address opens each address of a rendition, and changes nothing`() async throws {
    let access = AccessControl.permissive {
      $0.tokens = [AccessToken(parsing: "0123456789abcdef", role: .viewer)].compactMap(\.self)
      $0.protectsWatching = true
      $0.control = .all
      $0.hosts = ["cam.lan"]
    }
    try await self.withStream(access: access) { stream, port in
      let query = "token=0123456789abcdef"
      let index = try await Self.index(of: stream, query: "?\(query)", port: port)
      for path in ["main/live.m3u8", "low/live.m3u8"] { #expect(index.contains("\n\(path)?\(query)\n")) }
      let playlist = try await RawClient.getMedia("/a/b/low/\(Self.start)&\(query)", port: port).body
      // Each address that it names has the token, those of the other renditions' reports too.
      let addresses = playlist.matches(of: /URI="([^"]*)"/).map { String($0.output.1) }
      #expect(addresses.contains { $0.hasPrefix("../main/live.m3u8?") } && addresses.count > 2)
      #expect(addresses.allSatisfy { $0.hasSuffix("?\(query)") }, "\(addresses)")
      let part = try Self.part(playlist)
      let plain = try #require(part.split(separator: "?").first)
      for (path, opens) in [
        ("low/\(part)", true), ("low/\(plain)", false), ("low/\(plain)?token=0123456789abcdee", false),
        ("low/snapshot.jpg?\(query)", true), ("low/snapshot.jpg", false), ("low/playlist.m3u8", false),
        ("main/live.m3u8?\(query)", true), ("main/live.m3u8", false), ("low/live.m3u8?token=", false),
      ] {
        let status = try await RawClient.getMedia("/a/b/\(path)", port: port, method: "HEAD").head.prefix(12)
        #expect(status == (opens ? "HTTP/1.1 200" : "HTTP/1.1 401"), "\(path)")
      }
      // A token in an address never changes anything, and a viewer's not in a header either.
      for (path, field, status) in [
        ("\(Self.low)?\(query)", "X: x", 401), (Self.low, "Authorization: Bearer 0123456789abcdef", 403),
      ] {
        let response = try await HTTPControlTests.send("DELETE", "", to: path, host: "cam.lan", port: port, field)
        #expect(response.head.hasPrefix("HTTP/1.1 \(status)"), "\(path) \(response.head)")
      }
      #expect(stream.rendition(named: "low") != nil)
    }
  }

  @Test func `a ticket opens recordings only, whatever it is for`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "us", password: "pw")]
      $0.control = .operators
    }
    try await self.withServedStream(access: access) { server, stream, port in
      let responder = server.responder
      for subject in ["a/b/low/live.m3u8", "a/b/low", "low/live.m3u8", "a/b/index.m3u8", "a/b/low/snapshot.jpg"] {
        for role in ["viewer", "operator"] {
          let ticket = responder.tickets.ticket(
            for: "\(role) \(access.usersVersion) \(subject)", now: responder.clock.now())
          for path in ["/a/b/low/live.m3u8", "/a/b/low/snapshot.jpg", "/a/b/index.m3u8", "/low/live.m3u8"] {
            let response = try await RawClient.get("\(path)?ticket=\(ticket)", port: port)
            #expect(response.head.hasPrefix("HTTP/1.1 401"), "\(subject) \(path)")
          }
        }
      }
      // No encoder was opened for any of them.
      #expect(stream.rendition(named: "low")?.statistics.starts == 0)
    }
  }

  @Test func `once faces are private, what each rendition had is gone`() async throws {
    try await self.withStream { stream, port in
      let playlist = try await RawClient.getMedia("/a/b/low/\(Self.start)", port: port).body
      let part = try Self.part(playlist)
      let initialization = try #require(playlist.firstMatch(of: /EXT-X-MAP:URI="([^"]*)"/)).output.1
      let ofMain = try Self.part(try await RawClient.getMedia("/a/b/main/\(Self.start)", port: port).body)
      stream.discardEarlier()
      for path in ["low/\(part)", "low/\(initialization)", "main/\(ofMain)", ofMain] {
        #expect(try await RawClient.get("/a/b/\(path)", port: port).head.hasPrefix("HTTP/1.1 410"), "\(path)")
      }
      // The rendition goes on with new segments.
      let next = try await RawClient.getMedia("/a/b/low/live.m3u8", port: port)
      #expect(next.head.hasPrefix("HTTP/1.1 200") && !next.body.contains("\"\(part)\""))
    }
  }
}
