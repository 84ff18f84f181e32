import Media
import TestSupport
import Testing

@testable import RateControl

@Suite("Bitrates and renditions from what outputs report")
struct RateControllerTests {
  private static let renditions = [
    RateController.Rendition(name: "main", bitrates: 1_000_000...2_000_000),
    RateController.Rendition(name: "low", bitrates: 200_000...450_000),
  ]

  private static func id(_ value: Int) -> RateController.OutputID { .init(rawValue: value) }

  /// Reports the same capacities ten times a second, and returns all decisions with their times in milliseconds.
  private static func run(
    _ controller: inout RateController, from start: Int64, for milliseconds: Int64,
    _ reports: [Int: RateController.Report]
  ) -> [(time: Int64, decision: RateController.Decision)] {
    var decisions: [(Int64, RateController.Decision)] = []
    for time in stride(from: start, to: start + milliseconds, by: 100) {
      let now = MediaTime.zero + .milliseconds(time)
      for (output, report) in reports { controller.report(report, of: Self.id(output), at: now) }
      decisions += controller.update(at: now).map { (time, $0) }
    }
    return decisions
  }

  private typealias Decisions = [(time: Int64, decision: RateController.Decision)]

  private static func moves(_ decisions: Decisions) -> Decisions {
    decisions.filter { if case .move = $0.decision { true } else { false } }
  }

  @Test func `without reports every rendition has its maximum bitrate, and nothing is decided`() {
    var controller = RateController(renditions: Self.renditions)
    controller.add(Self.id(1), to: 0, isAdaptive: true)
    controller.add(Self.id(2), to: 0, isAdaptive: false)
    #expect(Self.run(&controller, from: 0, for: 60_000, [:]).isEmpty)
    #expect((controller.bitrate(of: 0), controller.bitrate(of: 1)) == (2_000_000, 450_000))
  }

  @Test func `a single output's rendition follows it at once, and up by 8% a second after five seconds`() {
    var controller = RateController(renditions: Self.renditions)
    controller.add(Self.id(1), to: 0, isAdaptive: true)
    var decisions = Self.run(&controller, from: 0, for: 1000, [1: .init(capacity: 1_500_000)])
    #expect(decisions.map(\.time) == [0])
    #expect(decisions.map(\.decision) == [.setBitrate(rendition: 0, 1_350_000)])

    decisions = Self.run(&controller, from: 1000, for: 30_000, [1: .init(capacity: 10_000_000)])
    #expect(decisions.first?.time == 5300)
    #expect(controller.bitrate(of: 0) == 2_000_000)
    // ln(2 / 1.35) / ln(1.08) seconds.
    let last = decisions.last?.time ?? 0
    #expect((9_500...11_000).contains(last))
    let bitrates = decisions.compactMap { if case .setBitrate(0, let bitrate) = $0.decision { bitrate } else { nil } }
    #expect(bitrates == bitrates.sorted() && bitrates.count == decisions.count)
  }

  @Test func `an output that cannot take the minimum bitrate moves down after five seconds`() {
    var controller = RateController(renditions: Self.renditions)
    controller.add(Self.id(1), to: 0, isAdaptive: true)
    let decisions = Self.run(&controller, from: 0, for: 10_000, [1: .init(capacity: 600_000)])
    #expect(decisions.map(\.decision) == [.setBitrate(rendition: 0, 1_000_000), .move(Self.id(1), to: 1)])
    #expect(decisions.map(\.time) == [0, 5000])
    #expect(controller.rendition(of: Self.id(1)) == 1)
    // The lowest rendition takes everyone.
    _ = Self.run(&controller, from: 10_000, for: 20_000, [1: .init(capacity: 0)])
    #expect(controller.bitrate(of: 1) == 200_000)
    #expect(controller.rendition(of: Self.id(1)) == 1)
  }

  @Test(arguments: [(2, 1), (3, 1), (4, 2), (5, 2), (10, 5)])
  func `half of a rendition's outputs or fewer do not lower it`(outputs: Int, slow: Int) {
    var controller = RateController(renditions: Self.renditions)
    var reports: [Int: RateController.Report] = [:]
    for output in 0..<outputs {
      controller.add(Self.id(output), to: 0, isAdaptive: true)
      reports[output] = .init(capacity: output < slow ? 0 : 5_000_000)
    }
    let decisions = Self.run(&controller, from: 0, for: 6000, reports)
    #expect(Self.moves(decisions).map(\.decision) == (0..<slow).map { .move(Self.id($0), to: 1) })
    #expect(controller.bitrate(of: 0) == 2_000_000)
  }

  @Test func `more than half lower it, and outputs that do not adapt are of the other half`() {
    var controller = RateController(renditions: Self.renditions)
    for output in 0..<3 { controller.add(Self.id(output), to: 0, isAdaptive: true) }
    let slow = RateController.Report(capacity: 1_600_000)
    _ = Self.run(&controller, from: 0, for: 1000, [0: slow, 1: slow, 2: .init(capacity: 9_000_000)])
    #expect(controller.bitrate(of: 0) == 1_440_000)

    controller.add(Self.id(3), to: 0, isAdaptive: false)
    _ = Self.run(&controller, from: 1000, for: 20_000, [0: slow, 1: slow, 2: .init(capacity: 9_000_000)])
    #expect(controller.bitrate(of: 0) == 2_000_000)
    #expect(controller.rendition(of: Self.id(0)) == 1 && controller.rendition(of: Self.id(3)) == 0)
  }

  @Test func `an output moves up after fifteen seconds with capacity to spare, and back doubles the time`() {
    var controller = RateController(renditions: Self.renditions)
    controller.add(Self.id(1), to: 1, isAdaptive: true)
    controller.add(Self.id(2), to: 0, isAdaptive: false)
    // 1.25 × 2 Mb/s are needed.
    var decisions = Self.run(&controller, from: 0, for: 60_000, [1: .init(capacity: 2_400_000)])
    #expect(decisions.isEmpty)
    decisions = Self.run(&controller, from: 60_000, for: 22_000, [1: .init(capacity: 2_600_000)])
    #expect(decisions.map(\.decision) == [.move(Self.id(1), to: 0)])
    #expect((75_000...80_000).contains(decisions.first?.time ?? 0))
    decisions = Self.run(&controller, from: 82_000, for: 6_000, [1: .init(capacity: 500_000)])
    #expect(Self.moves(decisions).map(\.decision) == [.move(Self.id(1), to: 1)])
    let start: Int64 = 88_000
    decisions = Self.moves(Self.run(&controller, from: start, for: 45_000, [1: .init(capacity: 2_600_000)]))
    #expect(decisions.count == 1 && (30_000...38_000).contains((decisions.first?.time ?? 0) - start))
  }

  @Test func `an output that is limited by its sender is tried on the higher rendition`() {
    var controller = RateController(renditions: Self.renditions)
    controller.add(Self.id(1), to: 1, isAdaptive: true)
    let report = RateController.Report(capacity: 500_000, isLimitedBySender: true)
    let decisions = Self.run(&controller, from: 0, for: 16_000, [1: report])
    #expect(Self.moves(decisions).map(\.time) == [15_000])
    #expect(controller.rendition(of: Self.id(1)) == 0)
  }

  @Test func `reports older than ten seconds and of outputs that do not adapt do not count`() {
    var controller = RateController(renditions: Self.renditions)
    controller.add(Self.id(1), to: 0, isAdaptive: false)
    #expect(Self.run(&controller, from: 0, for: 10_000, [1: .init(capacity: 0), 7: .init(capacity: 0)]).isEmpty)
    controller.add(Self.id(2), to: 0, isAdaptive: true)
    controller.remove(Self.id(1))
    _ = Self.run(&controller, from: 10_000, for: 100, [2: .init(capacity: 1_200_000)])
    #expect(controller.bitrate(of: 0) == 1_080_000)
    _ = Self.run(&controller, from: 10_100, for: 30_000, [:])
    #expect(controller.bitrate(of: 0) == 2_000_000)
    #expect(controller.rendition(of: Self.id(2)) == 0)
  }

  @Test func `the initial rendition is the highest that the capacity holds`() {
    let controller = RateController(renditions: Self.renditions)
    #expect(controller.initialRendition(capacity: nil) == 0)
    #expect(controller.initialRendition(capacity: 2_300_000) == 0)
    #expect(controller.initialRendition(capacity: 2_200_000) == 1)
    #expect(controller.initialRendition(capacity: 0) == 1)
  }

  /// Outcome of five minutes with ten viewers.
  private struct Outcome {
    var moves: [Int]
    var changes = 0
    var boundsBroken = 0
    /// Minimum bitrate of the first rendition.
    var minimumBitrate = Int.max
    /// Share of the time in which a viewer had more than its link carries.
    var overloaded: [Double]
  }

  /// Viewers with links of their own, whose estimates are what arrives, come a round trip and 400 ms late, and are wrong by up to a
  /// tenth.
  private static func simulate(_ shapes: [(SimulatedLink.Shape, Int)], seed: UInt64) -> Outcome {
    let end = MediaTime.zero + .seconds(300)
    var controller = RateController(renditions: Self.renditions)
    var numbers = SeededNumbers(seed: seed)
    var links = shapes.enumerated().map { index, shape in
      SimulatedLink(shape: shape.0, rate: shape.1, end: end, seed: seed &* 100 &+ UInt64(index))
    }
    for index in links.indices { controller.add(Self.id(index), to: 0, isAdaptive: true) }
    var outcome = Outcome(
      moves: [Int](repeating: 0, count: links.count), overloaded: [Double](repeating: 0, count: links.count))
    // Bits that the links carry, and those of them that arrive, in each step.
    var carried: [[Double]] = []
    var arrived: [[Double]] = []
    let stepTime = MediaDuration.milliseconds(100)
    let reportSteps = links.map { 4 + $0.roundTrip(inStepsOf: stepTime) }
    var steps = 0.0
    for step in 0..<3000 {
      let now = MediaTime.zero + .milliseconds(Int64(step) * 100)
      carried.append(links.indices.map { links[$0].capacity(at: now) })
      arrived.append(links.indices.map { carried[step][$0] * links[$0].arrivingShare(at: now) })
      steps += 1
      for index in links.indices {
        let rendition = controller.rendition(of: Self.id(index)) ?? 0
        let sending = Double(controller.bitrate(of: rendition))
        if sending > carried[step][index] { outcome.overloaded[index] += 1 }
        guard step >= reportSteps[index] else { continue }
        let seen = arrived[step - reportSteps[index]][index] * Double.random(in: 0.9...1.1, using: &numbers)
        // A link that is not filled is known up to half as much again as is sent.
        let isLimited = seen > sending * 1.5
        let capacity = Int(min(seen, sending * 1.5))
        controller.report(.init(capacity: capacity, isLimitedBySender: isLimited), of: Self.id(index), at: now)
      }
      for decision in controller.update(at: now) {
        switch decision {
        case .setBitrate(let rendition, let bitrate):
          outcome.changes += 1
          if rendition == 0 { outcome.minimumBitrate = min(outcome.minimumBitrate, bitrate) }
          if !Self.renditions[rendition].bitrates.contains(bitrate) { outcome.boundsBroken += 1 }
        case .move(let id, to: _): outcome.moves[id.rawValue] += 1
        }
      }
    }
    outcome.overloaded = outcome.overloaded.map { $0 / steps }
    return outcome
  }

  @Test func `in fifty crowds, slow viewers leave and no other is lowered`() {
    for seed: UInt64 in 1...50 {
      var numbers = SeededNumbers(seed: seed)
      let slowCount = Int.random(in: 1...4, using: &numbers)
      let viewers = (0..<10).map { index -> (SimulatedLink.Shape, Int) in
        let shape = SimulatedLink.Shape.allCases.randomElement(using: &numbers) ?? .constant
        return index < slowCount
          ? (shape, Int.random(in: 150_000...900_000, using: &numbers))
          : (.constant, Int.random(in: 3_000_000...20_000_000, using: &numbers))
      }
      let outcome = Self.simulate(viewers, seed: seed)
      #expect(outcome.boundsBroken == 0, "seed \(seed)")
      #expect(outcome.minimumBitrate >= 2_000_000, "seed \(seed): main fell to \(outcome.minimumBitrate)")
      #expect(outcome.moves[slowCount...].allSatisfy { $0 == 0 }, "seed \(seed): moves \(outcome.moves)")
      for index in 0..<slowCount {
        // Down, and few attempts to come up again.
        #expect((1...12).contains(outcome.moves[index]), "seed \(seed): moves \(outcome.moves)")
      }
    }
  }

  @Test(arguments: SimulatedLink.Shape.allCases)
  func `a single viewer's bitrate follows fifty links without many changes`(shape: SimulatedLink.Shape) {
    for seed: UInt64 in 1...50 {
      var numbers = SeededNumbers(seed: seed)
      let rate = Int.random(in: 450_000...4_000_000, using: &numbers)
      let outcome = Self.simulate([(shape, rate)], seed: seed)
      #expect(outcome.boundsBroken == 0)
      // Even half of it carries the minimum bitrate.
      #expect(outcome.overloaded[0] <= 0.25, "\(shape), \(rate) b/s, seed \(seed): \(outcome.overloaded[0])")
      #expect(outcome.changes <= 400, "\(shape), \(rate) b/s, seed \(seed): \(outcome.changes) changes")
      #expect(outcome.moves[0] <= 14, "\(shape), \(rate) b/s, seed \(seed): \(outcome.moves[0]) moves")
    }
  }
}
