internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// What a connection does under HTTP/1 that its requests do not show any more when they have become those of every
/// version: it ends after an answer to a client that says so, or that is of HTTP/1.0 (RFC 9112 §9.3), and lets a client
/// send a body that it asks about first (`Expect: 100-continue`, RFC 9110 §10.1.1).
final class HTTP1Handler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// What is known of the requests that have no answer yet, the oldest first.
  private var requests: CircularBuffer<Request> = []
  private var isClosing = false
  private let bodyBytes: Int

  private struct Request {
    var version: HTTPVersion
    var endsConnection: Bool
    /// Whether the client waits for a word before it sends the body.
    var isExpecting: Bool
  }

  /// - Parameter bodyBytes: The most bytes of a body that is no image.
  init(bodyBytes: Int) {
    self.bodyBytes = bodyBytes
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if self.isClosing { return }
    if case .head(let head) = self.unwrapInboundIn(data) {
      let hosts = head.headers[canonicalForm: "host"].count
      guard hosts == 1 || (hosts == 0 && head.version == .http1_0) else {
        self.isClosing = true
        return context.fireErrorCaught(RefusedRequest(reason: "a request names one host"))
      }
      // Who sends a body gets an answer, and need not send all of it.
      let hasBody =
        head.headers.contains(name: "transfer-encoding") || (head.headers.first(name: "content-length") ?? "0") != "0"
      let isExpecting = hasBody && head.version == .http1_1 && head.isExpectingContinue
      let mostBytes = HTTPBodyLimits.most(method: head.method.rawValue, path: head.uri, others: self.bodyBytes)
      if isExpecting, let length = head.headers.first(name: "content-length").flatMap({ Int($0) }),
        length > mostBytes
      {
        self.isClosing = true
        return context.fireErrorCaught(
          RefusedRequest(status: .contentTooLarge, reason: "a body of more than \(mostBytes) bytes"))
      }
      self.requests.append(
        Request(
          version: head.version, endsConnection: hasBody || !head.isKeepAlive,
          // Of the others no body is read, and the answer comes at once.
          isExpecting: isExpecting && [.POST, .PUT, .PATCH].contains(head.method)))
      self.continueFirst(context)
    }
    context.fireChannelRead(data)
  }

  /// Lets the client send the body of the request whose turn it is.
  private func continueFirst(_ context: ChannelHandlerContext) {
    guard self.requests.first?.isExpecting == true else { return }
    self.requests[self.requests.startIndex].isExpecting = false
    context.writeAndFlush(
      self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch self.unwrapOutboundIn(data) {
    case .head(var head):
      if let request = self.requests.first {
        // A client of HTTP/1.0 knows no chunks: what has no length ends with the connection.
        if request.version.major == 1, request.version.minor == 0 { head.version = .http1_0 }
        let hasLength =
          head.headers.contains(name: "content-length") || head.status.code / 100 == 1
          || head.status == .noContent || head.status == .notModified
        if request.endsConnection || (head.version == .http1_0 && !hasLength) {
          self.requests[self.requests.startIndex].endsConnection = true
          head.headers.replaceOrAdd(name: "connection", value: "close")
        } else if head.version == .http1_0 {
          head.headers.replaceOrAdd(name: "connection", value: "keep-alive")
        }
      }
      context.write(self.wrapOutboundOut(.head(head)), promise: promise)
    case .body: context.write(data, promise: promise)
    case .end:
      let request = self.requests.popFirst()
      guard request?.endsConnection == true else {
        context.write(data, promise: promise)
        return self.continueFirst(context)
      }
      self.isClosing = true
      context.writeAndFlush(data, promise: promise)
      if let connection = try? context.pipeline.syncOperations.handler(type: ConnectionGuard.self) {
        connection.closeSoon()
      }
      context.close(mode: .output, promise: nil)
    }
  }
}

/// Fired for a request that HTTP/1.1 has refused: RFC 9112 §3.2, RFC 9110 §10.1.1.
struct RefusedRequest: Error {
  var status = HTTPResponse.Status.badRequest
  var reason: String
}

extension HTTPRequestHead {
  fileprivate var isExpectingContinue: Bool {
    self.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
  }
}
