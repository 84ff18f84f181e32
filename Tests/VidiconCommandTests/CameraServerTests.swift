import Capture
import Media
import Streaming
import Testing
import Vidicon

@Suite("Camera server")
struct CameraServerTests {
  private func stream(_ name: String) -> LiveStream {
    let stream = LiveStream(name)
    stream.attachAudio(SilenceCapturer())
    return stream
  }

  @Test func `a name is published once, until its stream has ended`() async throws {
    let server = CameraServer(rtspPort: 0)
    let first = self.stream("a")
    try await server.publish(first)
    await #expect(throws: VidiconError.streamNameTaken("a")) { try await server.publish(first) }
    let second = self.stream("a")
    await #expect(throws: VidiconError.streamNameTaken("a")) { try await server.publish(second) }
    #expect(first.isRunning && !second.isRunning)
    await first.stop()
    try await server.publish(second)
    #expect(second.isRunning)
    await server.stop()
    #expect(!second.isRunning)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [true, false])
  func `a stream is announced, published before the ports are open or after`(isBefore: Bool) async throws {
    // With a daemon it is announced, without one that is told: either way it was tried.
    let (events, continuation) = AsyncStream.makeStream(of: DiscoveryEvent.self)
    var settings = CameraServerSettings(rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0))
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    let server = CameraServer(settings: settings) { continuation.yield($0) }
    let stream = self.stream("a")
    if isBefore { try await server.publish(stream) }
    try await server.start()
    if !isBefore { try await server.publish(stream) }
    for await _ in events { break }
    await server.stop()
  }

  @Test func `a name that cannot stand in an address is refused`() async throws {
    let server = CameraServer(rtspPort: 0)
    let error = await #expect(throws: VidiconError.self) { try await server.publish(self.stream("metrics")) }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.subject == "stream name \"metrics\"")
  }
}
