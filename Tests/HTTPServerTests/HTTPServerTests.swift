import Testing

@testable import HTTPServer

@Suite("HTTP server")
struct HTTPServerTests {
  @Test func `a taken port is told in one line`() async throws {
    let first = HTTPServer(settings: HTTPServerSettings(port: 0))
    try await first.start()
    let port = try #require(first.ports?.http)
    let second = HTTPServer(settings: HTTPServerSettings(port: port))
    await #expect(
      throws: HTTPServerError(
        .portTaken, cause: "port \(port) is taken by another program",
        nextStep: "choose another port with --http-port or --https-port; 0 takes any free one")
    ) {
      try await second.start()
    }
    await second.stop()
    await first.stop()
  }
}
