internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1

/// Converts between the messages of NIO's HTTP/1 coders and those of HTTPTypes.
///
/// It takes the place of NIOExtras' codec, which parses each target with Foundation and makes each field name again.
final class HTTP1Codec: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch self.unwrapInboundIn(data) {
    case .head(let head):
      do {
        context.fireChannelRead(self.wrapInboundOut(.head(try HTTPRequest(head))))
      } catch {
        context.fireErrorCaught(error)
      }
    case .body(let bytes): context.fireChannelRead(self.wrapInboundOut(.body(bytes)))
    case .end(let trailers):
      context.fireChannelRead(self.wrapInboundOut(.end(trailers.map { HTTPFields(fields: $0) })))
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch self.unwrapOutboundIn(data) {
    case .head(let response):
      context.write(self.wrapOutboundOut(.head(HTTPResponseHead(response))), promise: promise)
    case .body(let bytes): context.write(self.wrapOutboundOut(.body(.byteBuffer(bytes))), promise: promise)
    case .end(let trailers):
      context.write(self.wrapOutboundOut(.end(trailers.map(HTTPHeaders.init))), promise: promise)
    }
  }
}

extension HTTPRequest {
  /// A request of HTTP/1; its scheme is `http` within TLS too.
  ///
  /// - Throws: For a method that is no token.
  fileprivate init(_ head: HTTPRequestHead) throws {
    self.init(
      method: try Method(head.method), scheme: "http", authority: head.headers.first(name: "host"),
      path: Self.originForm(head.uri), headerFields: HTTPFields(fields: head.headers))
  }

  /// Path and query of a target, also of one in absolute form, RFC 9112 §3.2.
  private static func originForm(_ target: String) -> String {
    guard target.utf8.first != UInt8(ascii: "/"), let mark = target.firstRange(of: "://") else { return target }
    var rest = target[mark.upperBound...]
    if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
    guard let start = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
      return "/"
    }
    return rest.utf8[start] == UInt8(ascii: "/") ? String(rest[start...]) : "/\(rest[start...])"
  }
}

extension HTTPFields {
  /// The fields of a message of HTTP/1 without the first `Host`, which is the request's authority.
  fileprivate init(fields: HTTPHeaders) {
    self.init()
    self.reserveCapacity(fields.count)
    var isFirstHost = true
    for (name, value) in fields {
      // The parser lets tokens through only.
      guard let name = HTTPField.Name.common[name] ?? HTTPField.Name(name) else { continue }
      if isFirstHost, name == .host {
        isFirstHost = false
      } else {
        self.append(HTTPField(name: name, value: value))
      }
    }
  }
}

extension HTTPField.Name {
  // Safe because these are valid names.
  fileprivate static let host = HTTPField.Name("Host")!

  /// Names of fields that players and browsers send, as they spell them.
  fileprivate static let common: [String: HTTPField.Name] = {
    let names = [
      "Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection", "Range", "If-None-Match",
      "If-Modified-Since", "Origin", "Referer", "Cookie", "Authorization", "Cache-Control", "Pragma", "Priority", "DNT",
      "Icy-MetaData", "Content-Length", "Content-Type", "Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Proto",
      "X-Forwarded-Host", "X-Real-IP", "X-Playback-Session-Id", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
      "Sec-Fetch-User", "Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform", "Upgrade-Insecure-Requests",
    ]
    var common: [String: HTTPField.Name] = [:]
    for spelling in names + names.map({ $0.lowercased() }) { common[spelling] = HTTPField.Name(spelling) }
    return common
  }()
}
