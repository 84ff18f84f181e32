import Media
import TestSupport
import WebRTCPeers

/// A kind of network, of which each seed makes one.
enum BandwidthScenario: String, CaseIterable {
  /// 4 Mb/s, 0.8 Mb/s from 20 s to 45 s, then 4 Mb/s again.
  case steps
  /// 1 to 5 Mb/s, always the same.
  case steady
  /// 2% of all packets are lost at random.
  case randomLoss
  /// 10% are lost from 20 s to 22 s.
  case lossBurst
  /// 5% come later than others, 5% come twice.
  case reordering
  /// No packet arrives in either direction from 20 s to 25 s.
  case outage
  /// The client's clock is set at 20 s, by up to 10 s either way.
  case clockStep
  /// The client's machine is busy: it notices packets up to 120 ms late, several times a second.
  case busyClient
  /// Video without audio, whose feedback pauses with the frames.
  case videoOnly

  /// Duration in seconds.
  var seconds: Double { self == .steps ? 70 : 45 }

  /// Conditions of a seed.
  func conditions(seed: UInt64) -> SimulatedPath.Conditions {
    var numbers = SplitMix(seed: seed &* 977 &+ 5)
    var conditions = SimulatedPath.Conditions()
    conditions.delay = .milliseconds(Int64.random(in: 5...60, using: &numbers))
    conditions.jitter = Double.random(in: 0...15, using: &numbers)
    conditions.drift = Double.random(in: -100...100, using: &numbers)
    conditions.feedbackInterval = .milliseconds(Int64.random(in: 50...100, using: &numbers))
    let rate = Double.random(in: 1_000_000...5_000_000, using: &numbers)
    conditions.rates = [(0, rate)]
    // 100 to 500 ms of the rate.
    conditions.queueLength = Int(rate / 8 * Double.random(in: 0.1...0.5, using: &numbers))
    switch self {
    case .steps:
      conditions.rates = [(0, 4_000_000), (20, 800_000), (45, 4_000_000)]
      // From the 25 kB of a small router to 500 ms of the greater rate.
      conditions.queueLength = Int.random(in: 25_000...250_000, using: &numbers)
    case .steady, .videoOnly: break
    case .busyClient:
      conditions.stalls = (
        Double.random(in: 0.1...0.5, using: &numbers), Double.random(in: 0.02...0.12, using: &numbers)
      )
    case .randomLoss: conditions.loss = (0.02, 0..<1000)
    case .lossBurst: conditions.loss = (0.10, 20..<22)
    case .reordering:
      conditions.reordering = 0.05
      conditions.duplication = 0.05
    case .outage: conditions.outage = 20..<25
    case .clockStep:
      let step = Double.random(in: 0.05...10, using: &numbers)
      conditions.clockStep = (Bool.random(using: &numbers) ? step : -step, 20)
    }
    return conditions
  }

  /// Runs a seed.
  func run(seed: UInt64) -> SimulatedCall {
    var call = SimulatedCall(self.conditions(seed: seed), seed: seed, bounds: 100_000...6_000_000)
    call.hasAudio = self != .videoOnly
    call.run(seconds: self.seconds)
    return call
  }

  /// Requirement of each seed: a name, the measured value, and its range.
  func figures(_ call: SimulatedCall) -> [(name: String, value: Double, range: ClosedRange<Double>)] {
    let rate = call.path.rate(at: .zero)
    func used(_ times: ClosedRange<Double>) -> Double { call.arrivedBitrate(times) / rate }
    switch self {
    case .steps:
      let regained = stride(from: 46.0, through: 67, by: 0.5).first { call.arrivedBitrate($0...$0 + 2) >= 3_200_000 }
      return [
        ("queue beyond 3 s after the fall, s", call.maximumQueue(23...45), 0...0.2),
        ("share of time with 200 ms in queue and pacer", call.shareDelayed(23...45, beyond: 0.2), 0...0.01),
        ("share of 0.8 Mb/s used", call.arrivedBitrate(25...45) / 800_000, 0.75...1),
        ("time to 80% of 4 Mb/s, s", (regained ?? 100) - 45, 0...18),
      ]
    case .steady:
      return [
        ("share used", used(10...45), 0.75...1),
        ("changes of the encoder a minute", Double(call.changes(10...45)) * 60 / 35, 0...20),
        ("share of time with 200 ms of delay", call.shareDelayed(10...45, beyond: 0.2), 0...0.005),
      ]
    case .randomLoss: return [("share used", used(10...45), 0.72...1)]
    case .lossBurst:
      return [
        ("share used meanwhile", used(20.5...22.5), 0.5...1), ("share used afterwards", used(24...34), 0.72...1),
      ]
    case .reordering: return [("share used", used(10...45), 0.75...1)]
    case .outage:
      return [
        ("share used in the first three seconds", used(25.2...28.2), 0.3...1), ("share used", used(30...45), 0.7...1),
      ]
    case .clockStep: return [("share used", used(21...45), 0.7...1)]
    case .busyClient: return [("share used", used(10...45), 0.6...1)]
    case .videoOnly: return [("share used", used(10...45), 0.75...1)]
    }
  }
}
