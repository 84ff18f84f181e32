public import RTSPServer
public import Streaming
internal import Synchronization

/// Publishes streams on the network.
///
/// ```swift
/// let server = CameraServer(rtspPort: 8554)
/// try await server.publish(stream)
/// try await server.run()  // until cancelled
/// ```
public final class CameraServer: Sendable {
  private let rtsp: RTSPServer
  private let streams = Mutex<[LiveStream]>([])

  /// A server that does not listen yet.
  ///
  /// - Parameters:
  ///   - rtspPort: The TCP port for RTSP; 0 for any free one.
  ///   - httpPort: The TCP port for HTTP; kept for the outputs over HTTP, none of which exists in this version, so that
  ///     nothing listens there.
  public convenience init(rtspPort: Int = 8554, httpPort: Int = 8080) {
    _ = httpPort
    self.init(rtsp: RTSPServerSettings(port: rtspPort))
  }

  /// A server that does not listen yet, with every setting of its protocols.
  public init(rtsp: RTSPServerSettings) {
    self.rtsp = RTSPServer(settings: rtsp)
  }

  /// The ports in use; nil before ``start()``.
  public var ports: RTSPServer.Ports? {
    self.rtsp.ports
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Throws: ``RTSPServerError`` when a port is taken or may not be used, or the TLS files cannot be read.
  public func start() async throws(RTSPServerError) {
    try await self.rtsp.start()
  }

  /// Starts a stream, unless it runs already, and makes it available; the first one published is also found without a
  /// name.
  ///
  /// - Throws: ``StreamError`` when its name cannot stand in an address or is taken by another stream that has not ended,
  ///   when it is published already, or a source or an encoder cannot be opened.
  public func publish(_ stream: LiveStream) async throws(StreamError) {
    if let cause = LiveStream.problem(withName: stream.name) {
      throw .unusableName(stream.name, cause: cause)
    }
    let isAdded = self.streams.withLock { streams in
      streams.removeAll { $0.name == stream.name && $0.hasEnded }
      guard !streams.contains(where: { $0.name == stream.name }) else { return false }
      streams.append(stream)
      return true
    }
    guard isAdded else { throw .nameTaken(stream.name) }
    if !stream.isRunning {
      do throws(StreamError) {
        try await stream.start()
      } catch {
        self.streams.withLock { $0.removeAll { $0 === stream } }
        throw error
      }
    }
    // It may have been taken away, or the server stopped, while it started.
    guard self.streams.withLock({ $0.contains { $0 === stream } }) else {
      await stream.stop()
      throw .stopped
    }
    self.rtsp.publish(stream)
  }

  /// Takes a stream from the network: its viewers are told goodbye, and it is stopped.
  public func unpublish(_ stream: LiveStream) async {
    self.streams.withLock { $0.removeAll { $0 === stream } }
    self.rtsp.unpublish(stream)
    await stream.stop()
  }

  /// What the viewers of a stream got.
  public func viewerStatistics(of stream: LiveStream) -> RTSPStreamStatistics {
    self.rtsp.statistics(of: stream)
  }

  /// Messages from viewers that were not RTSP, since the server started.
  public var malformedRequests: Int {
    self.rtsp.malformedRequests
  }

  /// Opens the ports, if that has not happened, and serves until the task is cancelled; then ends in order.
  ///
  /// - Throws: ``RTSPServerError`` when a port cannot be opened.
  public func run() async throws(RTSPServerError) {
    try await self.start()
    let (ending, continuation) = AsyncStream<Never>.makeStream()
    await withTaskCancellationHandler {
      for await _ in ending {}
    } onCancel: {
      continuation.finish()
    }
    await self.stop()
  }

  /// Stops every stream, tells every viewer goodbye and closes the ports.
  public func stop() async {
    for stream in self.streams.withLock({ $0 }) { await self.unpublish(stream) }
    await self.rtsp.stop()
  }
}
