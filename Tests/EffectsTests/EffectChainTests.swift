import Codecs
import Media
import Synchronization
import TestSupport
import Testing

@testable import Effects

@Suite("Chains of effects")
struct EffectChainTests {
  /// The error that effects of these tests throw.
  private struct Broken: Error, CustomStringConvertible { let description = "out of paint" }

  /// Effect that draws its number as luma, takes a given time, and returns a given result.
  private final class Step: VideoEffect {
    let name: String
    let isPrivacy: Bool
    let formats = Mutex<[VideoFormat]>([])
    let body: @Sendable (inout EffectFrame) throws -> EffectVerdict

    init(
      _ name: String = "step", isPrivacy: Bool = false,
      _ body: @escaping @Sendable (inout EffectFrame) throws -> EffectVerdict = { _ in .keep }
    ) {
      (self.name, self.isPrivacy, self.body) = (name, isPrivacy, body)
    }

    func prepare(for format: VideoFormat) { self.formats.withLock { $0.append(format) } }
    func process(_ frame: inout EffectFrame) throws -> EffectVerdict { try self.body(&frame) }
  }

  private static func frame(width: Int = 32, height: Int = 32, budget: Int64 = 20) -> EffectFrame {
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height))
    for plane in 0..<3 { buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: 99) }
    return EffectFrame(buffer: buffer, timestamp: .zero, budget: .milliseconds(budget))
  }

  /// The luma of all pixels; nil where they differ.
  private static func luma(_ frame: EffectFrame) -> Int? {
    let values = Set(frame.buffer.unsafePlane(0))
    return values.count == 1 ? values.first.map(Int.init) : nil
  }

  private static func add(_ value: UInt8) -> Step {
    Step("add \(value)") { frame in
      frame.withPlane(0) { luma in for index in luma.indices { luma[index] = luma[index] &* 2 &+ value } }
      return .keep
    }
  }

  @Test func `effects run in order, and each is prepared for the size once`() {
    let (first, second) = (Self.add(1), Self.add(5))
    let chain = EffectChain([first, second])
    for _ in 0..<2 {
      var frame = Self.frame()
      #expect(chain.process(&frame, now: { .zero }) == EffectChain.Outcome())
      #expect(Self.luma(frame) == 147)
    }
    #expect(first.formats.withLock(\.count) == 1)
    var frame = Self.frame(width: 64)
    _ = chain.process(&frame, now: { .zero })
    #expect(first.formats.withLock { $0.map(\.width) } == [32, 64])
    #expect(chain.statistics.map(\.frames) == [3, 3])
  }

  @Test func `an effect that stays keeps its statistics, a new one is prepared`() {
    let (first, second) = (Step("a"), Step("b"))
    let chain = EffectChain([first])
    var frame = Self.frame()
    _ = chain.process(&frame, now: { .zero })
    chain.effects = [second, first]
    #expect(chain.effects.map(\.name) == ["b", "a"])
    _ = chain.process(&frame, now: { .zero })
    #expect(chain.statistics.map(\.frames) == [1, 2])
    #expect(first.formats.withLock(\.count) == 1 && second.formats.withLock(\.count) == 1)
    chain.effects = []
    #expect(chain.process(&frame, now: { .zero }) == EffectChain.Outcome())
  }

  @Test func `effects that change during a frame apply from the next one`() {
    let chain = EffectChain()
    let last = Self.add(7)
    chain.effects = [
      Step { [unowned chain] _ in
        chain.effects = []
        return .keep
      }, last,
    ]
    var frame = Self.frame()
    _ = chain.process(&frame, now: { .zero })
    #expect(Self.luma(frame) == 205)
    frame = Self.frame()
    _ = chain.process(&frame, now: { .zero })
    #expect(Self.luma(frame) == 99)
  }

  @Test func `a dropped frame reaches no further effect`() {
    let last = Self.add(1)
    let chain = EffectChain([Step { _ in .drop }, last])
    var frame = Self.frame()
    #expect(chain.process(&frame, now: { .zero }).isDropped)
    #expect(chain.statistics.map(\.drops) == [1, 0])
    #expect(chain.statistics.map(\.frames) == [1, 0])
  }

  @Test func `each effect gets the time budget left by those before it, and the tenth overrun is reported`() {
    let clock = ManualClock()
    let budgets = Mutex<[MediaDuration]>([])
    let steps = [5, 30, 5].map { time in
      Step("\(time) ms") { frame in
        budgets.withLock { $0.append(frame.budget) }
        clock.advance(by: .milliseconds(Int64(time)))
        return .keep
      }
    }
    let chain = EffectChain(steps)
    var frame = Self.frame()
    for _ in 1..<10 {
      #expect(chain.process(&frame, now: { clock.now }).reports == [])
      frame = Self.frame()
    }
    budgets.withLock { $0 = [] }
    let outcome = chain.process(&frame, now: { clock.now })
    #expect(budgets.withLock { $0 } == [.milliseconds(20), .milliseconds(15), .zero])
    #expect(
      outcome.reports.map(\.description) == [
        "effect 30 ms took 30 ms where 15 ms were left; use fewer effects, a smaller frame or a lower frame rate"
      ])
    frame = Self.frame()
    #expect(chain.process(&frame, now: { clock.now }).reports == [])
    #expect(chain.statistics.map(\.overruns) == [0, 11, 11])
    #expect(chain.statistics[1].time == .milliseconds(330) && chain.statistics[1].maximumTime == .milliseconds(30))
  }

  @Test func `an effect that throws is reported once, and the frame continues`() {
    let chain = EffectChain([Step("paint") { _ in throw Broken() }, Self.add(1)])
    var frame = Self.frame()
    #expect(
      chain.process(&frame, now: { .zero }).reports.map(\.description) == ["effect paint failed: out of paint"])
    #expect(Self.luma(frame) == 199)
    #expect(chain.process(&frame, now: { .zero }).reports == [])
    #expect(chain.statistics.map(\.failures) == [2, 0])
  }

  @Test func `a failure after a minute without one is reported again`() {
    let isBroken = Mutex(true)
    let chain = EffectChain([
      Step("paint") { _ in
        if isBroken.withLock({ $0 }) { throw Broken() }
        return .keep
      }
    ])
    func reports(_ count: Int) -> Int {
      (0..<count).reduce(0) { sum, _ in
        var frame = Self.frame()
        return sum + chain.process(&frame, now: { .zero }).reports.count
      }
    }
    #expect(reports(100) == 1)
    for (pause, expected) in [(1000, 0), (1800, 1)] {
      isBroken.withLock { $0 = false }
      #expect(reports(pause) == 0)
      isBroken.withLock { $0 = true }
      #expect(reports(100) == expected, "\(pause)")
    }
  }

  @Test func `a replaced frame continues, one of another format does not`() {
    let other = PixelBuffer(format: VideoFormat(width: 32, height: 32))
    other.cover()
    let wrong = [
      VideoFormat(width: 34, height: 32), VideoFormat(width: 32, height: 32, pixelFormat: .nv12),
    ].map(PixelBuffer.init(format:))
    var frame = Self.frame()
    let chain = EffectChain([
      Step {
        $0.buffer = other
        return .keep
      }
    ])
    #expect(chain.process(&frame, now: { .zero }).reports == [])
    #expect(frame.buffer === other)
    for image in wrong {
      frame = Self.frame()
      chain.effects = [
        Step {
          $0.buffer = image
          return .keep
        }
      ]
      let reports = chain.process(&frame, now: { .zero }).reports
      #expect(reports.map(\.kind) == [.failed(cause: "it returned a frame of another size or pixel format")])
      #expect(Self.luma(frame) == 99)
    }
  }

  @Test func `the whole frame is covered where privacy fails or requests it, and not where it is late`() {
    let clock = ManualClock()
    for step in [Step(isPrivacy: true) { _ in throw Broken() }, Step { _ in .cover }] {
      let chain = EffectChain([step])
      var frame = Self.frame()
      #expect(!chain.process(&frame, now: { clock.now }).isDropped)
      #expect(Self.luma(frame) == 40)
      for plane in 1..<3 { #expect(frame.buffer.unsafePlane(plane).allSatisfy { $0 == 128 }) }
      #expect(chain.statistics.map(\.covers) == [1])
    }
    let late = EffectChain([
      Step(isPrivacy: true) { _ in
        clock.advance(by: .milliseconds(21))
        return .keep
      }
    ])
    var frame = Self.frame()
    _ = late.process(&frame, now: { clock.now })
    #expect(Self.luma(frame) == 99)
  }

  @Test
  func `a frame is released as it is without privacy, marked by an effect of privacy, and covered without its mark`() {
    func luma(_ released: ReleasedFrame?) -> Int? {
      let values = Set(released.map { Array($0.frame.buffer.unsafePlane(0)) } ?? [])
      return values.count == 1 ? values.first.map(Int.init) : nil
    }
    let (plain, hiding) = (EffectChain([Step()]), EffectChain([Step(isPrivacy: true) { _ in .keep }, Step()]))
    #expect(luma(plain.release(Self.frame().viewed)) == 99 && luma(hiding.release(Self.frame().viewed)) == 40)
    for (chain, expected) in [
      (plain, 99), (hiding, 99), (EffectChain([Step(isPrivacy: true) { _ in throw Broken() }]), 40),
      (EffectChain([Step(), PrivacyMask(), Step()]), 40),
    ] {
      let progress = chain.advance(Self.frame(), completes: true) { .zero }
      #expect(progress.frames.map { luma($0.released) } == [expected])
    }
    #expect(PrivacyMark(processedBy: Step()) == nil && luma(Clearance.awaited.release(Self.frame().viewed)) == 40)
  }

  @Test func `a closure can be an effect`() {
    let chain = EffectChain([
      ClosureEffect("white") { frame in
        frame.withPlane(0) { $0.update(repeating: 235) }
        frame.metadata.faceTracking = .current
        return .keep
      }
    ])
    var frame = Self.frame(width: 33, height: 35)
    _ = chain.process(&frame, now: { .zero })
    #expect(Self.luma(frame) == 235)
    #expect(frame.metadata.faceTracking == .current)
    #expect(chain.statistics.map(\.name) == ["white"])
  }
}
