package import Streaming

/// A server of one protocol, as the server of all protocols has it.
package protocol StreamServer: Sendable {
  associatedtype Output: ServedOutput
  /// Name of the protocol in lower case, such as `rtsp`, as metrics and the API have it.
  static var protocolName: String { get }
  /// The served streams.
  var outputs: OutputDirectory<Output> { get }
  /// Counters of a stream's viewers, those of its renditions included; all zero when the stream is not served.
  func statistics(of stream: LiveStream) -> ViewerStatistics
  /// Stops accepting connections: further ones wait in the system's queue, for another process that has a descriptor of the port.
  func pause() async
  /// Closes the ports and every connection.
  func stop() async
}

/// A server of one protocol whose clients connect over TCP.
package protocol TCPStreamServer: StreamServer {
  /// Ports and connections of the server.
  var tcp: TCPServer { get }
}

extension TCPStreamServer {
  /// The ports in use; nil while the server does not listen.
  package var ports: TCPServer.Ports? { self.tcp.ports }

  /// Stops accepting connections, see ``TCPServer/pause()``.
  package func pause() async {
    await self.tcp.pause()
  }

  /// Closes the ports and every connection; clients that are able to are asked to connect again.
  package func stop() async {
    await self.tcp.stop()
  }
}

extension StreamServer {
  /// Serves a running stream under its name; the first served stream is also found by an empty path.
  package func serve(_ stream: LiveStream) {
    self.outputs.serve(stream)
  }

  /// Removes a stream; its viewers are disconnected when it is stopped.
  package func stopServing(_ stream: LiveStream) {
    self.outputs.stopServing(stream)
  }

  /// Counters of a stream's viewers, those of its renditions included; all zero when the stream is not served.
  package func statistics(of stream: LiveStream) -> ViewerStatistics {
    self.outputs.statistics(of: stream)
  }

  /// Counters of the viewers that have asked for a rendition; all zero before its first viewer.
  package func statistics(of rendition: Rendition) -> ViewerStatistics {
    self.outputs.statistics(of: rendition)
  }
}
