import Serving
import Synchronization
import TestSupport
import Testing
import Vidicon

@Suite("Events of a camera server, for the log")
struct CameraServerLogTests {
  @Test(.timeLimit(.minutes(10)))
  func `the end of the server is the cause of the end of a viewer's visit`() async throws {
    var settings = CameraServerSettings(rtsp: RTSPServerSettings(port: 0), http: nil, isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    let events = Mutex<[ServerEvent]>([])
    let server = CameraServer(
      settings: settings, catalog: .all, privacy: .shared, discovery: { _ in },
      log: { event in events.withLock { $0.append(event) } })
    let stream = LiveStream("live", video: VideoSettings(width: 128, height: 72, frameRate: 10))
    stream.attachVideo(BarsCapturer(width: 128, height: 72))
    try await server.serve(stream)
    try await server.start()
    let port = try #require(server.ports?.rtsp)
    async let player = output(
      ofShell: #"ffmpeg -v error -rtsp_transport tcp -i "rtsp://127.0.0.1:$1/live" -f null - || true"#, "\(port)")
    try await eventually { !events.withLock { $0.isEmpty } }
    await server.stop()
    _ = try await player
    let lines = events.withLock { $0 }.map { event in
      switch event {
      case .viewerJoined(let visit): "joined \(visit.protocolName) \(visit.stream) \(visit.rendition) \(visit.address)"
      case .viewerLeft(let visit, _): "left \(visit.end)"
      default: "\(event)"
      }
    }
    #expect(lines == ["joined rtsp live main 127.0.0.1", "left stream"])
  }
}
