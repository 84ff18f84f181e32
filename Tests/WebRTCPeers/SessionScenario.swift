internal import Media
internal import TestSupport
internal import WebRTC

/// A bad network, of which each seed makes one, for a whole session with its browser.
package enum SessionScenario: String, CaseIterable, Sendable {
  /// 2% of all packets are lost at random, for 60 s.
  case randomLoss
  /// 10% are lost from 20 s to 22 s.
  case lossBurst
  /// 4 Mb/s, 0.8 Mb/s from 20 s to 45 s, then 4 Mb/s again.
  case steps
  /// 5% come later than others, 5% come twice.
  case reordering
  /// No packet arrives in either direction from 20 s to 25 s.
  case outage
  /// The client's clock is set at 20 s, by up to 10 s either way.
  case clockStep
  /// The client's port changes at 20 s.
  case rebinding
  /// 20 Mb/s without loss: a home network.
  case quick

  /// Requirement of each seed: a name, the measured value, and its range.
  package typealias Figure = (name: String, value: Double, range: ClosedRange<Double>)

  /// Seeds of 100 that may be out of the ranges: of packets that are lost again each time they are sent again, three times in a row, some
  /// freeze the display; at 2% of loss that is one minute in twenty to thirty.
  package var tolerance: Int { self == .randomLoss ? 6 : 2 }

  /// Runs a seed.
  package func run(seed: UInt64) throws -> SimulatedSession {
    var numbers = SplitMix(seed: seed &* 977 &+ 5)
    var conditions = SimulatedPath.Conditions()
    conditions.delay = .milliseconds(Int64.random(in: 5...50, using: &numbers))
    conditions.jitter = Double.random(in: 0...10, using: &numbers)
    conditions.drift = Double.random(in: -100...100, using: &numbers)
    conditions.feedbackInterval = .milliseconds(Int64.random(in: 50...100, using: &numbers))
    let rate = Double.random(in: 4_000_000...10_000_000, using: &numbers)
    conditions.rates = [(0, rate)]
    conditions.queueLength = Int(rate / 8 * Double.random(in: 0.15...0.5, using: &numbers))
    var (seconds, fixed): (Double, Int?) = (45, 2_300_000)
    switch self {
    case .randomLoss:
      conditions.loss = (0.02, 0..<1000)
      conditions.delay = .milliseconds(25)
      seconds = 62
    case .lossBurst: conditions.loss = (0.10, 20..<22)
    case .steps:
      conditions.rates = [(0, 4_000_000), (20, 800_000), (45, 4_000_000)]
      conditions.queueLength = Int.random(in: 25_000...250_000, using: &numbers)
      (seconds, fixed) = (70, nil)
    case .reordering:
      conditions.reordering = 0.05
      conditions.duplication = 0.05
    case .outage: conditions.outage = 20..<25
    case .clockStep:
      let step = Double.random(in: 0.05...10, using: &numbers)
      conditions.clockStep = (Bool.random(using: &numbers) ? step : -step, 20)
    case .rebinding: break
    case .quick:
      conditions.rates = [(0, 20_000_000)]
      conditions.queueLength = 500_000
      conditions.jitter = 1
    }
    var call = try SimulatedSession(conditions, seed: seed, fixedBitrate: fixed)
    if self == .rebinding { call.receiver.rebind(at: .zero + .seconds(20)) }
    try call.run(seconds: seconds)
    return call
  }

  /// Runs a seed, and describes each figure that is out of its range.
  package func failures(seed: UInt64) throws -> [String] {
    try self.figures(self.run(seed: seed)).filter { !$0.range.contains($0.value) }.map {
      "\(self), seed \(seed): \($0.name) is \($0.value), not in \($0.range)"
    }
  }

  /// Figures of every scenario, and its own.
  package func figures(_ call: SimulatedSession) -> [Figure] {
    [
      ("frames out of order", Double(call.receiver.unorderedFrames), 0...0),
      ("closed", call.isClosed ? 1 : 0, 0...0),
    ] + self.ownFigures(call)
  }

  private func ownFigures(_ call: SimulatedSession) -> [Figure] {
    let receiver = call.receiver
    func rate(_ times: ClosedRange<Double>) -> Double {
      Double(receiver.frames(times).count) / (times.upperBound - times.lowerBound)
    }
    func additional(_ times: ClosedRange<Double>) -> Double {
      let count = call.keyframeTimes.count { times.contains($0) }
      return Double(count) - (times.upperBound - times.lowerBound) / 2
    }
    switch self {
    case .randomLoss:
      return [
        ("freezes", Double(receiver.freezes(2...62).count), 0...0), ("frames per second", rate(2...62), 29...31),
        ("additional keyframes", additional(2...62), -5...1),
      ]
    case .lossBurst:
      return [
        ("end of the last freeze, s after the loss", (receiver.freezes(2...45).last ?? 20) - 22, -2...0.5),
        ("frames per second", rate(22.5...44), 29.5...30.5),
      ]
    case .steps:
      let regained = stride(from: 46.0, through: 67, by: 0.5).first {
        receiver.arrivedBitrate($0...$0 + 2) >= 3_200_000
      }
      return [
        ("queue beyond 3 s after the fall, s", call.maximumQueue(23...45), 0...0.2),
        ("share of 0.8 Mb/s used", receiver.arrivedBitrate(25...45) / 800_000, 0.75...1),
        ("time to 80% of 4 Mb/s, s", (regained ?? 100) - 45, 0...18),
      ]
    case .reordering:
      return [
        ("freezes", Double(receiver.freezes(2...45).count), 0...0), ("frames per second", rate(2...44), 29.5...30.5),
        ("additional keyframes", additional(2...44), -5...0),
      ]
    case .outage:
      return [
        ("time to the frame after the outage, s", (receiver.frames(25...45).first?.time.seconds ?? 100) - 25, 0...2.5),
        ("frames per second", rate(30...44), 29.5...30.5),
      ]
    case .clockStep:
      // A small step looks like a longer path, for which frames may be left out for a moment.
      return [
        ("freezes", Double(receiver.freezes(30...45).count), 0...0), ("frames per second", rate(30...44), 29.5...30.5),
        ("frames per second meanwhile", rate(20...30), 20...30.5),
      ]
    case .rebinding:
      return [
        (
          "time to a frame at the new address, s", (receiver.frames(20.1...45).first?.time.seconds ?? 100) - 20, 0...3.5
        ),
        ("frames per second", rate(26...44), 29.5...30.5),
      ]
    case .quick:
      return [
        ("freezes", Double(receiver.freezes(1...45).count), 0...0), ("frames per second", rate(2...44), 29.5...30.5),
        // Packets on the source of retransmissions that were not requested: probes.
        ("padding", Double(receiver.retransmitted - call.session.statistics.packetsRetransmitted), 0...0),
        ("frames dropped", Double(call.session.statistics.framesDropped), 0...0),
      ]
    }
  }
}
