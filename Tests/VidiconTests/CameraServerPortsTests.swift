import Foundation
import HTTPServer
import Media
import RTSPServer
import TestSupport
import Testing

@testable import Vidicon

@Suite("Ports of a server, from start to end")
struct CameraServerPortsTests {
  /// A server on free ports of the loopback address.
  private func server(hasHTTP: Bool = true, rtspPort: Int = 0) -> CameraServer {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: rtspPort), http: hasHTTP ? HTTPServerSettings(port: 0) : nil, isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    return CameraServer(settings: settings)
  }

  @Test func `without HTTP there are no pages and no viewers of it`() async throws {
    let server = self.server(hasHTTP: false)
    try await server.start()
    let ports = try #require(server.ports)
    #expect(ports.http == nil && ports.https == nil && ports.rtsp > 0)
    let stream = LiveStream("a")
    #expect(server.addresses(of: stream).page == [] && server.addresses(of: stream).rtsp.count == 1)
    #expect(server.httpStatistics(of: stream) == HTTPStreamStatistics() && server.viewers(of: stream) == 0)
    #expect(server.certificateFingerprint == nil && server.malformedRequests == 0)
    await server.stop()
  }

  @Test func `opening the ports again is without effect`() async throws {
    let server = self.server()
    try await server.start()
    let ports = server.ports
    try await server.start()
    #expect(server.ports == ports)
    await server.stop()
  }

  @Test func `a port that is taken is named, and the other one is closed again`() async throws {
    let first = self.server()
    try await first.start()
    let taken = try #require(first.ports)
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: try #require(taken.http)), isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    let servers = [CameraServer(settings: settings), self.server(rtspPort: taken.rtsp)]
    for (server, port) in zip(servers, [taken.http ?? 0, taken.rtsp]) {
      do throws(VidiconError) {
        try await server.start()
        Issue.record("port \(port) is open twice")
      } catch {
        #expect(error.code == .portInUse && error.description.contains("\(port)"))
      }
      #expect(server.ports == nil && server.addresses(of: LiveStream("a")).rtsp == [])
      await server.stop()
    }
    await first.stop()
  }

  @Test(.timeLimit(.minutes(5)))
  func `a cancelled run ends in order: streams and ports are closed, recordings are finished`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "vidicon-\(UUID().uuidString).mp4").path
    defer { try? FileManager.default.removeItem(atPath: path) }  // A leftover file is harmless.
    let server = self.server()
    let stream = LiveStream("a", video: VideoSettings(bitrate: 200_000))
    stream.attachVideo(PlasmaCapturer(width: 64, height: 48, frameRate: FrameRate(25)))
    let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern(path)))
    server.attach(recorder, to: stream)
    try await server.publish(stream)
    try await recorder.start()
    let running = Task { try await server.run() }
    try await eventually { recorder.status.byteCount > 0 && server.ports != nil }
    running.cancel()
    try await running.value
    #expect(!stream.isRunning && recorder.status.state == .idle)
    let scan = try #require(FileManager.default.contents(atPath: path))
    // A finished file: its index precedes the data, ISO/IEC 14496-12 §8.2.1, and it has no fragments.
    #expect(scan.range(of: Data("moov".utf8)) != nil && scan.range(of: Data("moof".utf8)) == nil)
  }
}
