import Foundation

/// `vidicon serve` with discovery, in an isolated network.
struct AnnouncerProcess {
  let child: ChildProcess

  /// Serves and announces a stream on an address.
  init(
    in network: MDNSNetwork, listeningOn address: String = "::", stream: String = "hello", http: Int = 8080,
    rtsp: Int = 8554
  ) throws {
    self.child = try network.start(
      VidiconProcess.path(),
      ["serve", "--json", "--bind", address, "--http-port", "\(http)", "--rtsp-port", "\(rtsp)", "--name", stream]
        + ["--source", "plasma", "--audio", "none", "--size", "160x90", "--fps", "5"])
  }

  /// DNS-SD instance name of a stream.
  static func name(of stream: String) -> String {
    let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
    return "\(stream) on \(host)"
  }

  /// Sends SIGINT and waits for the exit and the end of the output.
  func end() async throws -> ChildProcess.Exit? {
    self.child.signal(SIGINT)
    let exit = await self.child.end(within: MachineShare.timeout(.seconds(20)))
    await self.child.output.end()
    await self.child.errors.end()
    return exit
  }
}
