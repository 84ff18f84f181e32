import Capture
import Media
import TestSupport
import Testing
import Threading

@Suite("Push capturer", .timeLimit(.minutes(5)))
struct PushCapturerTests {
  private static let format = VideoFormat(width: 2, height: 1, pixelFormat: .rgb24)

  @Test func `pushed frames arrive with their times, in order`() {
    let capturer = PushCapturer(Self.format)
    let collector = FrameCollector()
    capturer.start(consumer: collector)
    #expect(capturer.isStarted)
    for number in UInt8(1)...3 {
      let isDelivered = capturer.push(at: MediaTime(nanoseconds: Int64(number) * 1000)) { frame in
        frame.withPlane { $0.update(repeating: number * 10 + UInt8(frame.index)) }
      }
      #expect(isDelivered)
    }
    let frames = collector.frames(3)
    #expect(frames.map(\.timestamp.nanoseconds) == [1000, 2000, 3000])
    #expect(frames.map { pixels($0)[5] } == [10, 21, 32])
  }

  @Test func `before start and after stop nothing is drawn or delivered`() {
    let capturer = PushCapturer(Self.format)
    let collector = FrameCollector()
    let frame = VideoFrame(buffer: PixelBuffer(format: Self.format), timestamp: .zero)
    #expect(!capturer.push { _ in Issue.record("drawn while stopped") })
    capturer.start(consumer: collector)
    #expect(capturer.push(frame))
    capturer.stop()
    #expect(!capturer.isStarted)
    #expect(!capturer.push { _ in Issue.record("drawn while stopped") })
    #expect(!capturer.push(frame))
    capturer.finish()
    #expect(collector.state.read { $0.frames.count } == 1)
    #expect(collector.state.read { $0.ends.isEmpty })
  }

  @Test func `frames without free memory are reported as skipped, until memory is released`() {
    let capturer = PushCapturer(Self.format)
    let collector = FrameCollector()
    capturer.start(consumer: collector)
    let delivered = (1...10).map { number in capturer.push(at: MediaTime(nanoseconds: number)) { _ in } }
    #expect(delivered == Array(repeating: true, count: 8) + [false, false])
    #expect(collector.state.read { $0.skips.map(\.nanoseconds) } == [9, 10])
    collector.state.withLock { $0.frames = [] }
    #expect(capturer.push { _ in })
  }

  @Test func `a consumer may push and stop from within a callback`() {
    let capturer = PushCapturer(Self.format)
    let frame = VideoFrame(buffer: PixelBuffer(format: Self.format), timestamp: .zero)
    let collector = FrameCollector { count in
      if count == 2 { #expect(capturer.push(frame)) }
      if count == 3 { capturer.stop() }
    }
    capturer.start(consumer: collector)
    #expect(capturer.push(frame))
    #expect(capturer.push { _ in })
    #expect(!capturer.isStarted)
    #expect(!capturer.push(frame))
    #expect(collector.frames(3).count == 3)
  }

  @Test func `stop and push wait for a delivery in progress on another thread`() throws {
    let capturer = PushCapturer(Self.format)
    let frame = VideoFrame(buffer: PixelBuffer(format: Self.format), timestamp: .zero)
    let (entered, released) = (Monitor(false), Monitor(false))
    let collector = FrameCollector { count in
      guard count == 1 else { return }
      entered.withLock { $0 = true }
      _ = released.wait { $0 ? true : nil }
    }
    capturer.start(consumer: collector)
    let (first, second, stopper) = (WorkerThread(name: "1"), WorkerThread(name: "2"), WorkerThread(name: "3"))
    try first.start { _ in capturer.push(frame) }
    _ = entered.wait { $0 ? true : nil }
    let done = Monitor<[String]>([])
    try second.start { _ in
      let isDelivered = capturer.push(frame)
      done.withLock { $0.append(isDelivered ? "delivered" : "refused") }
    }
    try stopper.start { _ in
      capturer.stop()
      done.withLock { $0.append("stopped") }
    }
    let isEarly = done.wait(until: StreamClock.system.now() + .milliseconds(50)) { $0.contains("stopped") ? true : nil }
    #expect(isEarly == nil)
    released.withLock { $0 = true }
    #expect(done.wait(until: StreamClock.system.now() + .seconds(300)) { $0.count == 2 ? true : nil } == true)
    // Either of the two may continue first.
    let count = done.read { $0.contains("delivered") } ? 2 : 1
    #expect(collector.state.read { $0.arrivals.count } == count)
    #expect(!capturer.push(frame))
    #expect(collector.state.read { $0.arrivals.count } == count)
    for thread in [first, second, stopper] { thread.stop() }
  }

  @Test func `the end is reported, with the error if there is one`() {
    let error = VidiconError(.failed, subject: "socket", cause: "it was closed", nextStep: "start the sender again")
    for reason in [nil, error] {
      let capturer = PushCapturer(Self.format)
      let collector = FrameCollector()
      capturer.start(consumer: collector)
      capturer.finish(reason)
      #expect(collector.end() == .some(reason))
    }
  }
}
