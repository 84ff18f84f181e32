import Capture
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
    await #expect(throws: StreamError.nameTaken("a")) { try await server.publish(first) }
    let second = self.stream("a")
    await #expect(throws: StreamError.nameTaken("a")) { try await server.publish(second) }
    #expect(first.isRunning && !second.isRunning)
    await first.stop()
    try await server.publish(second)
    #expect(second.isRunning)
    await server.stop()
    #expect(!second.isRunning)
  }

  @Test func `a name that cannot stand in an address is refused`() async throws {
    let server = CameraServer(rtspPort: 0)
    await #expect {
      try await server.publish(self.stream("metrics"))
    } throws: { error in
      guard case .unusableName("metrics", _)? = error as? StreamError else { return false }
      return true
    }
  }
}
