import Media
import TestSupport
import Testing

@testable import Effects

@Suite("Detectors that hang", .timeLimit(.minutes(5)))
struct HungDetectionsTests {
  /// One thread, whose detector returns once a gate is open.
  private static func threads(_ gate: Gate) -> DetectionThreads {
    DetectionThreads {
      { _, _ in
        gate.pass()
        return true
      }
    }
  }

  private static func job() -> DetectionThreads.Job {
    DetectionThreads.Job(model: .fullRangeDetector, input: PixelBuffer(format: VideoFormat(width: 16, height: 16)))
  }

  @Test func `while some hang, streams that start detectors at once start no more than may hang`() async throws {
    let (closed, open, hung) = (Gate(), Gate(), HungDetections())
    defer { closed.open() }
    open.open()
    for number in 1..<HungDetections.maximumCount {
      let threads = Self.threads(closed)
      threads.start(Self.job())
      try await eventually { closed.waiting == number }
      threads.stop()
      hung.insert(threads)
    }
    let first = try #require(hung.start { Self.threads(open) })
    // Another stream, before the detector of the first one has returned.
    let early = hung.start { Self.threads(open) }
    #expect(early == nil && !hung.isFull)
    first.start(Self.job())
    try await eventually { !first.isUnproven }
    let later = hung.start { Self.threads(open) }
    #expect(later != nil)
    for threads in [first, later] { threads?.stop() }
  }

  @Test func `detectors that were ended while their model runs count before they are given up, and once after`()
    async throws
  {
    let (gate, hung) = (Gate(), HungDetections())
    defer { gate.open() }
    var last: DetectionThreads?
    for number in 1...HungDetections.maximumCount {
      let threads = try #require(hung.start { Self.threads(gate) })
      threads.start(Self.job())
      try await eventually { gate.waiting == number }
      threads.stop()
      if let last { hung.insert(last) }
      last = threads
    }
    let early = hung.start { Self.threads(gate) }
    #expect(early == nil && !hung.isFull)
    hung.insert(try #require(last))
    #expect(hung.isFull)
  }

  @Test func `detectors of many streams are started at once while none hangs`() {
    let (gate, hung) = (Gate(), HungDetections())
    let all = (0..<2 * HungDetections.maximumCount).map { _ in hung.start { Self.threads(gate) } }
    #expect(all.allSatisfy { $0 != nil })
    for threads in all { threads?.stop() }
    gate.open()
  }
}
