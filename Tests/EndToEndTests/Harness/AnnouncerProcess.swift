import Foundation

/// The program in a network of its own, which announces a stream until it is told to end.
struct AnnouncerProcess {
  let child: ChildProcess

  /// Serves a stream on an address.
  init(
    in network: MDNSNetwork, listeningOn address: String = "::", stream: String = "hello", http: Int = 8080,
    rtsp: Int = 8554
  ) throws {
    self.child = try network.start(
      VidiconProcess.path(),
      ["serve", "--json", "--bind", address, "--http-port", "\(http)", "--rtsp-port", "\(rtsp)", "--name", stream]
        + ["--source", "plasma", "--audio", "none", "--size", "160x90", "--fps", "5"])
  }

  /// The name under which a stream is announced.
  static func name(of stream: String) -> String {
    let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
    return "\(stream) on \(host)"
  }

  /// Tells it to end, and waits for that.
  func end() async throws -> ChildProcess.Exit? {
    self.child.signal(SIGINT)
    return await self.child.end(within: .seconds(5))
  }
}
