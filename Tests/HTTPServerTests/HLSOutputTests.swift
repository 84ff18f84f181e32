import Capture
import Codecs
import HLS
import Media
import NIOCore
import NIOEmbedded
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
  private func withHangingRendition(_ body: (LiveStream, NIOAsyncTestingEventLoop) async throws -> Void) async throws {
    let (isHanging, gate, eventLoop) = (Monitor(false), Monitor(false), NIOAsyncTestingEventLoop())
    let low = RenditionSettings(name: "low", width: 32, height: 32, bitrate: 50_000)
    let stream = LiveStream("a", video: VideoSettings(width: 64, height: 64, frameRate: 30, renditions: .list([low])))
    stream.attachVideo(PlasmaCapturer(width: 64, height: 64))
    try await stream.start()
    stream.shared.renditions.encoders.replace { (_) throws(VidiconError) in HangingEncoder(isHanging, gate) }
    func end() async {
      gate.withLock { $0 = true }
      await stream.stop()
      await eventLoop.shutdownGracefully()
    }
    do {
      // In use before it is requested: its thread hangs then, and answers no request itself, as it does after two seconds
      // where the encoder does not open.
      try #require(stream.rendition(named: "low")).beginUse()
      try await eventually { isHanging.read { $0 } }
      try await body(stream, eventLoop)
    } catch {
      await end()
      throw error
    }
    await end()
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
      guard case .content(let content) = await indexTask.value else {
        Issue.record("no playlist")
        return
      }
      let lines = String(buffer: content.body).split(separator: "\n")
      #expect(lines.filter { !$0.hasPrefix("#") } == ["live.m3u8"])
      #expect(await liveTask.value == .unavailable)
    }
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
