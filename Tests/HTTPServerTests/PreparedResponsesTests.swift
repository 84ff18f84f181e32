import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypesHTTP1
import TestSupport
import Testing
import Threading

@testable import ControlAPI
@testable import HLSServer
@testable import HTTPServer
@testable import Streaming

@Suite("Prepared responses", .timeLimit(.minutes(5)))
struct PreparedResponsesTests {
  private static func get(_ path: String, _ fields: HTTPFields = [:], authority: String = "localhost") -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "http", authority: authority, path: path, headerFields: fields)
  }

  private static let client = HTTPClient(address: "192.0.2.1", localAddress: "192.0.2.2")

  private static func prepared(_ request: HTTPRequest, _ server: WebServer) -> ServerResponse? {
    server.hls.preparedResponse(to: request, client: Self.client)
  }

  /// The bytes that NIO's encoder makes of a response's head.
  private static func encodedHead(_ response: ServerResponse) throws -> ByteBuffer? {
    let channel = EmbeddedChannel(handler: HTTPResponseEncoder())
    defer { _ = try? channel.finish() }
    let head = HTTPResponseHead(HTTPResponse(status: response.status, headerFields: response.fields))
    try channel.writeOutbound(HTTPServerResponsePart.head(head))
    return try channel.readOutbound(as: ByteBuffer.self)
  }

  private static func body(_ response: ServerResponse) -> ByteBuffer? {
    if case .bytes(let bytes) = response.body { bytes } else { nil }
  }

  /// Field values but the one that depends on the time.
  private static func lines(_ fields: HTTPFields) -> [String] {
    fields.filter { $0.name != .date }.map { "\($0.name.rawName): \($0.value)" }
  }

  @Test func `they are those of other requests, counted in the same way`() async throws {
    try await DiscardableTransfersTests.withServerOfSegment { server, _, segment in
      let served = try #require(server.hls.streams["a"])
      let browser: HTTPFields = [
        .userAgent: "a browser", .acceptEncoding: "gzip, br", .accept: "*/*", .acceptLanguage: "en",
        .connection: "keep-alive",
      ]
      for fields in [[:], [.userAgent: "a player"], browser] as [HTTPFields] {
        for path in [segment, "/a/playlist.m3u8", "/a/live.m3u8", "/playlist.m3u8"] {
          let request = Self.get(path, fields)
          var (prepared, ordinary): (ServerResponse?, ServerResponse?)
          // A playlist may change between the two.
          for _ in 0..<1000 where prepared == nil || prepared?.fields[.eTag] != ordinary?.fields[.eTag] {
            let before = served.bytesSent(of: .hls)
            prepared = Self.prepared(request, server)
            let between = served.bytesSent(of: .hls)
            ordinary = await server.responder.respond(to: request, client: Self.client) { _ in nil }
            #expect(between > before)
          }
          let (first, second) = (try #require(prepared), try #require(ordinary))
          #expect(first.status == second.status)
          #expect(Self.lines(first.fields) == Self.lines(second.fields))
          #expect(Self.body(first) == Self.body(second))
          #expect(first.fields[.contentLength] == Self.body(first).map { "\($0.readableBytes)" })
          #expect((first.transfer == nil) == (second.transfer == nil))
          #expect(first.serializedHead == (try Self.encodedHead(first)))
        }
      }
      // One address with three players.
      #expect(served.viewers(of: .hls, at: server.responder.clock.now()) >= 3)
    }
  }

  @Test func `requests on whose fields a response depends are left to others`() async throws {
    try await DiscardableTransfersTests.withServerOfSegment { server, _, segment in
      #expect(Self.prepared(Self.get(segment), server) != nil)
      let fields: [HTTPFields] = [
        [.range: "bytes=0-1"], [.ifNoneMatch: "\"a\""], [.ifRange: "\"a\""], [.ifModifiedSince: "now"],
        [.origin: "http://other"], [.cookie: "a=b"], [.authorization: "Bearer a"], [.via: "1.1 proxy"],
        [HTTPField.Name("X-Forwarded-For")!: "192.0.2.3"], [HTTPField.Name("Host")!: "localhost"],
      ]
      for fields in fields { #expect(Self.prepared(Self.get(segment, fields), server) == nil, "\(fields)") }
      for path in ["/a/index.m3u8", "/a/none.ts", "/a/playlist.m3u8?token=a", "/none/playlist.m3u8", "\(segment)/"] {
        #expect(Self.prepared(Self.get(path), server) == nil, "\(path)")
      }
      for authority in ["", "evil.example", "local host"] {
        #expect(Self.prepared(Self.get(segment, authority: authority), server) == nil, "\(authority)")
      }
      var head = Self.get(segment)
      head.method = .head
      #expect(Self.prepared(head, server) == nil)
    }
  }

  @Test func `what is kept does not grow with the number of requests`() async throws {
    try await DiscardableTransfersTests.withServerOfSegment { server, _, segment in
      for number in 0..<400 {
        #expect(Self.prepared(Self.get("\(segment)?number=\(number)"), server) != nil)
        let counts = server.hls.prepared.counts
        #expect(counts.targets <= PreparedResponses.maximumCount && counts.responses <= PreparedResponses.maximumCount)
      }
      #expect(Self.prepared(Self.get("\(segment)?\(String(repeating: "a", count: 2000))"), server) == nil)
    }
  }

  @Test func `media that were discarded, and streams that are removed, are no longer found`() async throws {
    try await DiscardableTransfersTests.withServerOfSegment { server, _, segment in
      let served = try #require(server.hls.streams["a"])
      #expect(Self.prepared(Self.get(segment), server) != nil)
      served.stream.discardEarlier()
      try await eventually { Self.prepared(Self.get(segment), server) == nil }
      try await eventually { Self.prepared(Self.get("/a/playlist.m3u8"), server) != nil }
      server.stopServing(served.stream)
      #expect(Self.prepared(Self.get("/a/playlist.m3u8"), server) != nil)
      server.hls.streams.remove(served)
      #expect(Self.prepared(Self.get("/a/playlist.m3u8"), server) == nil)
    }
  }
}
