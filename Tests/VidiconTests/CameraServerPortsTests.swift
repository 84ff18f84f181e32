import Foundation
import HTTPServer
import Media
import RTSPServer
import Synchronization
import TestSupport
import Testing

@testable import Vidicon

@Suite("Ports of a server, from start to end")
struct CameraServerPortsTests {
  /// A server on free ports of the loopback address.
  private func server(hasHTTP: Bool = true, rtspPort: Int = 0) -> CameraServer {
    CameraServer(settings: Self.settings(hasHTTP: hasHTTP, rtspPort: rtspPort))
  }

  private static func settings(hasHTTP: Bool = true, rtspPort: Int = 0) -> CameraServerSettings {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: rtspPort), http: hasHTTP ? HTTPServerSettings(port: 0) : nil, isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    return settings
  }

  /// SHA-256 fingerprint of the certificate of a TLS port.
  private static func certificateFingerprint(ofPort port: Int) async throws -> String {
    let text = try await output(
      ofShell: "openssl s_client -connect 127.0.0.1:$1 </dev/null | openssl x509 -noout -fingerprint -sha256", "\(port)"
    )
    return String(decoding: text, as: UTF8.self).split(separator: "=").last
      .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) } ?? ""
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

  @Test func `RTSP and RTMP over TLS have the certificate of HTTP over TLS, and cannot be opened without one`()
    async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var settings = Self.settings()
    settings.rtsp.tls = TLSSettings(port: 0)
    settings.rtmp = RTMPServerSettings(port: nil)
    settings.rtmp?.address = "127.0.0.1"
    settings.rtmp?.tls = TLSSettings(port: 0)
    let without = CameraServer(settings: settings)
    let error = await #expect(throws: VidiconError.self) { try await without.start() }
    #expect(error?.code == .invalidSpecification && error?.subject == "RTSP over TLS")
    await without.stop()
    settings.http?.tls = .init(port: 0, certificate: .localAuthority(folder: folder))
    let server = CameraServer(settings: settings)
    try await server.start()
    let ports = try #require(server.ports)
    var fingerprints: [String] = []
    for port in [ports.https, ports.rtsps, ports.rtmps] {
      fingerprints.append(try await Self.certificateFingerprint(ofPort: try #require(port)))
    }
    #expect(Set(fingerprints) == [try #require(server.certificateFingerprint)])
    #expect(ports.rtmp == nil)
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

  @Test func `ports in use are replaced by alternatives, which addresses have and one line each reports`() async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var settings = Self.settings()
    settings.http?.tls = .init(port: 0, certificate: .localAuthority(folder: folder))
    settings.rtmp = RTMPServerSettings(port: 0)
    settings.rtmp?.address = "127.0.0.1"
    settings.webRTC = WebRTCServerSettings(port: 0)
    settings.webRTC?.address = "127.0.0.1"
    let first = CameraServer(settings: settings)
    try await first.start()
    let taken = try #require(first.ports)
    let (rtsp, rtmp, webRTC) = (taken.rtsp, try #require(taken.rtmp), try #require(taken.webRTC))
    let (http, https) = (try #require(taken.http), try #require(taken.https))
    settings.rtsp.port = rtsp
    settings.rtsp.alternativePorts = [http, 0]
    settings.http?.port = http
    settings.http?.alternativePorts = [https, 0]
    settings.http?.tls?.port = https
    settings.http?.tls?.alternativePorts = [0]
    settings.rtmp?.port = rtmp
    settings.rtmp?.alternativePorts = [0]
    settings.webRTC?.port = webRTC
    settings.webRTC?.alternativePorts = [0]
    let lines = Mutex<[String]>([])
    let second = CameraServer(settings: settings, report: { line in lines.withLock { $0.append(line) } })
    try await second.start()
    let ports = try #require(second.ports)
    let all = [ports.rtsp, ports.http ?? 0, ports.https ?? 0, ports.rtmp ?? 0]
    #expect(Set(all + [rtsp, http, https, rtmp]).count == 8 && !all.contains(0) && ports.webRTC != webRTC)
    #expect(
      lines.withLock { $0 } == [
        "port \(rtsp) is in use; RTSP is served on port \(all[0]) instead",
        "port \(http) is in use; HTTP is served on port \(all[1]) instead",
        "port \(https) is in use; HTTPS is served on port \(all[2]) instead",
        "port \(rtmp) is in use; RTMP is served on port \(all[3]) instead",
        "port \(webRTC) is in use; WebRTC is served on port \(try #require(ports.webRTC)) instead",
      ])
    let addresses = second.addresses(of: LiveStream("a"))
    #expect(addresses.rtsp.allSatisfy { $0.hasPrefix("rtsp://127.0.0.1:\(all[0])/") } && !addresses.rtsp.isEmpty)
    #expect(addresses.page.contains { $0.hasPrefix("http://127.0.0.1:\(all[1])/") }, "\(addresses.page)")
    await second.stop()
    await first.stop()
  }

  @Test func `a stream that was served before a start that failed is served by the next one`() async throws {
    let (first, other) = (self.server(), self.server())
    try await first.start()
    try await other.start()
    let taken = [try #require(first.ports?.rtsp), try #require(other.ports?.http)]
    // RTSP opens before HTTP, RTMP after it.
    var settings = Self.settings()
    settings.rtmp = RTMPServerSettings(port: taken[1])
    settings.rtmp?.address = "127.0.0.1"
    for (settings, holder) in [(Self.settings(rtspPort: taken[0]), first), (settings, other)] {
      let server = CameraServer(settings: settings)
      let stream = LiveStream("a")
      stream.attachVideo(BarsCapturer(width: 64, height: 48))
      try await server.serve(stream)
      let error = await #expect(throws: VidiconError.self) { try await server.start() }
      #expect(error?.code == .portInUse)
      await holder.stop()
      try await server.start()
      let port = try #require(server.ports?.http)
      let body = try await output(ofShell: "curl -s http://127.0.0.1:$1/api/streams/a", "\(port)")
      let entry = String(decoding: body, as: UTF8.self)
      #expect(entry.contains(#""name":"a""#), "\(entry)")
      await server.stop()
    }
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
    try await server.serve(stream)
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
