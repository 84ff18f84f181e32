import Foundation

/// Tests/AnnounceServices in a network: it announces a stream until it is told to end.
struct AnnouncerProcess {
  let child: ChildProcess
  private let input = Pipe()

  /// Announces a stream that is served on an address.
  init(
    in network: MDNSNetwork, listeningOn address: String = "::", stream: String = "hello", http: Int = 8080,
    rtsp: Int = 8554
  ) throws {
    let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let path = tests.deletingLastPathComponent().appendingPathComponent("AnnounceServices").path
    self.child = try network.start(path, [address, stream, "myhost", "\(http)", "\(rtsp)"], input: self.input)
  }

  /// Tells it to end, and waits for that.
  func end() async throws -> ChildProcess.Exit? {
    try self.input.fileHandleForWriting.close()
    return await self.child.end(within: .seconds(5))
  }
}
