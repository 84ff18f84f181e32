import Codecs
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

/// A device whose buffers are retained cannot be opened again, so none is retained longer than needed.
@Suite("Frames in a source's memory", .timeLimit(.minutes(5)))
struct LentMemoryTests {
  /// A format that the encoder takes directly, and formats that are converted.
  static let formats: [VideoFormat] = [
    VideoFormat(width: 64, height: 48), VideoFormat(width: 64, height: 48, pixelFormat: .yuyv),
    VideoFormat(width: 64, height: 48, pixelFormat: .bgra),
  ]

  private let output = CollectingOutput()

  /// A stream with a first frame in the source's memory.
  private func startedStream(
    _ source: ScriptedVideoCapturer, sourceTimeout: MediaDuration = .seconds(1000)
  ) async throws -> LiveStream {
    var settings = VideoSettings(keyframeInterval: .seconds(100), sourceTimeout: sourceTimeout)
    settings.switchTimeouts.start = .seconds(1000)
    settings.switchTimeouts.firstItem = .seconds(1000)
    let stream = LiveStream("test", video: settings)
    stream.attachVideo(source)
    stream.add(self.output)
    async let start: Void = stream.start()
    try await stream.eventually { source.isStarted }
    source.lend(at: StreamClock.system.now())
    try await start
    return stream
  }

  @Test(arguments: Self.formats) func `ended sources get their memory back`(format: VideoFormat) async throws {
    let source = ScriptedVideoCapturer(format: format)
    let stream = try await self.startedStream(source)
    #expect(source.lentFrames == 1)
    source.end(VidiconError(.failed, subject: "x", cause: "gone", nextStep: "plug it in"))
    try await stream.eventually { source.lentFrames == 0 }
    await stream.stop()
  }

  @Test(arguments: Self.formats) func `the slate releases source memory`(format: VideoFormat) async throws {
    let source = ScriptedVideoCapturer(format: format)
    let stream = try await self.startedStream(source, sourceTimeout: .milliseconds(50))
    // The memory is released before the slate is recorded.
    try await stream.eventually { source.lentFrames == 0 && stream.statistics.isSlateShown }
    await stream.stop()
  }

  @Test(arguments: Self.formats) func `source memory is released when another source takes over, paused or not`(
    format: VideoFormat
  ) async throws {
    for isPaused in [false, true] {
      let (source, other) = (ScriptedVideoCapturer(format: format), ScriptedVideoCapturer())
      let stream = try await self.startedStream(source)
      stream.isEncodingPaused = isPaused
      async let change: Void = stream.switchVideo(to: other)
      try await stream.eventually { other.isStarted }
      #expect(source.lentFrames == 1)
      other.deliver(at: StreamClock.system.now())
      try await change
      try await stream.eventually { source.lentFrames == 0 }
      await stream.stop()
    }
  }

  @Test(arguments: Self.formats) func `source memory is released while encoding is paused, and the frame stays visible`(
    format: VideoFormat
  ) async throws {
    let source = ScriptedVideoCapturer(format: format)
    let stream = try await self.startedStream(source)
    let shown = try await stream.snapshots.snapshot()
    stream.isEncodingPaused = true
    source.lend(at: StreamClock.system.now(), luma: 200)
    try await stream.eventually { source.lentFrames == 0 }
    #expect(try await stream.snapshots.snapshot() == shown)
    let count = self.output.samples.count
    stream.requestKeyframe()
    #expect(self.output.samples(atLeast: count + 1).count > count)
    #expect(try await stream.snapshots.snapshot() == shown)
    #expect(source.lentFrames == 0)
    await stream.stop()
  }

  @Test(arguments: Self.formats) func `at most one frame in source memory is retained`(format: VideoFormat)
    async throws
  {
    let source = ScriptedVideoCapturer(format: format)
    let stream = try await self.startedStream(source)
    for _ in 0..<10 {
      let count = self.output.samples.count
      source.lend(at: StreamClock.system.now() + .milliseconds(2))
      #expect(self.output.samples(atLeast: count + 1).count > count)
      try await stream.eventually { source.lentFrames == 1 }
    }
    await stream.stop()
    try await stream.eventually { source.lentFrames == 0 }
  }

  @Test(arguments: Self.formats) func `a copied frame has the same content`(format: VideoFormat) throws {
    let buffer = PixelBuffer(format: format)
    for plane in 0..<format.pixelFormat.planeCount {
      for (index, address) in buffer.unsafePlane(plane).indices.enumerated() {
        buffer.unsafePlane(plane)[address] = UInt8(truncatingIfNeeded: 40 + index % 150)
      }
    }
    let frame = VideoFrame(buffer: buffer, timestamp: .zero + .seconds(1), orientation: .right, isMirrored: true)
    let copy = frame.copy
    #expect(copy.buffer !== buffer && copy.timestamp == frame.timestamp)
    #expect(copy.orientation == .right && copy.isMirrored)
    let output = VideoFormat(width: 48, height: 64)
    let drawn = try [frame, copy].map { frame in
      try #require(FrameConverter(format: output, scaling: .fit).draw(frame, matrix: frame.format.colorMatrix))
    }
    for plane in 0..<3 {
      #expect(drawn[0].withPlane(plane) { Array($0) } == drawn[1].withPlane(plane) { Array($0) })
    }
  }
}
