internal import Authentication
internal import Capture
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
package import NIOPosix
public import Streaming
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// An HTTP server for any number of streams and viewers: HLS, pictures, the web page, numbers.
///
/// Plain HTTP/1.1 and, where TLS is on, HTTP/2. What is sent is built once and shared by all who ask.
public final class HTTPServer: Sendable {
  /// The TCP ports in use.
  public struct Ports: Hashable, Sendable {
    /// HTTP.
    public var http: Int
    /// HTTP over TLS, where it is on.
    public var https: Int?
  }

  private struct State {
    var ports: Ports?
    var listeners: [Listener] = []
  }

  private let settings: HTTPServerSettings
  private let group: MultiThreadedEventLoopGroup
  private let ownsGroup: Bool
  private let loops: ConnectionLoops
  private let streams = PublishedStreams()
  private let responder: HTTPResponder
  private let state = Mutex(State())

  /// An event loop for each core, at most four: beyond that the streams' encoders need the cores more.
  private static let eventLoopCount = min(System.coreCount, 4)

  /// A server that does not listen yet.
  public convenience init(settings: HTTPServerSettings, extras: HTTPServerExtras = HTTPServerExtras()) {
    self.init(settings: settings, extras: extras, group: nil)
  }

  /// A server that does not listen yet.
  ///
  /// - Parameter group: Event loops that are shared with other servers, and shut down by who made them; nil for some of
  ///   its own.
  package init(settings: HTTPServerSettings, extras: HTTPServerExtras, group: MultiThreadedEventLoopGroup?) {
    self.settings = settings
    self.ownsGroup = group == nil
    self.group = group ?? MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount)
    self.loops = ConnectionLoops(
      eventLoops: Array(self.group.makeIterator()), limits: settings.limits,
      most: min(settings.limits.connections, Self.mostFiles))
    self.responder = HTTPResponder(
      streams: self.streams, extras: extras,
      authenticator: Authenticator(
        credentials: settings.credentials, secret: (0..<32).map { _ in UInt8.random(in: 0...UInt8.max) }))
  }

  /// The ports in use; nil before ``start()``.
  public var ports: Ports? {
    self.state.withLock { $0.ports }
  }

  /// Makes a stream that has been started available under its name; the first one also without a name.
  public func publish(_ stream: LiveStream) {
    let now = StreamClock.system.now()
    self.streams.append(PublishedStream(stream, publishedAt: StreamClock.system.unixTime(at: now)))
  }

  /// Takes a stream away; requests that wait for it are answered.
  public func unpublish(_ stream: LiveStream) {
    _ = self.streams.remove(stream)
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Throws: ``HTTPServerError`` when a port is taken or may not be used, or the certificate cannot be had.
  public func start() async throws(HTTPServerError) {
    guard self.ports == nil else { return }
    let address = self.settings.address ?? Self.anyAddress
    guard (try? SocketAddress(ipAddress: address, port: 0)) != nil else {
      throw HTTPServerError(
        .malformedAddress, cause: "\"\(address)\" is not an IPv4 or IPv6 address",
        nextStep: "give one of this machine's, such as 127.0.0.1, or none to listen on all")
    }
    for credentials in self.settings.credentials where credentials.password.isEmpty {
      throw HTTPServerError(
        .invalidCredential, cause: "\"\(credentials.user)\" has no password", nextStep: "give one that is not empty")
    }
    let responder = self.responder
    let http1 = HTTP1Channel(
      responder: { request, writer, _ in
        let answer = await responder.answer(request.head)
        switch answer.body {
        case .bytes(let bytes):
          var fields = answer.fields
          fields[.contentLength] = "\(bytes.readableBytes)"
          try await writer.write(
            response: HTTPResponse(status: answer.status, headerFields: fields), body: ResponseBody(byteBuffer: bytes))
        default: try await writer.writeResponse(HTTPResponse(status: answer.status, headerFields: answer.fields))
        }
      }, configuration: HTTP1Channel.Configuration())
    let listener: Listener
    do {
      listener = try await Listener.open(
        GuardedChannel(base: http1, loops: self.loops), address: address, port: self.settings.port, group: self.group)
    } catch {
      throw HTTPServerError(error, address: self.settings.address, port: self.settings.port)
    }
    self.state.withLock { state in
      state.ports = Ports(http: listener.port)
      state.listeners = [listener]
    }
  }

  /// Closes the ports and every connection.
  public func stop() async {
    let listeners = self.state.withLock { state in
      defer { state = State() }
      return state.listeners
    }
    _ = self.streams.removeAll()
    await self.loops.closeAll()
    for listener in listeners { await listener.close() }
    // It fails only when called twice, or from one of its own event loops.
    if self.ownsGroup { try? await self.group.shutdownGracefully() }
  }

  /// All IPv6 and IPv4 addresses, or all IPv4 ones on a machine without IPv6.
  private static var anyAddress: String {
    let devices = (try? System.enumerateDevices()) ?? []
    return devices.contains { $0.address?.protocol == .inet6 } ? "::" : "0.0.0.0"
  }

  /// Files that connections may have open: at the system's limit nobody could be refused, and the rest of the process
  /// needs some.
  private static let mostFiles: Int = {
    var limit = rlimit()
    #if canImport(Darwin)
    let result = getrlimit(RLIMIT_NOFILE, &limit)
    #else
    let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #endif
    return result == 0 ? max(1, Int(clamping: limit.rlim_cur) - 128) : 1024
  }()
}
