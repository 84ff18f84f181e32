import Media
import Serving
import Testing

@testable import RTSPServer

@Suite("Starting an RTSP server", .timeLimit(.minutes(5)))
struct RTSPServerStartTests {
  @Test func `a start whose port is in use leaves no UDP socket open, and a later one succeeds`() async throws {
    var settings = RTSPServerSettings(port: 0)
    settings.address = "127.0.0.1"
    settings.offersUDP = true
    let first = RTSPServer(settings: settings)
    try await first.start()
    settings.port = try #require(first.ports?.plain)
    let second = RTSPServer(settings: settings)
    let error = await #expect(throws: VidiconError.self) { try await second.start() }
    #expect(error?.code == .portInUse && second.ports == nil)
    #expect(first.directory.sockets != nil && second.directory.sockets == nil)
    await first.stop()
    try await second.start()
    #expect(second.ports != nil && second.directory.sockets != nil)
    await second.stop()
  }
}
