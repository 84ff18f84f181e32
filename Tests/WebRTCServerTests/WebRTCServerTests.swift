import Authentication
import Capture
import Media
import NIOCore
import NIOEmbedded
import NIOPosix
import RTP
import Serving
import Streaming
import Synchronization
import TestSupport
import Testing

@testable import WebRTCServer

@Suite("The ports of a WebRTC server", .timeLimit(.minutes(5)))
struct WebRTCServerTests {
  private final class Lines: Sendable {
    let all = Mutex<[String]>([])
  }

  /// A server on this machine, and the lines for its owner.
  private func server(port: Int, alternatives: [Int] = []) throws -> (WebRTCServer, Lines) {
    var settings = WebRTCServerSettings(port: port)
    settings.address = "127.0.0.1"
    settings.alternativePorts = alternatives
    let lines = Lines()
    let server = WebRTCServer(
      settings: settings, group: .singleton, registry: ConnectionRegistry(),
      report: { line in lines.all.withLock { $0.append(line) } })
    return (try #require(server), lines)
  }

  @Test func `a port in use ends the start, or is replaced by the first alternative that is free for UDP and TCP`()
    async throws
  {
    let (first, firstLines) = try self.server(port: 0)
    try await first.start()
    let port = try #require(first.udpPort)
    #expect(port > 0 && firstLines.all.withLock { $0 } == [])
    let (required, _) = try self.server(port: port)
    await #expect {
      try await required.start()
    } throws: { error in
      (error as? VidiconError)?.code == .portInUse
    }
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(
      host: "127.0.0.1", port: 0
    ).get()
    let ofTCP = try #require(listener.localAddress?.port)
    for (wanted, alternatives) in [(port, [port, ofTCP, 0]), (ofTCP, [port, 0])] {
      let (server, lines) = try self.server(port: wanted, alternatives: alternatives)
      try await server.start()
      let other = try #require(server.udpPort)
      #expect(![port, ofTCP].contains(other) && lines.all.withLock { $0 } == [])
      await server.stop()
    }
    try await listener.close()
    await first.stop()
    // The number is free again, for both protocols.
    let (again, _) = try self.server(port: port)
    try await again.start()
    #expect(again.udpPort == port)
    await again.stop()
  }

  @Test func `a stream that has no media yet is refused with a status that says so, and opened once it has some`()
    async throws
  {
    let (server, _) = try self.server(port: 0)
    try await server.start()
    let stream = LiveStream("hello")
    let offer = ByteBuffer(string: EmbeddedHub.offerText([.video, .audio]))
    let address = IPAddress.v4(0x7F00_0001)
    server.outputs.serve(stream, descriptions: [])
    await #expect(throws: WebRTCRefusal.noMedia) {
      try await server.open(path: "hello", offer: offer, client: address, serverAddresses: [address])
    }
    server.outputs.stopServing(stream)
    await #expect(throws: WebRTCRefusal.notFound) {
      try await server.open(path: "hello", offer: offer, client: address, serverAddresses: [address])
    }
    server.outputs.serve(stream, descriptions: [.h264(EmbeddedHub.h264)])
    let session = try await server.open(
      path: "hello", offer: offer, client: address, serverAddresses: [address])
    let answer = String(buffer: session.answer)
    #expect(answer.contains("a=sendonly") && answer.contains("a=inactive"), "\(answer)")
    await server.stop()
  }

  @Test
  func
    `a client whose H_264 does not decode the stream is refused with the cause, and gets audio where it wants no more`()
    async throws
  {
    let (server, _) = try self.server(port: 0)
    try await server.start()
    // A stream that does not run: there is no encoder for its transcoding.
    let stream = LiveStream("hello")
    server.outputs.serve(stream, descriptions: [.h264(EmbeddedHub.high), .aac(EmbeddedHub.aac)])
    func open(_ tracks: EmbeddedHub.Tracks) async throws -> String {
      let session = try await server.open(
        path: "hello", offer: ByteBuffer(string: EmbeddedHub.offerText(tracks)), client: .v4(0x7F00_0001),
        serverAddresses: [.v4(0x7F00_0001)])
      return String(buffer: session.answer)
    }
    let answer = try await open(.audio)
    #expect(answer.contains("a=sendonly") && answer.contains("opus/48000/2"), "\(answer)")
    for tracks in [[.video, .audio], .video] as [EmbeddedHub.Tracks] {
      let refusal = await #expect(throws: WebRTCRefusal.self) { _ = try await open(tracks) }
      guard case .noDecoder(let reason)? = refusal else {
        Issue.record("\(String(describing: refusal))")
        continue
      }
      #expect(reason.contains("profile-level-id") && reason.contains("42e01f"))
    }
    await server.stop()
  }

  private struct Weak: Sendable { weak var stream: LiveStream? }

  @Test(arguments: [false, true])
  func `a stream that has ended is not kept, whether it was transcoded or not`(isTranscoded: Bool) async throws {
    let (server, _) = try self.server(port: 0)
    try await server.start()
    let ended: Weak
    do {
      let stream = LiveStream("camera", video: VideoSettings(width: 64, height: 48))
      stream.attachVideo(BarsCapturer(width: 64, height: 48))
      try await stream.start()
      server.outputs.serve(stream)
      let output = try #require(await server.outputs.find("camera"))
      if isTranscoded { #expect(await output.transcoding(for: .nonInterleaved) != nil) }
      await stream.stop()
      ended = Weak(stream: stream)
    }
    try await eventually { ended.stream == nil }
    #expect(server.outputs.all.isEmpty)
    await server.stop()
  }
}

@Suite("Bitrates of transcodings", .timeLimit(.minutes(5)))
struct TranscodingBitrateTests {
  @Test func `the encoder follows its only viewer, else the bitrate that is chosen for the stream`() async throws {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 400_000)
    let stream = LiveStream(
      "camera", video: VideoSettings(width: 64, height: 48, bitrate: 8_000_000, renditions: .list([low])))
    stream.attachVideo(BarsCapturer(width: 64, height: 48))
    try await stream.start()
    let server = try EmbeddedHub()
    server.outputs.serve(stream)
    for (path, chosen) in [("camera", 8_000_000), ("camera/low", 400_000)] {
      let output = try #require(await server.outputs.find(path))
      let transcoding = try #require(await output.transcoding(for: .nonInterleaved))
      let encoding = transcoding.rendition
      #expect(encoding.bitrate == chosen && transcoding.configuredBitrate == chosen)
      // Viewers of a rendition by its name keep it.
      guard path == "camera" else { continue }
      transcoding.follow(chosen / 2, at: .zero)
      let followed = encoding.bitrate
      #expect(followed < chosen / 2 && followed > chosen / 3)
      // Neither the stream nor its rendition is lowered.
      #expect(stream.viewerBitrate == nil && stream.rendition(named: "low")?.bitrate == 400_000)
      // The viewer is followed until it leaves, or another one comes.
      transcoding.update(at: .zero)
      #expect(encoding.bitrate == followed)
      // Another consumer of the stream is none of the transcoding.
      #expect(!transcoding.hasSoleViewer && !output.hasSoleViewer)
      for each in [transcoding, output] { each.counters.viewers.add(1, ordering: .relaxed) }
      #expect(transcoding.hasSoleViewer && output.hasSoleViewer)
      let recording = Consumer()
      stream.add(recording)
      #expect(transcoding.hasSoleViewer && !output.hasSoleViewer)
      stream.remove(recording)
      for each in [transcoding, output] { each.counters.viewers.subtract(1, ordering: .relaxed) }
      // A bitrate that is chosen meanwhile is the limit.
      stream.videoBitrate = 1_000_000
      transcoding.update(at: .zero)
      transcoding.follow(chosen / 2, at: .zero + .seconds(1))
      #expect(encoding.bitrate == 1_000_000)
      stream.videoBitrate = chosen
      transcoding.update(at: .zero)
      transcoding.follow(chosen / 2, at: .zero + .seconds(2))
      #expect(encoding.bitrate == followed)
      transcoding.follow(nil, at: .zero + .seconds(3))
      #expect(encoding.bitrate == chosen)
    }
    stream.videoBitrate = 2_000_000
    stream.rendition(named: "low")?.bitrate = 300_000
    for (path, chosen) in [("camera", 2_000_000), ("camera/low", 300_000)] {
      let output = try #require(await server.outputs.find(path))
      let transcoding = try #require(await output.transcoding(for: .nonInterleaved))
      transcoding.update(at: .zero)
      #expect(transcoding.rendition.bitrate == chosen && transcoding.configuredBitrate == chosen)
    }
    await stream.stop()
  }
}
