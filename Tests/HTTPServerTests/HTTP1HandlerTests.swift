import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPServer

@Suite("Persistence, Expect and Host of HTTP/1")
struct HTTP1HandlerTests {
  private static func channel() -> EmbeddedChannel {
    EmbeddedChannel(handler: HTTP1Handler(bodyBytes: 10, application: StubApplication()))
  }

  private static func head(
    _ method: HTTPMethod = .GET, _ uri: String = "/", version: HTTPVersion = .http1_1, _ fields: [(String, String)] = []
  ) -> HTTPServerRequestPart {
    .head(HTTPRequestHead(version: version, method: method, uri: uri, headers: HTTPHeaders([("host", "h")] + fields)))
  }

  /// Writes a whole response and returns its head as sent.
  private static func respond(
    on channel: EmbeddedChannel, _ fields: [(String, String)] = [("content-length", "0")],
    status: HTTPResponseStatus = .ok
  ) throws -> HTTPResponseHead? {
    let head = HTTPResponseHead(version: .http1_1, status: status, headers: HTTPHeaders(fields))
    try channel.writeOutbound(HTTPServerResponsePart.head(head))
    try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    var heads: [HTTPResponseHead] = []
    while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
      if case .head(let head) = part { heads.append(head) }
    }
    return heads.first
  }

  @Test(
    arguments: [
      (.http1_1, [], false), (.http1_1, ["a"], true), (.http1_1, ["a", "b"], false), (.http1_0, [], true),
      (.http1_0, ["a", "b"], false),
    ] as [(HTTPVersion, [String], Bool)])
  func `HTTP/1.1 requires one Host field, RFC 9112 §3.2`(version: HTTPVersion, hosts: [String], isAccepted: Bool) throws
  {
    let channel = Self.channel()
    let head = HTTPRequestHead(
      version: version, method: .GET, uri: "/", headers: HTTPHeaders(hosts.map { ("host", $0) }))
    if isAccepted {
      try channel.writeInbound(HTTPServerRequestPart.head(head))
      #expect(try channel.readInbound(as: HTTPServerRequestPart.self) == .head(head))
    } else {
      #expect(throws: RefusedRequest.self) { try channel.writeInbound(HTTPServerRequestPart.head(head)) }
      // No request after it is processed.
      try channel.writeInbound(Self.head())
      #expect(try channel.readInbound(as: HTTPServerRequestPart.self) == nil)
    }
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test(
    arguments: [
      (HTTPVersion.http1_1, [], "", true), (.http1_1, [("connection", "close")], "close", false),
      (.http1_0, [], "close", false), (.http1_0, [("connection", "keep-alive")], "keep-alive", true),
      (.http1_1, [("content-length", "1")], "close", false), (.http1_1, [("content-length", "0")], "", true),
      (.http1_1, [("transfer-encoding", "chunked")], "close", false),
    ] as [(HTTPVersion, [(String, String)], String, Bool)])
  func `the connection persists as the request says, RFC 9112 §9.3`(
    version: HTTPVersion, fields: [(String, String)], connection: String, isOpen: Bool
  ) throws {
    let channel = Self.channel()
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try channel.writeInbound(Self.head(version: version, fields))
    let head = try Self.respond(on: channel)
    #expect(head?.version == version)
    #expect(head?.headers["connection"] == (connection.isEmpty ? [] : [connection]))
    #expect(channel.isActive == isOpen)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test(
    arguments: [
      (HTTPVersion.http1_1, [], true), (.http1_1, [("connection", "close")], false), (.http1_0, [], false),
      (.http1_0, [("connection", "keep-alive")], false), (.http1_1, [("content-length", "1")], false),
    ] as [(HTTPVersion, [(String, String)], Bool)])
  func `a response may pass this handler where its head does not depend on the only request`(
    version: HTTPVersion, fields: [(String, String)], isPassing: Bool
  ) throws {
    let handler = HTTP1Handler(bodyBytes: 10, application: StubApplication())
    let channel = EmbeddedChannel(handler: handler)
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    let hasEndedNone = handler.endOnlyRequest()
    #expect(!hasEndedNone)
    try channel.writeInbound(Self.head(version: version, fields))
    let hasEnded = handler.endOnlyRequest()
    #expect(hasEnded == isPassing)
    guard isPassing else { return }
    // The next ones are two.
    for _ in 0..<2 { try channel.writeInbound(Self.head()) }
    let hasEndedFirst = handler.endOnlyRequest()
    #expect(!hasEndedFirst)
  }

  @Test func `without a length the end of an HTTP/1.0 connection ends the body`() throws {
    let channel = Self.channel()
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try channel.writeInbound(Self.head(version: .http1_0, [("connection", "keep-alive")]))
    #expect(try Self.respond(on: channel, [])?.headers["connection"] == ["close"])
    #expect(!channel.isActive)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test func `a 304 has no body, so an HTTP/1.0 connection persists`() throws {
    let channel = Self.channel()
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try channel.writeInbound(Self.head(version: .http1_0, [("connection", "keep-alive")]))
    #expect(try Self.respond(on: channel, [], status: .notModified)?.headers["connection"] == ["keep-alive"])
    #expect(channel.isActive)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test(arguments: [
    (HTTPMethod.POST, "10", true), (.PUT, "10", true), (.PATCH, "10", true), (.GET, "10", false), (.POST, "0", false),
  ])
  func `100 Continue is sent where a body is read, RFC 9110 §10.1.1`(
    method: HTTPMethod, length: String, isContinued: Bool
  ) throws {
    let channel = Self.channel()
    try channel.writeInbound(Self.head(method, "/", [("content-length", length), ("expect", "100-Continue")]))
    let part = try channel.readOutbound(as: HTTPServerResponsePart.self)
    #expect(part == (isContinued ? .head(HTTPResponseHead(version: .http1_1, status: .continue)) : nil))
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test(arguments: [
    ("POST", "/api/streams/a/effects/mask", 11, false), ("PUT", "/api/streams/a/effects/mask", 11, true),
    ("PUT", "/api/streams/a/effects/overlay", 8 << 20, true),
    ("PUT", "/api/streams/a/effects/overlay", 8 << 20 + 1, false), ("PUT", "/api/streams/a/effects", 11, false),
    ("PUT", "/a/effects/mask", 11, false), ("PUT", "/api/streams/a/effects", 10, true),
  ])
  func `an announced body that is too long is rejected before it is sent`(
    method: String, path: String, length: Int, isAccepted: Bool
  ) throws {
    let channel = Self.channel()
    let head = Self.head(
      HTTPMethod(rawValue: method), path, [("content-length", "\(length)"), ("expect", "100-continue")])
    if isAccepted {
      try channel.writeInbound(head)
      #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) != nil)
    } else {
      #expect {
        try channel.writeInbound(head)
      } throws: {
        ($0 as? RefusedRequest)?.status == .contentTooLarge
      }
    }
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test func `a pipelined request is continued after the response to the one before it`() throws {
    let channel = Self.channel()
    try channel.writeInbound(Self.head())
    try channel.writeInbound(HTTPServerRequestPart.end(nil))
    try channel.writeInbound(Self.head(.POST, "/", [("content-length", "1"), ("expect", "100-continue")]))
    #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == nil)
    let ok = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
    try channel.writeOutbound(HTTPServerResponsePart.head(ok))
    try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == .head(ok))
    #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == .end(nil))
    #expect(
      try channel.readOutbound(as: HTTPServerResponsePart.self)
        == .head(HTTPResponseHead(version: .http1_1, status: .continue)))
    _ = try channel.finish(acceptAlreadyClosed: true)
  }
}
