import Foundation
import HTTPServer
import Media
import RTSPServer
import TestSupport
import Testing

@testable import Vidicon

@Suite("Publications of a server")
struct PublicationTests {
  private func stream(_ name: String) -> LiveStream {
    let stream = LiveStream(name)
    stream.attachAudio(SilenceCapturer())
    return stream
  }

  private func code(_ body: () throws -> Void) -> VidiconError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? VidiconError)?.code
    }
  }

  @Test func `a name is reserved once, also while its stream starts, and other names stay free`() {
    let publications = Publications()
    let (first, second, other) = (self.stream("a"), self.stream("a"), self.stream("b"))
    #expect(self.code { try publications.reserve(first) } == nil)
    #expect(self.code { try publications.reserve(first) } == .alreadyExists)
    #expect(self.code { try publications.reserve(second) } == .alreadyExists)
    #expect(self.code { try publications.reserve(other) } == nil)
    #expect(publications.published.map(\.name) == ["a", "b"])
    // A start that failed frees the name, and what was attached stays.
    let effects = StreamEffects(first)
    publications.update(first) { $0.effects = effects }
    publications.cancelReservation(of: first)
    #expect(publications.published.map(\.name) == ["b"])
    #expect(publications[first]?.effects === effects && publications[first]?.phase == .attached)
    #expect(self.code { try publications.reserve(second) } == nil)
    #expect(publications.published.map(ObjectIdentifier.init) == [other, second].map(ObjectIdentifier.init))
  }

  @Test func `removing a stream removes everything that was attached to it`() {
    let publications = Publications()
    let stream = self.stream("a")
    publications.update(stream) { $0.sources = StreamSources(stream, video: "plasma") }
    #expect(publications[stream]?.sources?.video == "plasma" && publications.published.isEmpty)
    publications.remove(stream)
    #expect(publications[stream] == nil)
    #expect(publications.controls(of: stream).sources == nil)
  }

  @Test func `only a stream on the network is changed as published`() throws {
    let publications = Publications()
    let stream = self.stream("a")
    let service = try Service(stream: "a", path: "/a", kind: .rtsp, port: 8554, host: "myhost")
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream] == nil)
    publications.update(stream) { _ in }
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream]?.services == [])
    try publications.reserve(stream)
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream]?.services == [service])
    // The end returns the services to withdraw, once.
    #expect(publications.end(stream) == [service])
    #expect(publications.end(stream) == [] && publications[stream]?.phase == .ended)
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream]?.services == [])
    #expect(publications.end(self.stream("b")) == [])
  }

  @Test func `the recorders of streams that have ended are still known`() throws {
    let publications = Publications()
    let (stream, other) = (self.stream("a"), self.stream("b"))
    let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern("a.mp4")))
    publications.update(stream) { $0.recorder = recorder }
    publications.update(other) { _ in }
    try publications.reserve(stream)
    _ = publications.end(stream)
    #expect(publications.recorders.map(ObjectIdentifier.init) == [ObjectIdentifier(recorder)])
    #expect(publications.controls(of: stream).recording != nil && publications.controls(of: other).recording == nil)
  }

  @Test func `the name of a stream that has ended is free for another one, whose services it does not withdraw`()
    async throws
  {
    let publications = Publications()
    let (first, second) = (self.stream("a"), self.stream("a"))
    try publications.reserve(first)
    try await first.start()
    let service = try Service(stream: "a", path: "/a", kind: .http, port: 8080, host: "myhost")
    publications.updatePublished(first) { $0.services = [service] }
    await first.stop()
    try publications.reserve(second)
    #expect(publications.published.map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
    #expect(publications.end(first) == [])
  }
}

@Suite("Addresses and settings of a server")
struct StreamAddressesTests {
  @Test func `each open port has an address for each host, the encrypted ones last`() {
    let all = StreamAddresses(
      path: "/a%20b", hosts: ["10.0.0.5", "[fd00::1]"], ports: .init(rtsp: 8554, rtsps: 8322, http: 8080, https: 8443))
    #expect(
      all.rtsp == [
        "rtsp://10.0.0.5:8554/a%20b", "rtsp://[fd00::1]:8554/a%20b", "rtsps://10.0.0.5:8322/a%20b",
        "rtsps://[fd00::1]:8322/a%20b",
      ])
    #expect(
      all.page == [
        "http://10.0.0.5:8080/a%20b", "http://[fd00::1]:8080/a%20b", "https://10.0.0.5:8443/a%20b",
        "https://[fd00::1]:8443/a%20b",
      ])
    let plain = StreamAddresses(path: "/a", hosts: ["h"], ports: .init(rtsp: 1))
    #expect(plain.rtsp == ["rtsp://h:1/a"] && plain.page == [])
    #expect(StreamAddresses(path: "/a", hosts: [], ports: .init(rtsp: 1, http: 2)).page == [])
  }

  @Test func `by default RTSP and HTTP have their usual ports, and streams are announced`() {
    let settings = CameraServerSettings()
    #expect(settings.rtsp.port == 8554 && settings.http?.port == 8080 && settings.isAnnounced)
    #expect(settings.access.users.isEmpty && settings.rtsp.tls == nil && settings.http?.tls == nil)
  }

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

  @Test(.timeLimit(.minutes(1)))
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
