import Media
import TestSupport
import Testing

@testable import Pushing

@Suite("Pushes over seeded links in virtual time")
struct PushLinksTests {
  @Test(arguments: SimulatedPush.Shape.allCases)
  func `without adapting the queue stays within 2 s, and what is sent can be decoded`(shape: SimulatedPush.Shape) {
    for seed in UInt64(1)...25 {
      var numbers = SeededNumbers(seed: seed)
      let rate = Double.random(in: 0.3...3, using: &numbers) * 1_000_000
      var push = SimulatedPush(
        shape: shape, linkRate: rate, bitrate: 2_300_000, minimumBitrate: nil, seconds: 60, seed: seed)
      push.run()
      let found = push.observations
      #expect(found.violations == [], "seed \(seed)")
      #expect(found.disconnects == 0, "seed \(seed)")
      // Two seconds in the queue, and what the connection holds: a quarter second of the stream, or one keyframe.
      let held = max(2_300_000.0 / 4, 2_300_000.0 / 30 * 6 * 1.2) + 2_300_000.0 / 30 * 6
      #expect(found.maximumQueueAge.seconds <= 2.1 + held / (rate * 0.5), "seed \(seed), \(rate)")
      #expect(found.bitrateChanges.isEmpty)
    }
  }

  @Test(arguments: SimulatedPush.Shape.allCases)
  func `adapting keeps latency low, loses few frames and changes rarely`(shape: SimulatedPush.Shape) {
    var shares: [Double] = []
    for seed in UInt64(1)...25 {
      var numbers = SeededNumbers(seed: seed)
      let rate = Double.random(in: 0.6...2, using: &numbers) * 1_000_000
      var push = SimulatedPush(
        shape: shape, linkRate: rate, bitrate: 2_300_000, minimumBitrate: 200_000, seconds: 120, seed: seed)
      push.run()
      let found = push.observations
      #expect(found.violations == [], "seed \(seed)")
      #expect(found.disconnects == 0, "seed \(seed)")
      #expect(found.maximumQueueAge.seconds <= 2, "seed \(seed)")
      #expect(push.status.droppedFrames <= 30 && push.status.droppedAudioFrames == 0, "seed \(seed)")
      shares.append(found.sentBits / found.carriedBits)
      let times = found.bitrateChanges.map(\.time).filter { $0 >= time(10_000) }
      let changes = times.map { first in times.count { $0 >= first && $0 < first + .seconds(60) } }.max() ?? 0
      #expect(changes <= (shape == .constant ? 3 : 12), "seed \(seed)")
      if shape == .halved {
        let before = found.bitrateChanges.last { $0.time < time(40_000) }?.bitrate ?? 0
        let back = found.bitrateChanges.first { $0.time > time(80_000) && Double($0.bitrate) >= Double(before) * 0.95 }
        #expect(back.map { $0.time <= time(110_000) } == true, "seed \(seed)")
      }
      if shape == .constant {
        let below = found.bitrateChanges.first { Double($0.bitrate) < rate * 0.9 }?.time
        #expect(below.map { $0 <= time(4000) } == true, "seed \(seed)")
      }
    }
    let mean = shares.reduce(0, +) / Double(shares.count)
    // Measured: 0.90 on constant links, 0.71 to 0.88 on the others.
    #expect(mean >= (shape == .constant ? 0.85 : 0.7))
    #expect(shares.allSatisfy { $0 >= (shape == .constant ? 0.8 : 0.6) })
  }

  @Test func `a link that carries the stream is never given an encoding of its own`() {
    for seed in UInt64(1)...5 {
      var push = SimulatedPush(
        shape: .constant, linkRate: 4_000_000, bitrate: 2_300_000, minimumBitrate: 200_000, seconds: 120, seed: seed)
      push.run()
      #expect(push.observations.bitrateChanges.isEmpty, "seed \(seed)")
      #expect(push.status.droppedFrames == 0 && push.status.droppedAudioFrames == 0, "seed \(seed)")
      #expect(push.observations.maximumQueueAge < .milliseconds(300), "seed \(seed)")
    }
  }

  @Test func `after an outage of up to 1 s a killed server is sent to again within 1.5 s, else within 30 s`() {
    // A hundred kills.
    for seed in UInt64(1)...25 {
      var numbers = SeededNumbers(seed: seed)
      let kills = (0..<4).map { index in
        (
          at: MediaDuration.milliseconds(Int64(20_000 + index * 100_000)),
          for: MediaDuration.milliseconds(index < 3 ? Int64.random(in: 0...100, using: &numbers) * 10 : 60_000)
        )
      }
      var push = SimulatedPush(
        shape: .constant, linkRate: 4_000_000, bitrate: 2_300_000, minimumBitrate: nil, seconds: 440, seed: seed)
      push.run(kills: kills)
      let recoveries = push.observations.recoveries.map { ($0.sending - $0.back).seconds }
      #expect(recoveries.count == 4, "seed \(seed)")
      #expect(recoveries.prefix(3).allSatisfy { $0 <= 1.5 }, "seed \(seed): \(recoveries)")
      #expect(recoveries.allSatisfy { $0 <= 30 }, "seed \(seed): \(recoveries)")
      #expect(push.observations.violations == [], "seed \(seed)")
      #expect(push.status.reconnects == 4, "seed \(seed)")
    }
  }
}
