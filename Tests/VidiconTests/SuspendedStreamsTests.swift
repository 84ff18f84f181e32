import Foundation
import Media
import NIOCore
import TestSupport
import Testing
import Vidicon

@Suite("Streams of HLS that a server continues for another", .timeLimit(.minutes(5)))
struct SuspendedStreamsTests {
  private static func server(isProtected: Bool) async throws -> CameraServer {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0), isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    if isProtected { settings.access.users = [Credentials(user: "viewer", password: "secret")] }
    let server = CameraServer(settings: settings)
    try await server.start()
    return server
  }

  private static func stream(isPrivate: Bool = false) -> LiveStream {
    let stream = LiveStream("live", video: VideoSettings(width: 64, height: 36, frameRate: 10))
    stream.attachVideo(BarsCapturer(width: 64, height: 36))
    if isPrivate { stream.effects = [PrivacyMask()] }
    return stream
  }

  /// Names of the segments in the playlist, once it has some.
  private static func segments(of server: CameraServer, isProtected: Bool = false) async throws -> [String] {
    let port = try #require(server.ports?.http)
    let login = isProtected ? "--anyauth --user viewer:secret" : ""
    let curl = "curl --silent --fail --retry 250 --retry-delay 1 --retry-max-time 300 --max-time 300 \(login)"
    let playlist = try await output(ofShell: "\(curl) http://127.0.0.1:$1/live/playlist.m3u8", "\(port)")
    return String(decoding: playlist, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { String($0) }
  }

  /// Segments of a stream with a viewer, and the bytes that its server leaves.
  private static func suspend(isProtected: Bool) async throws -> (segments: [String], bytes: ByteBuffer) {
    let server = try await Self.server(isProtected: isProtected)
    try await server.serve(Self.stream())
    let segments = try await Self.segments(of: server, isProtected: isProtected)
    var left: ByteBuffer?
    await server.stop(suspending: { left = $0 })
    try #require(segments.count >= 3)
    return (segments, try #require(left))
  }

  @Test(arguments: [false, true])
  func `the segments of before stay in the playlist`(isProtected: Bool) async throws {
    let (segments, bytes) = try await Self.suspend(isProtected: isProtected)
    let server = try await Self.server(isProtected: isProtected)
    try server.resume(from: bytes)
    try await server.serve(Self.stream())
    let names = try await Self.segments(of: server, isProtected: isProtected)
    let last = try #require(segments.last)
    #expect(names.contains(last), "\(names) without \(last)")
    await server.stop()
  }

  @Test func `a stream that covers faces from its start shows none of them`() async throws {
    let (segments, bytes) = try await Self.suspend(isProtected: false)
    let server = try await Self.server(isProtected: false)
    try server.resume(from: bytes)
    try await server.serve(Self.stream(isPrivate: true))
    let names = try await Self.segments(of: server)
    #expect(!names.isEmpty && Set(names).isDisjoint(with: segments), "\(names)")
    // The numbers go on nevertheless.
    #expect(names.first?.split(separator: "-").first == segments.first?.split(separator: "-").first)
    await server.stop()
  }

  @Test func `segments for viewers with a password are not for all`() async throws {
    let (segments, bytes) = try await Self.suspend(isProtected: true)
    let server = try await Self.server(isProtected: false)
    try server.resume(from: bytes)
    try await server.serve(Self.stream())
    let names = try await Self.segments(of: server)
    #expect(!names.isEmpty && Set(names).isDisjoint(with: segments), "\(names)")
    #expect(names.first?.split(separator: "-").first != segments.first?.split(separator: "-").first)
    await server.stop()
  }

  @Test func `damaged bytes are refused, and a server without viewers leaves none`() async throws {
    let server = try await Self.server(isProtected: false)
    #expect(throws: ParsingError.self) { try server.resume(from: ByteBuffer(string: "no segments")) }
    try await server.serve(Self.stream())
    var left: ByteBuffer?
    await server.stop(suspending: { left = $0 })
    #expect(left == nil)
  }
}
