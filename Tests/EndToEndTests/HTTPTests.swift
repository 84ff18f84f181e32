import Foundation
import Testing

extension EndToEnd {
  @Suite("The HTTP server")
  struct HTTP {
    static let streams = [
      "--stream", "name=cam/front.door,source=plasma,audio=tone,size=320x180",
      "--stream", "name=two,source=bars,audio=none,size=320x180",
    ]
    static let stream = "/cam/front.door"

    /// Expected properties of a response.
    private struct Expected {
      var path: String
      var type: String
      var caching: String
      var status = 200
      /// Whether the next request gets the same body.
      var isStable = true
    }

    @Test func `each kind of file has its type, length, caching and CORS header, and HEAD has the same`()
      async throws
    {
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let files = try await HLSFiles(of: vidicon, stream: Self.stream)
        let (never, forever) = ("no-store", "public, max-age=31536000, immutable")
        let shared = "public, max-age=1, s-maxage=6"
        let (moment, checked) = ("public, max-age=1", "no-cache")
        let (playlist, text) = ("application/vnd.apple.mpegurl", "text/plain; charset=utf-8")
        let all = [
          // First, since the segment leaves the window soon.
          Expected(
            path: "\(Self.stream)/live.m3u8?_HLS_msn=\(files.lastNumber)", type: playlist, caching: "public, max-age=6",
            isStable: false),
          Expected(path: "/", type: "text/html; charset=utf-8", caching: checked),
          Expected(path: Self.stream, type: "text/html; charset=utf-8", caching: checked),
          Expected(path: "/_page/base.css", type: "text/css; charset=utf-8", caching: checked),
          Expected(path: "/_page/player.js", type: "text/javascript; charset=utf-8", caching: checked),
          Expected(path: "/_page/icon.svg", type: "image/svg+xml", caching: checked),
          Expected(path: "/health", type: text, caching: never),
          Expected(
            path: "/metrics", type: "text/plain; version=0.0.4; charset=utf-8", caching: never, isStable: false),
          Expected(path: "/api/streams", type: "application/json", caching: never, isStable: false),
          Expected(path: "/api/streams\(Self.stream)", type: "application/json", caching: never, isStable: false),
          Expected(path: "/api/openapi.json", type: "application/json", caching: "public, no-cache"),
          Expected(path: "/api/qr.svg?text=a", type: "image/svg+xml", caching: "public, max-age=3600"),
          Expected(path: "\(Self.stream)/snapshot.jpg", type: "image/jpeg", caching: never, isStable: false),
          Expected(path: "\(Self.stream)/index.m3u8", type: playlist, caching: moment, isStable: false),
          Expected(path: "\(Self.stream)/playlist.m3u8", type: playlist, caching: moment, isStable: false),
          Expected(path: "\(Self.stream)/live.m3u8", type: playlist, caching: moment, isStable: false),
          Expected(path: files.segment, type: "video/mp2t", caching: shared),
          Expected(path: files.fragment, type: "video/mp4", caching: shared),
          Expected(path: files.part, type: "video/mp4", caching: shared),
          Expected(path: files.initialization, type: "video/mp4", caching: forever),
          Expected(path: "/none", type: text, caching: never, status: 404),
          Expected(path: "/none/snapshot.jpg", type: text, caching: never, status: 404),
          Expected(path: "\(Self.stream)/none.ts", type: text, caching: never, status: 404),
          Expected(path: "\(Self.stream)/snapshot.jpg?width=0", type: text, caching: never, status: 400),
          Expected(path: "/%zz", type: text, caching: never, status: 400),
        ]
        for expected in all {
          let got = try await Curl.get(vidicon.page(expected.path))
          let head = try await Curl.get(vidicon.page(expected.path), ["--head"])
          #expect(got.status == expected.status, "\(expected.path)")
          #expect(got["content-type"] == expected.type, "\(expected.path)")
          #expect(got["cache-control"] == expected.caching, "\(expected.path)")
          #expect(got["content-length"] == "\(got.body.count)", "\(expected.path)")
          #expect(got["access-control-allow-origin"] == nil, "\(expected.path)")
          #expect(!got.body.isEmpty, "\(expected.path)")
          #expect(head.status == expected.status, "HEAD \(expected.path)")
          #expect(Set(head.headers.map(\.name)) == Set(got.headers.map(\.name)), "HEAD \(expected.path)")
          for name in ["content-type", "cache-control"] { #expect(head[name] == got[name], "HEAD \(expected.path)") }
          if expected.isStable {
            for name in ["content-length", "etag"] { #expect(head[name] == got[name], "HEAD \(expected.path)") }
          }
        }
      }
    }

    @Test(arguments: [[], ["--user", "anna:sesame"]])
    func `with --cors a preflight request for media succeeds, with and without a password`(user: [String]) async throws
    {
      let origin = "http://elsewhere.example"
      func preflight(_ vidicon: VidiconProcess, _ path: String) async throws -> Curl {
        try await Curl.get(
          vidicon.page(path),
          ["-X", "OPTIONS", "-H", "Origin: \(origin)", "-H", "Access-Control-Request-Method: GET"]
            + ["-H", "Access-Control-Request-Headers: authorization, range"])
      }
      try await VidiconProcess.serving(Self.streams + user + ["--cors", origin]) { vidicon in
        let answer = try await preflight(vidicon, "\(Self.stream)/live.m3u8")
        #expect(answer.status == 204)
        #expect(answer["access-control-allow-origin"] == origin)
        #expect(answer["access-control-allow-methods"]?.contains("GET") == true)
        let allowed = (answer["access-control-allow-headers"] ?? "").lowercased().components(separatedBy: ", ")
        #expect(allowed.contains("authorization") && allowed.contains("range"))
        for path in ["/api/streams", "/", "/metrics"] {
          let refused = try await preflight(vidicon, path)
          #expect(refused.status == 403 && refused["access-control-allow-origin"] == nil, "\(path)")
        }
      }
      try await VidiconProcess.serving(Self.streams + user) { vidicon in
        let refused = try await preflight(vidicon, "\(Self.stream)/live.m3u8")
        #expect(refused.status == 403 && refused["access-control-allow-origin"] == nil)
      }
    }

    @Test func `text is compressed for clients that accept gzip; media is not`() async throws {
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let files = try await HLSFiles(of: vidicon, stream: Self.stream)
        for path in ["\(Self.stream)/live.m3u8", "/", "/api/openapi.json"] {
          var isCompared = false
          for _ in 0..<20 where !isCompared {
            let plain = try await Curl.get(vidicon.page(path))
            let small = try await Curl.get(vidicon.page(path), ["--compressed"])
            #expect(plain["content-encoding"] == nil)
            #expect(plain["vary"]?.lowercased().contains("accept-encoding") == true, "\(path)")
            // A live playlist may change between the requests: the entity tags differ then.
            guard let tag = plain["etag"]?.dropLast(), small["etag"] == "\(tag)-gzip\"" else { continue }
            isCompared = true
            #expect(small["content-encoding"] == "gzip", "\(path)")
            #expect(small["vary"]?.lowercased().contains("accept-encoding") == true, "\(path)")
            #expect(small.body == plain.body, "\(path)")
            #expect(try #require(small["content-length"].flatMap { Int($0) }) < plain.body.count, "\(path)")
          }
          #expect(isCompared, "\(path)")
        }
        let refused = try await Curl.get(vidicon.page("/"), ["-H", "Accept-Encoding: gzip;q=0, identity"])
        #expect(refused["content-encoding"] == nil)
        for path in [files.segment, files.part, "\(Self.stream)/snapshot.jpg"] {
          let media = try await Curl.get(vidicon.page(path), ["-H", "Accept-Encoding: gzip"])
          #expect(media["content-encoding"] == nil, "\(path)")
        }
      }
    }

    @Test func `conditional and range requests are answered with 304 and 206`() async throws {
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let files = try await HLSFiles(of: vidicon, stream: Self.stream)
        for path in ["/", "/_page/base.css", "/api/openapi.json", files.segment, files.part] {
          let first = try await Curl.get(vidicon.page(path))
          let tag = try #require(first["etag"], "\(path)")
          for condition in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
            let again = try await Curl.get(vidicon.page(path), ["-H", "If-None-Match: \(condition)"])
            #expect(again.status == 304 && again.body.isEmpty, "\(path) \(condition)")
            #expect(again["etag"] == tag)
            #expect(again["cache-control"] == first["cache-control"])
            #expect(again["access-control-allow-origin"] == nil)
          }
          let changed = try await Curl.get(vidicon.page(path), ["-H", "If-None-Match: \"other\""])
          #expect(changed.status == 200 && changed.body == first.body, "\(path)")
        }
        let whole = try await Curl.get(vidicon.page(files.segment))
        let length = whole.body.count
        let ranges: [(asked: String, given: Range<Int>)] = [
          ("0-99", 0..<100), ("188-", 188..<length), ("-188", (length - 188)..<length), ("0-0", 0..<1),
          ("\(length - 1)-\(length + 5)", (length - 1)..<length), ("-\(length + 1)", 0..<length),
        ]
        for (asked, given) in ranges {
          let part = try await Curl.get(vidicon.page(files.segment), ["-H", "Range: bytes=\(asked)"])
          #expect(part.status == 206, "\(asked)")
          #expect(part.body == Array(whole.body[given]), "\(asked)")
          #expect(part["content-range"] == "bytes \(given.lowerBound)-\(given.upperBound - 1)/\(length)")
          #expect(part["content-length"] == "\(given.count)")
        }
        for asked in ["\(length)-", "-0"] {
          let none = try await Curl.get(vidicon.page(files.segment), ["-H", "Range: bytes=\(asked)"])
          #expect(none.status == 416, "\(asked)")
          #expect(none["content-range"] == "bytes */\(length)")
        }
        for asked in ["bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=a-b"] {
          let all = try await Curl.get(vidicon.page(files.segment), ["-H", "Range: \(asked)"])
          #expect(all.status == 200 && all.body == whole.body, "\(asked)")
        }
        let other = ["-H", "Range: bytes=0-9", "-H", "If-Range: \"other\""]
        #expect(try await Curl.get(vidicon.page(files.segment), other).status == 200)
      }
    }

    @Test func `segment names are never reused, and vanish when they leave the window`() async throws {
      let first = try await VidiconProcess.serving(Self.streams) { vidicon in
        let files = try await HLSFiles(of: vidicon, stream: Self.stream)
        var number = files.lastNumber
        // Each response arrives with the next segment. Six segments are listed; some older ones are kept for late viewers.
        while number < files.lastNumber + 40, try await Curl.get(vidicon.page(files.segment)).status == 200 {
          number += 1
          let next = try await Curl.get(vidicon.page("\(Self.stream)/playlist.m3u8?_HLS_msn=\(number)"))
          #expect(next.status == 200)
        }
        let gone = try await Curl.get(vidicon.page(files.segment))
        #expect(gone.status == 404)
        #expect(gone["content-type"] == "text/plain; charset=utf-8" && !gone.body.isEmpty)
        return files
      }
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let second = try await HLSFiles(of: vidicon, stream: Self.stream)
        for path in [first.segment, first.fragment, first.part, first.initialization] {
          #expect(try await Curl.get(vidicon.page(path)).status == 404, "\(path)")
        }
        #expect(second.token != first.token)
        let other = try await HLSFiles(of: vidicon, stream: "/two")
        #expect(other.token != second.token)
      }
    }

    @Test func `an invalid path is refused with a reason`() async throws {
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let paths: [(path: String, status: Int)] = [
          ("/../../../../etc/passwd", 400), ("/%2e%2e/%2e%2e/etc/passwd", 400), ("/cam/../cam/front.door", 400),
          ("/_page/../../../etc/passwd", 400), ("/_page/%2e%2e/%2e%2e/etc/passwd", 400),
          ("/_page/..%2f..%2fetc%2fpasswd", 400), ("/_page/%2fetc%2fpasswd", 400), ("/_page//etc/passwd", 404),
          ("/cam%2ffront.door/snapshot.jpg", 400), ("/cam/front.door/..%5cx", 400), ("/cam/front.door/.", 400),
          ("/%00", 400), ("/cam/front.door/%00.ts", 400), ("/%0d%0aX: y", 400), ("/%", 400), ("/%a", 400),
          ("/%zz", 400), ("/%c3%28", 400), ("/%ff", 400), ("//", 404), ("//etc/passwd", 404),
          ("//cam/front.door", 404), ("/cam//front.door", 404), ("/none", 404), ("/cam", 404), ("/cam/front", 404),
          ("/cam/front.door/x/y", 404), ("/_page/etc/passwd", 404), ("/_page", 404), ("/api", 404),
          ("/api/streams/none", 404), ("/api/streams/../streams", 400), ("/CAM/front.door", 404),
        ]
        for (path, status) in paths {
          let answer = try await Self.ask(vidicon, path.replacingOccurrences(of: " ", with: "%20"))
          #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(path): \(answer)")
          #expect(answer.contains("Content-Type: text/plain; charset=utf-8"), "\(path)")
          #expect(!answer.contains("Access-Control"), "\(path)")
          #expect(!answer.contains("root:"), "\(path)")
          #expect(!answer.hasSuffix("\r\n\r\n"), "there is no reason: \(path)")
        }
        // Bytes that are invalid in a URL.
        for bytes: [UInt8] in [[0xff, 0xfe], [0x01], [0xc3, 0x28]] {
          let answer = try await Self.ask(vidicon, bytes: Array("GET /".utf8) + bytes + Array(" HTTP/1.1".utf8))
          #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(bytes): \(answer)")
        }
        #expect(try await Curl.get(vidicon.page("/health")).status == 200)
      }
    }

    @Test func `out-of-range segment and part numbers are refused within 1 s`() async throws {
      try await VidiconProcess.serving(Self.streams) { vidicon in
        let files = try await HLSFiles(of: vidicon, stream: Self.stream)
        let far = files.lastNumber + 100
        let queries = [
          "_HLS_msn=\(far)", "_HLS_msn=\(far)&_HLS_part=0", "_HLS_msn=9223372036854775807",
          "_HLS_msn=99999999999999999999999999", "_HLS_msn=-1", "_HLS_msn=1e3", "_HLS_msn=", "_HLS_msn",
          "_HLS_msn=%31", "_HLS_msn=\(files.lastNumber)&_HLS_part=4294967296",
          "_HLS_msn=\(files.lastNumber)&_HLS_part=-1",
          "_HLS_part=0", "_HLS_msn=1&_HLS_msn=2",
        ]
        // The other stream has no viewer, so that no segment exists.
        for (path, queries) in [("\(Self.stream)/live.m3u8", queries), ("/two/live.m3u8", Array(queries.prefix(4)))] {
          for query in queries {
            let start = ContinuousClock.now
            let answer = try await Curl.get(vidicon.page("\(path)?\(query)"))
            #expect(answer.status == 400, "\(path)?\(query)")
            #expect(!answer.body.isEmpty)
            #expect(ContinuousClock.now - start < .seconds(1), "\(path)?\(query)")
          }
        }
        for query in ["_HLS_msn=\(far)", "_HLS_msn=x"] {
          #expect(try await Curl.get(vidicon.page("\(Self.stream)/playlist.m3u8?\(query)")).status == 400, "\(query)")
        }
      }
    }

    private static func ask(_ vidicon: VidiconProcess, _ path: String) async throws -> String {
      try await self.ask(vidicon, bytes: Array("GET \(path) HTTP/1.1".utf8))
    }

    /// Response to a request line, as text, until the server closes the connection.
    private static func ask(_ vidicon: VidiconProcess, bytes: [UInt8]) async throws -> String {
      let port = vidicon.httpPort
      return try await waiting {
        let connection = try RawConnection(port: port)
        connection.send(bytes + Array("\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        var answer: [UInt8] = []
        let limit = MachineShare.timeout(.seconds(5))
        while case .bytes(let more) = connection.receive(within: limit) { answer += more }
        return String(decoding: answer, as: UTF8.self)
      }
    }
  }
}
