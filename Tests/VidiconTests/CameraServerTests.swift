import Foundation
import TestSupport
import Testing
import Vidicon

@Suite("Camera server")
struct CameraServerTests {
  private func stream(_ name: String) -> LiveStream {
    let stream = LiveStream(name)
    stream.attachAudio(SilenceCapturer())
    return stream
  }

  private func server(catalog: SourceCatalog = .all) -> CameraServer {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0), isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    return CameraServer(settings: settings, catalog: catalog)
  }

  /// A film that no other test's stream shows.
  private static func ownFilm() throws -> String {
    let bytes = try Data(contentsOf: URL(filePath: TestMedia.flashAndBeep()))
    return try TestMedia.path("film-\(UUID().uuidString).mp4", bytes: bytes)
  }

  /// The code of the error that serving throws; nil when it succeeds.
  private func serve(_ stream: LiveStream, on server: CameraServer) async -> VidiconError.Code? {
    do throws(VidiconError) {
      try await server.serve(stream)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `a name is served once, until its stream has ended`() async throws {
    let server = CameraServer(rtspPort: 0)
    let (first, second) = (self.stream("a"), self.stream("a"))
    #expect(await self.serve(first, on: server) == nil)
    #expect(await self.serve(first, on: server) == .alreadyExists)
    #expect(await self.serve(second, on: server) == .alreadyExists)
    #expect(first.isRunning && !second.isRunning)
    await first.stop()
    #expect(await self.serve(second, on: server) == nil)
    #expect(second.isRunning)
    await server.stop()
    #expect(!second.isRunning)
  }

  @Test func `a stream of a source that another one hides is covered before it is served, until that is withdrawn`()
    async throws
  {
    let server = self.server()
    let name: SourceSpecification.Video = "file:/nowhere/\(UInt64.random(in: 0...UInt64.max))"
    let streams = ["hiding", "other"].map { LiveStream($0) }
    for stream in streams {
      stream.attachVideo(BarsCapturer(width: 64, height: 36))
      server.attach(StreamSources(stream, video: name), to: stream)
    }
    streams[0].effects = [PrivacyMask()]
    let sources = streams.map { StreamSources($0, video: name) }
    try await server.serve(streams[0])
    try await server.serve(streams[1])
    #expect(streams[1].effects.contains { $0.isPrivacy })
    await server.stopServing(streams[0])
    #expect(streams[1].effects.isEmpty)
    await server.stop()
    withExtendedLifetime(sources) {}
  }

  @Test(arguments: [true, false])
  func `of two streams with capturers of one file, one of them private, none is open, whichever is served first`(
    isPrivateFirst: Bool
  ) async throws {
    let server = self.server()
    let path = try Self.ownFilm()
    let streams = ["hiding", "other"].map { LiveStream($0) }
    for stream in streams { stream.attachVideo(try #require(FileSource(path: path).video)) }
    streams[0].effects = [PrivacyMask()]
    for stream in isPrivateFirst ? streams : streams.reversed() {
      try await server.serve(stream)
    }
    #expect(streams[1].effects.contains { $0.isPrivacy })
    #expect(server.sources(of: streams[1])?.video == .file(path: path))
    await server.stopServing(streams[0])
    #expect(streams[1].effects.isEmpty)
    await server.stop()
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func `a running stream that is switched to what another one hides, or hides what another one shows, is covered`(
    isSwitchedToHidden: Bool
  ) async throws {
    let server = self.server()
    let path = try Self.ownFilm()
    let (hiding, other) = (LiveStream("hiding"), LiveStream("other"))
    hiding.effects = [PrivacyMask()]
    let (switched, shown) = isSwitchedToHidden ? (other, hiding) : (hiding, other)
    shown.attachVideo(try #require(FileSource(path: path).video))
    switched.attachVideo(BarsCapturer(width: 64, height: 36))
    for stream in [hiding, other] { try await server.serve(stream) }
    #expect(other.effects.isEmpty)
    try await switched.switchVideo(to: try #require(FileSource(path: path).video))
    #expect(other.effects.contains { $0.isPrivacy })
    #expect(server.sources(of: switched)?.video == .file(path: path))
    if isSwitchedToHidden {
      try await other.switchVideo(to: BarsCapturer(width: 64, height: 36))
      try await eventually { other.effects.isEmpty }
      #expect(server.sources(of: other)?.video == nil)
    }
    await server.stop()
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func `a stream is announced, served before the ports are open or after`(isBefore: Bool) async throws {
    // Without a daemon the failure is reported: either event shows the attempt.
    let (events, continuation) = AsyncStream.makeStream(of: DiscoveryEvent.self)
    var settings = CameraServerSettings(rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0))
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    let server = CameraServer(settings: settings) { continuation.yield($0) }
    let stream = self.stream("a")
    if isBefore { try await server.serve(stream) }
    try await server.start()
    if !isBefore { try await server.serve(stream) }
    let event = await events.first { _ in true }
    await server.stop()
    let text = try ServiceText(["path": "/a"])
    switch event {
    case .announced(let service, _): #expect(service.text == text)
    case .unavailable(let error): #expect(error.subject == "mDNS")
    case nil: Issue.record("no event")
    }
  }

  @Test func `a name that cannot be part of an address is refused`() async throws {
    #expect(await self.serve(self.stream("metrics"), on: CameraServer(rtspPort: 0)) == .invalidSpecification)
  }

  @Test func `a stream that cannot start frees its name, and keeps what was attached`() async throws {
    let server = self.server()
    let broken = LiveStream("a")
    let sources = StreamSources(broken, video: "plasma")
    server.attach(sources, to: broken)
    #expect(await self.serve(broken, on: server) == .missingTrack)
    #expect(server.sources(of: broken) === sources)
    #expect(await self.serve(self.stream("a"), on: server) == nil)
    await server.stop()
  }

  @Test func `a served stream has sources and effects, its own or default ones, until it is withdrawn`() async throws {
    let server = self.server(catalog: .none)
    let (plain, own) = (self.stream("plain"), self.stream("own"))
    let (sources, effects) = (StreamSources(own, audio: "silence"), StreamEffects(own))
    server.attach(sources, to: own)
    server.attach(effects, to: own)
    #expect(server.sources(of: plain) == nil && server.effects(of: plain) == nil)
    for stream in [plain, own] { try await server.serve(stream) }
    #expect(server.sources(of: own) === sources && server.effects(of: own) === effects)
    #expect(server.sources(of: plain)?.stream === plain && server.effects(of: plain)?.stream === plain)
    // The server's catalog is empty.
    await #expect(throws: VidiconError.self) { try await server.sources(of: plain)?.replace(audio: "tone") }
    await server.stopServing(plain)
    #expect(server.sources(of: plain) == nil && server.effects(of: plain) == nil && !plain.isRunning)
    #expect(own.isRunning)
    await server.stop()
    #expect(server.sources(of: own) == nil && !own.isRunning)
  }

  @Test func `addresses name every open port, and none before the start`() async throws {
    let server = self.server()
    let stream = self.stream("a b")
    #expect(server.ports == nil && server.addresses(of: stream).rtsp.isEmpty)
    try await server.start()
    let ports = try #require(server.ports)
    #expect(server.addresses(of: stream).rtsp == ["rtsp://127.0.0.1:\(ports.rtsp)/a%20b"])
    #expect(server.addresses(of: stream).page == ["http://127.0.0.1:\(ports.http ?? 0)/a%20b"])
    await server.stop()
  }

  @Test func `an address that is not an IP address is an invalid specification`() async {
    var settings = CameraServerSettings(rtsp: RTSPServerSettings(port: 0), http: nil, isAnnounced: false)
    settings.rtsp.address = "camera"
    let server = CameraServer(settings: settings)
    do throws(VidiconError) {
      try await server.start()
      Issue.record("the server listens on \"camera\"")
    } catch {
      #expect(error.code == .invalidSpecification)
    }
    await server.stop()
  }
}
