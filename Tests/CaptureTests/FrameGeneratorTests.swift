import Capture
import Media
import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Frame generators", .timeLimit(.minutes(5)))
struct FrameGeneratorTests {
  enum Kind: CaseIterable {
    case plasma, noise, bars

    func make(width: Int = 320, height: Int = 180, rate: FrameRate = FrameRate(60)) -> any VideoCapturer {
      switch self {
      case .plasma: PlasmaCapturer(width: width, height: height, frameRate: rate)
      case .noise: NoiseCapturer(width: width, height: height, frameRate: rate)
      case .bars: BarsCapturer(width: width, height: height, frameRate: rate)
      }
    }

    var pixelFormat: PixelFormat {
      switch self {
      case .plasma: .rgb24
      case .noise: .argb
      case .bars: .i420
      }
    }
  }

  @Test func `a frame without free memory is reported as skipped, with its time`() throws {
    let capturer = Kind.bars.make()
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    let limit = StreamClock.system.now() + .seconds(300)
    let skip = collector.state.wait(until: limit) { $0.skips.first }
    capturer.stop()
    // The collector holds all eight buffers of the pool.
    let frames = collector.state.read { $0.frames }
    #expect(frames.count == 8)
    #expect(try #require(skip) > (try #require(frames.last)).timestamp)
  }

  @Test(arguments: Kind.allCases)
  func `frames come on the grid, in the announced format, and change`(kind: Kind) throws {
    let capturer = kind.make()
    #expect(
      capturer.format == VideoFormat(width: 320, height: 180, pixelFormat: kind.pixelFormat, frameRate: FrameRate(60)))
    #expect(!capturer.isStarted)
    let collector = FrameCollector(keep: 4)
    try capturer.start(consumer: collector)
    #expect(capturer.isStarted)
    let frames = collector.frames(4)
    capturer.stop()
    #expect(!capturer.isStarted)
    try #require(frames.count == 4)
    let clock = StreamClock.system
    for (frame, arrival) in zip(frames, collector.state.read { $0.arrivals }) {
      #expect(frame.format == capturer.format)
      let phase = clock.unixTime(at: frame.timestamp) % 1_000_000_000
      // Within a nanosecond of a sixtieth of a second, since times are rounded down.
      #expect((phase * 60 + 60) % 1_000_000_000 < 120)
      #expect(frame.timestamp <= arrival)
    }
    #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
    #expect(pixels(frames[0]) != pixels(frames[3]))
  }

  @Test(arguments: Kind.allCases, [(16, 16), (17, 19), (33, 16), (161, 97), (1, 1)])
  func `frames of any size are drawn`(kind: Kind, size: (Int, Int)) throws {
    let capturer = kind.make(width: size.0, height: size.1, rate: FrameRate(200))
    let collector = FrameCollector(keep: 3)
    try capturer.start(consumer: collector)
    let frames = collector.frames(3)
    capturer.stop()
    #expect(frames.count == 3)
    #expect(frames.allSatisfy { $0.format.width == size.0 && $0.format.height == size.1 })
  }

  @Test(arguments: Kind.allCases)
  func `no frame comes after stop, and the capturer can be started again`(kind: Kind) throws {
    let capturer = kind.make(width: 64, height: 64, rate: FrameRate(240))
    for _ in 0..<3 {
      let collector = FrameCollector(keep: 0)
      try capturer.start(consumer: collector)
      _ = collector.frames(3)
      capturer.stop()
      let count = collector.state.read { $0.arrivals.count }
      #expect(count >= 3)
      // While another capturer delivers three frames, this one could have delivered one.
      let other = FrameCollector(keep: 0)
      let reference = kind.make(width: 64, height: 64, rate: FrameRate(240))
      try reference.start(consumer: other)
      _ = other.frames(3)
      reference.stop()
      #expect(collector.state.read { $0.arrivals.count } == count)
    }
  }

  @Test func `a consumer may stop the capturer from within a callback, which is then the last one`() throws {
    let capturer = PlasmaCapturer(width: 32, height: 32, frameRate: FrameRate(240))
    let collector = FrameCollector { count in if count == 2 { capturer.stop() } }
    try capturer.start(consumer: collector)
    _ = collector.frames(2)
    // Safe because none comes.
    #expect(collector.frames(3, within: 1).count == 2)
    #expect(!capturer.isStarted)
  }

  @Test func `a consumer that holds all frames gets no more than the pool has`() throws {
    let capturer = BarsCapturer(width: 64, height: 64, frameRate: FrameRate(240))
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    _ = collector.frames(8)
    // Safe because none comes.
    #expect(collector.frames(9, within: 1).count == 8)
    capturer.stop()
  }

  @Test func `the strip holds the capture time, and the flash begins on the whole second`() throws {
    let capturer = BarsCapturer(width: 320, height: 180, frameRate: FrameRate(30))
    struct Seen: Sendable {
      var phase: Int64
      var isFlash: Bool
      var stripIsRight: Bool
    }
    final class Reader: VideoConsumer {
      let seen = Monitor<[Seen]>([])
      func consume(_ frame: VideoFrame) {
        let time = StreamClock.system.unixTime(at: frame.timestamp)
        let seen = frame.withPlane(0) { luma in
          Seen(
            phase: time % 1_000_000_000 / 1_000_000, isFlash: luma[170 * 320 + 5] == 235,
            stripIsRight: TimecodeStrip.read(from: luma, width: 320, height: 180, bytesPerRow: 320)
              == UInt64(time / 1_000))
        }
        self.seen.withLock { $0.append(seen) }
      }
      func captureEnded(_ error: VidiconError?) {}
    }
    let reader = Reader()
    try capturer.start(consumer: reader)
    // More than a second of frames includes one on the whole second and both of its neighbors, unless a busy machine skips them.
    _ = reader.seen.wait(until: StreamClock.system.now() + .seconds(300)) { seen in
      seen.count > 40 && seen.contains { $0.isFlash && ($0.phase == 0 || $0.phase == 33) } ? true : nil
    }
    capturer.stop()
    let seen = reader.seen.read { $0 }
    #expect(seen.allSatisfy { $0.stripIsRight })
    #expect(seen.allSatisfy { $0.isFlash == ($0.phase < 60) })
    #expect(seen.contains { $0.isFlash && $0.phase == 0 } || seen.contains { $0.isFlash && $0.phase == 33 })
  }

  @Test func `a slow consumer delays frames on the grid without shifting the grid`() throws {
    let capturer = NoiseCapturer(width: 16, height: 16, frameRate: FrameRate(100))
    let hasBlocked = Mutex(false)
    // Blocks the capture thread once, for several intervals.
    let slow = FrameCollector(keep: 30) { count in
      if count == 3 {
        let until = StreamClock.system.now() + .milliseconds(55)
        while StreamClock.system.now() < until {}
        hasBlocked.withLock { $0 = true }
      }
    }
    try capturer.start(consumer: slow)
    _ = slow.frames(8)
    capturer.stop()
    let frames = slow.state.read { $0.frames }
    try #require(frames.count >= 8)
    #expect(hasBlocked.withLock { $0 })
    // Missed frames are skipped except the latest; three of a late start may come before that.
    #expect(frames[6].timestamp - frames[2].timestamp >= .milliseconds(50))
    let steps = zip(frames.dropFirst(), frames).map { ($0.timestamp - $1.timestamp).nanoseconds }
    #expect(steps.allSatisfy { $0 >= 10_000_000 && $0 % 10_000_000 == 0 }, "\(steps)")
  }

  @Test func `noise is uniform, and differs from frame to frame`() throws {
    let capturer = NoiseCapturer(width: 320, height: 180, frameRate: FrameRate(60))
    let collector = FrameCollector(keep: 2)
    try capturer.start(consumer: collector)
    let frames = collector.frames(2).map { pixels($0) }
    capturer.stop()
    try #require(frames.count == 2)
    for bytes in frames {
      let mean = Double(bytes.reduce(0) { $0 + Int($1) }) / Double(bytes.count)
      #expect(abs(mean - 127.5) < 2, "standard deviation of the mean: 0.15")
      var counts = [Int](repeating: 0, count: 256)
      for byte in bytes { counts[Int(byte)] += 1 }
      #expect(counts.allSatisfy { $0 > 700 && $0 < 1_100 }, "900 are expected of each value")
    }
    let equal = zip(frames[0], frames[1]).count { $0 == $1 }
    #expect(equal < frames[0].count / 128)
  }

  @Test func `a released capturer stops its thread`() throws {
    let collector = FrameCollector(keep: 0)
    weak var released: PlasmaCapturer?
    do {
      let capturer = PlasmaCapturer(width: 32, height: 32, frameRate: FrameRate(240))
      released = capturer
      try capturer.start(consumer: collector)
      _ = collector.frames(2)
    }
    #expect(released == nil)
    let count = collector.state.read { $0.arrivals.count }
    let other = FrameCollector(keep: 0)
    let reference = PlasmaCapturer(width: 32, height: 32, frameRate: FrameRate(240))
    try reference.start(consumer: other)
    _ = other.frames(3)
    reference.stop()
    #expect(collector.state.read { $0.arrivals.count } == count)
  }
}
