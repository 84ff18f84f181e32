import Capture
import Codecs
import HLS
import Media
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing
import Threading

@testable import HLSServer
@testable import Streaming

@Suite("HLS output, over virtual time", .timeLimit(.minutes(5)))
struct HLSOutputTests {
  /// An encoder that has no parameter sets, and hangs at its first frame until a gate opens.
  private final class HangingEncoder: VideoEncoder {
    let description: H264Description? = nil
    private let isHanging: Monitor<Bool>
    private let gate: Monitor<Bool>

    init(_ isHanging: Monitor<Bool>, _ gate: Monitor<Bool>) { (self.isHanging, self.gate) = (isHanging, gate) }

    func encode(_ frame: ReleasedFrame, forcesKeyframe: Bool, emit: (EncodedSample) -> Void) throws(VidiconError) {
      self.isHanging.withLock { $0 = true }
      self.gate.wait { $0 ? () : nil }
    }

    func setBitrate(_ bitrate: Int) {}
  }

  /// The stream `a`, 64x64, whose rendition `low` has an encoder that hangs.
  ///
  /// - Parameters:
  ///   - others: Renditions behind it, whose encoders do not hang.
  ///   - timeout: Time for which a rendition's encoder is waited for; by default none passes while a test runs.
  private func withHangingRendition(
    _ others: [RenditionSettings] = [], timeout: MediaDuration = .seconds(1000),
    _ body: (LiveStream, NIOAsyncTestingEventLoop) async throws -> Void
  ) async throws {
    let (isHanging, gate, eventLoop) = (Monitor(false), Monitor(false), NIOAsyncTestingEventLoop())
    let low = RenditionSettings(name: "low", width: 32, height: 32, bitrate: 50_000)
    var video = VideoSettings(width: 64, height: 64, frameRate: 30, renditions: .list([low] + others))
    video.renditionPreparationTimeout = timeout
    let stream = LiveStream("a", video: video)
    stream.attachVideo(PlasmaCapturer(width: 64, height: 64))
    try await stream.start()
    stream.shared.renditions.encoders.replace { (settings) throws(VidiconError) in
      if settings.width == 32 { return HangingEncoder(isHanging, gate) }
      return try LibavH264Encoder(settings)
    }
    func end() async {
      gate.withLock { $0 = true }
      await stream.stop()
      await eventLoop.shutdownGracefully()
    }
    do {
      // In use before it is requested, so that its thread hangs already.
      try #require(stream.rendition(named: "low")).beginUse()
      try await eventually { isHanging.read { $0 } }
      try await body(stream, eventLoop)
    } catch {
      await end()
      throw error
    }
    await end()
  }

  /// The addresses that a playlist names.
  private static func addresses(_ response: HLSResponse) -> [String] {
    guard case .content(let content) = response else {
      Issue.record("no playlist")
      return []
    }
    return String(buffer: content.body).split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
  }

  private static func request(_ file: String, at now: MediaTime) throws -> HLSRequest {
    try #require(HLSRequest(file: file, arrival: now))
  }

  @Test func `requests wait two seconds for an encoder that hangs, and no longer`() async throws {
    try await self.withHangingRendition { stream, eventLoop in
      let clock = ManualClock()
      let hls = HLSOutput(stream: stream, token: "t", idleTime: .seconds(10), eventLoop: eventLoop) { clock.now }
      let (index, live) = try (Self.request("index.m3u8", at: clock.now), Self.request("live.m3u8", at: clock.now))
      let indexTask = Task { await hls.respond(to: index) }
      let liveTask = Task { await hls.respond(to: live, of: "low") }
      try await eventually { hls.waitingCount == 2 }
      clock.advance(by: .milliseconds(1_999))
      await eventLoop.advanceTime(by: .seconds(1))
      #expect(hls.waitingCount == 2)
      clock.advance(by: .milliseconds(1))
      await eventLoop.advanceTime(by: .milliseconds(100))
      // The playlist of what is there, and 503 for what is not.
      let response = await indexTask.value
      #expect(Self.addresses(response) == ["live.m3u8"])
      #expect(await liveTask.value == .unavailable)
    }
  }

  @Test func `a rendition behind one whose encoder hangs at its first frame is in playlists`() async throws {
    let mid = RenditionSettings(name: "mid", width: 48, height: 48, bitrate: 50_000)
    try await self.withHangingRendition([mid], timeout: .milliseconds(200)) { stream, eventLoop in
      // Its encoder is open, so that it is not waited for.
      try #require(stream.rendition(named: "mid")).beginUse()
      try await eventually { stream.rendition(named: "mid")?.descriptions.isEmpty == false }
      let clock = ManualClock()
      let hls = HLSOutput(stream: stream, token: "t", idleTime: .seconds(10), eventLoop: eventLoop) { clock.now }
      let index = try Self.request("index.m3u8", at: clock.now)
      // The clock stands: it ends with the time of the rendition.
      let response = await hls.respond(to: index)
      #expect(Self.addresses(response) == ["main/live.m3u8", "mid/live.m3u8"])
      // As viewers over WebRTC do.
      let low = try #require(stream.rendition(named: "low"))
      await #expect(throws: VidiconError.self) { try await low.prepare() }
    }
  }

  @Test func `a playlist that has waited two seconds has what is open behind an encoder that hangs`() async throws {
    let mid = RenditionSettings(name: "mid", width: 48, height: 48, bitrate: 50_000)
    try await self.withHangingRendition([mid]) { stream, eventLoop in
      let clock = ManualClock()
      let hls = HLSOutput(stream: stream, token: "t", idleTime: .seconds(10), eventLoop: eventLoop) { clock.now }
      let index = try Self.request("index.m3u8", at: clock.now)
      let task = Task { await hls.respond(to: index) }
      try await eventually {
        hls.waitingCount == 1
          && hls.state.withLock { $0.preparing.contains { $0.rendition.name == "mid" && $0.result != nil } }
      }
      clock.advance(by: Rendition.preparationTimeout)
      await eventLoop.advanceTime(by: .milliseconds(100))
      let response = await task.value
      #expect(Self.addresses(response) == ["main/live.m3u8", "mid/live.m3u8"])
    }
  }

  @Test func `no playlist waits a second time for an encoder that has failed and is opened again`() async throws {
    let (openings, gate, eventLoop, clock) = (Monitor(0), Gate(), NIOAsyncTestingEventLoop(), ManualClock())
    let low = RenditionSettings(name: "low", width: 32, height: 32, bitrate: 50_000)
    var video = VideoSettings(width: 64, height: 64, frameRate: 30, renditions: .list([low]))
    video.renditionRetryDelay = .zero
    video.renditionPreparationTimeout = .seconds(1000)
    let stream = LiveStream("a", video: video)
    stream.attachVideo(PlasmaCapturer(width: 64, height: 64))
    try await stream.start()
    stream.shared.renditions.encoders.replace { (settings) throws(VidiconError) in
      let number = openings.withLock { count in
        count += 1
        return count
      }
      if number == 1 { throw VidiconError(.busy, subject: "encoder", cause: "it is in use", nextStep: "wait") }
      gate.pass()
      return try LibavH264Encoder(settings)
    }
    let hls = HLSOutput(stream: stream, token: "t", idleTime: .seconds(10), eventLoop: eventLoop) { clock.now }
    for opening in 1...2 {
      let index = try Self.request("index.m3u8", at: clock.now)
      let response = await hls.respond(to: index)
      #expect(Self.addresses(response) == ["live.m3u8"])
      try await eventually { openings.read { $0 } == opening }
    }
    gate.open()
    await stream.stop()
    await eventLoop.shutdownGracefully()
  }

  @Test func `a player that waits for its first playlist is not shown the end of a stream that goes on elsewhere`()
    async throws
  {
    let (eventLoop, clock) = (NIOAsyncTestingEventLoop(), ManualClock())
    let stream = LiveStream("a", video: VideoSettings(width: 64, height: 64, frameRate: 30))
    stream.attachVideo(PlasmaCapturer(width: 64, height: 64))
    try await stream.start()
    // Not an output of the stream, so that there are no segments.
    let hls = HLSOutput(stream: stream, token: "t", idleTime: .seconds(10), eventLoop: eventLoop) { clock.now }
    let playlist = try Self.request("playlist.m3u8", at: clock.now)
    let waiting = Task { await hls.respond(to: playlist) }
    try await eventually { hls.waitingCount == 1 }
    #expect(hls.suspend(maximumByteCount: 1 << 20) == nil)
    hls.streamEnded()
    #expect(hls.waitingCount == 1)
    // Its connection is closed.
    waiting.cancel()
    #expect(await waiting.value == .unavailable)
    await stream.stop()
    await eventLoop.shutdownGracefully()
  }
}
