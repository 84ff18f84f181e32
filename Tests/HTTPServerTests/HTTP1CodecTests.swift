import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Testing

@testable import HTTPServer

@Suite("Conversion between HTTP/1 and HTTPTypes")
struct HTTP1CodecTests {
  private static func request(_ head: HTTPRequestHead, _ handler: any ChannelHandler) throws -> HTTPRequest? {
    let channel = EmbeddedChannel(handler: handler)
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    try channel.writeInbound(HTTPServerRequestPart.head(head))
    guard case .head(let request) = try channel.readInbound(as: HTTPRequestPart.self) else { return nil }
    return request
  }

  @Test(
    arguments: [
      "/", "/live/playlist.m3u8?_HLS_msn=3&token=a%20b", "*", "//h/x", "/a:b", "http://h/a/b?c=d", "http://h",
      "http://h/",
      "https://h:81?x=y", "http://h/a?b/c", "http://h/a#b",
    ])
  func `requests are those of NIOExtras' codec`(target: String) throws {
    let fields = [
      ("host", "h"), ("User-Agent", "a player"), ("HOST", "other"), ("accept-encoding", "gzip"), ("x-own", "1"),
      ("X-own", "2"), ("Cookie", "a=b; c=d"),
    ]
    for method in [HTTPMethod.GET, .POST, .PATCH, .RAW(value: "BREW")] {
      let head = HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: HTTPHeaders(fields))
      let request = try #require(try Self.request(head, HTTP1Codec()))
      let expected = try #require(try Self.request(head, HTTP1ToHTTPServerCodec(secure: false)))
      #expect(request == expected)
      #expect(request.headerFields.map(\.name.rawName) == expected.headerFields.map(\.name.rawName))
    }
  }

  @Test func `a method that is no token is an error`() throws {
    let head = HTTPRequestHead(version: .http1_1, method: .RAW(value: "a b"), uri: "/", headers: ["host": "h"])
    #expect(throws: HTTP1TypeConversionError.invalidMethod) { try Self.request(head, HTTP1Codec()) }
  }

  @Test func `the end and the body of a request pass, and a response is converted`() throws {
    let channel = EmbeddedChannel(handler: HTTP1Codec())
    try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "a")))
    try channel.writeInbound(HTTPServerRequestPart.end(["x-trailer": "b"]))
    #expect(try channel.readInbound(as: HTTPRequestPart.self) == .body(ByteBuffer(string: "a")))
    #expect(try channel.readInbound(as: HTTPRequestPart.self) == .end([HTTPField.Name("X-Trailer")!: "b"]))
    let response = HTTPResponse(status: .notFound, headerFields: [.contentType: "text/plain", .contentLength: "1"])
    try channel.writeOutbound(HTTPResponsePart.head(response))
    try channel.writeOutbound(HTTPResponsePart.body(ByteBuffer(string: "c")))
    try channel.writeOutbound(HTTPResponsePart.end(nil))
    let head = HTTPResponseHead(
      version: .http1_1, status: .notFound, headers: ["Content-Type": "text/plain", "Content-Length": "1"])
    #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == .head(head))
    #expect(
      try channel.readOutbound(as: HTTPServerResponsePart.self) == .body(.byteBuffer(ByteBuffer(string: "c"))))
    #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == .end(nil))
    _ = try channel.finish()
  }
}
