internal import Authentication
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// The parts of HTTP/1 that are lost in the conversion to HTTPTypes: persistence of connections (`Connection`, HTTP/1.0;
/// RFC 9112 §9.3), `Expect: 100-continue` (RFC 9110 §10.1.1) and the check of `Host` (RFC 9112 §3.2).
final class HTTP1Handler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Requests without a finished response, oldest first.
  private var requests: CircularBuffer<Request> = []
  private var isClosing = false
  private let bodyBytes: Int
  private let application: any HTTPApplication

  private struct Request {
    var version: HTTPVersion
    var endsConnection: Bool
    /// Whether the client waits for `100 Continue` before it sends the body.
    var isExpecting: Bool
  }

  /// - Parameters:
  ///   - bodyBytes: Maximum size of a body for which the application has no limit of its own.
  ///   - application: The resources that are requested.
  init(bodyBytes: Int, application: any HTTPApplication) {
    self.bodyBytes = bodyBytes
    self.application = application
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if self.isClosing { return }
    var data = data
    if case .head(var head) = self.unwrapInboundIn(data) {
      let hosts = head.headers[canonicalForm: "host"].count
      guard hosts == 1 || (hosts == 0 && head.version == .http1_0) else {
        self.isClosing = true
        return context.fireErrorCaught(RefusedRequest(reason: "a request needs exactly one Host field"))
      }
      do throws(RefusedRequest) {
        if try head.prependAuthorityOfTarget() { data = self.wrapInboundOut(.head(head)) }
      } catch {
        self.isClosing = true
        return context.fireErrorCaught(error)
      }
      // A connection with a request body is closed after the response, so that the rest of the body need not be read.
      let hasBody =
        head.headers.contains(name: "transfer-encoding") || (head.headers.first(name: "content-length") ?? "0") != "0"
      let isExpecting = hasBody && head.version == .http1_1 && head.isExpectingContinue
      if isExpecting, let length = head.headers.first(name: "content-length").flatMap({ Int($0) }),
        case let maximumBytes = self.application.maximumBodyBytes(
          method: head.method.rawValue, path: head.uri, default: self.bodyBytes), length > maximumBytes
      {
        self.isClosing = true
        return context.fireErrorCaught(
          RefusedRequest(status: .contentTooLarge, reason: "the body is longer than \(maximumBytes) bytes"))
      }
      self.requests.append(
        Request(
          version: head.version, endsConnection: hasBody || !head.isKeepAlive,
          // Bodies of other methods are not read.
          isExpecting: isExpecting && [.POST, .PUT, .PATCH].contains(head.method)))
      self.continueFirst(context)
    }
    context.fireChannelRead(data)
  }

  /// Sends `100 Continue` when the oldest request expects it.
  private func continueFirst(_ context: ChannelHandlerContext) {
    guard self.requests.first?.isExpecting == true else { return }
    self.requests[self.requests.startIndex].isExpecting = false
    context.writeAndFlush(
      self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
  }

  /// Ends the only request, whose response is written past this handler with its head in bytes.
  ///
  /// - Returns: False, without effect, where the head of the response depends on the request: for HTTP/1.0, and before the end
  ///   of the connection.
  func endOnlyRequest() -> Bool {
    guard self.requests.count == 1, let request = self.requests.first, request.version == .http1_1,
      !request.endsConnection
    else { return false }
    self.requests.removeFirst()
    return true
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch self.unwrapOutboundIn(data) {
    case .head(var head):
      if let request = self.requests.first {
        // HTTP/1.0 has no chunked coding: the end of the connection ends a body without a length.
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

/// A request that HTTP/1.1 requires to be rejected: RFC 9112 §3.2, RFC 9110 §10.1.1.
struct RefusedRequest: Error {
  var status = HTTPResponse.Status.badRequest
  var reason: String
}

extension HTTPRequestHead {
  /// Inserts the authority of an absolute target before `Host`: the conversion takes the first one as the request's
  /// authority, and keeps the other as a field.
  ///
  /// - Returns: Whether the target is absolute, and the head has changed.
  fileprivate mutating func prependAuthorityOfTarget() throws(RefusedRequest) -> Bool {
    guard self.uri.utf8.first != UInt8(ascii: "/"), self.uri != "*" else { return false }
    var authority: Substring?
    if let mark = self.uri.firstRange(of: "://") {
      let scheme: String = self.uri[..<mark.lowerBound].lowercased()
      if scheme == "http" || scheme == "https" {
        authority = self.uri[mark.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      }
    }
    guard let authority, !authority.isEmpty else {
      throw RefusedRequest(reason: "the target must be a path, or an address with http and a host")
    }
    let hosts = self.headers[canonicalForm: "host"]
    self.headers.remove(name: "host")
    for host in [authority] + hosts { self.headers.add(name: "host", value: String(host)) }
    return true
  }

  fileprivate var isExpectingContinue: Bool {
    self.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
  }
}
