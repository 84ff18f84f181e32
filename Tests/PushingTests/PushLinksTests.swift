import Media
import TestSupport
import Testing

@testable import Pushing

@Suite("Pushes over seeded links in virtual time")
struct PushLinksTests {
  @Test(arguments: SimulatedPush.Shape.slow)
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
      #expect(found.maximumWaitingAge <= .seconds(2), "seed \(seed), \(rate)")
      // Bytes that the connection holds are included: measured 1.83 s where a keyframe takes less than half a second.
      if shape == .constant, rate > 600_000 { #expect(found.maximumQueueAge <= .seconds(2), "seed \(seed), \(rate)") }
      // A quarter second of the stream, or one keyframe.
      let held = max(2_300_000.0 / 4, 2_300_000.0 / 30 * 6 * 1.2) + 2_300_000.0 / 30 * 6
      #expect(found.maximumQueueAge.seconds <= 2.1 + held / (rate * 0.5), "seed \(seed), \(rate)")
      #expect(found.bitrateChanges.isEmpty)
    }
  }

  @Test(arguments: SimulatedPush.Shape.slow)
  func `adapting keeps latency low, loses few frames and changes rarely`(shape: SimulatedPush.Shape) {
    var shares: [Double] = []
    var falls = 0
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
        // A bitrate that the halved link nearly carries falls later, or not at all.
        if Double(before) > rate / 2 * 1.2 {
          falls += 1
          let below = found.bitrateChanges.first { $0.time > time(40_000) && Double($0.bitrate) < rate / 2 * 0.9 }
          #expect(below.map { $0.time <= time(44_000) } == true, "seed \(seed): \(String(describing: below))")
        }
      }
      if shape == .constant {
        let below = found.bitrateChanges.first { Double($0.bitrate) < rate * 0.9 }?.time
        #expect(below.map { $0 <= time(4000) } == true, "seed \(seed)")
      }
    }
    if shape == .halved { #expect(falls > 0) }
    let mean = shares.reduce(0, +) / Double(shares.count)
    // Measured: 0.90 on constant links, 0.71 to 0.88 on the others.
    #expect(mean >= (shape == .constant ? 0.85 : 0.7))
    #expect(shares.allSatisfy { $0 >= (shape == .constant ? 0.8 : 0.6) })
  }

  @Test(arguments: [20, 150, 300, 600] as [Int64], [nil, 200_000] as [Int?])
  func `a long round trip is no congestion`(milliseconds: Int64, minimumBitrate: Int?) {
    for seed in UInt64(1)...5 {
      var push = SimulatedPush(
        shape: .constant, linkRate: 4_000_000, bitrate: 2_300_000, minimumBitrate: minimumBitrate, seconds: 60,
        seed: seed, roundTripTime: .milliseconds(milliseconds))
      push.run()
      let found = push.observations
      #expect(found.bitrateChanges.isEmpty && found.disconnects == 0 && found.violations == [], "seed \(seed)")
      #expect(push.status.droppedFrames == 0 && push.status.droppedAudioFrames == 0, "seed \(seed)")
      #expect(found.maximumQueueAge < .milliseconds(300), "seed \(seed): \(found.maximumQueueAge)")
    }
  }

  @Test(arguments: SimulatedPush.Shape.slow, [20, 150, 200, 300, 600] as [Int64])
  func `adapting works over long round trips`(shape: SimulatedPush.Shape, milliseconds: Int64) {
    var shares: [Double] = []
    var recoveries = 0
    for seed in UInt64(1)...10 {
      var numbers = SeededNumbers(seed: seed)
      let rate = Double.random(in: 0.6...2, using: &numbers) * 1_000_000
      var push = SimulatedPush(
        shape: shape, linkRate: rate, bitrate: 2_300_000, minimumBitrate: 200_000, seconds: 120, seed: seed,
        roundTripTime: .milliseconds(milliseconds))
      push.run()
      let found = push.observations
      #expect(found.violations == [], "seed \(seed)")
      #expect(found.disconnects == 0, "seed \(seed)")
      // Measured: 1.8 s up to 150 ms, 2.2 s over 300 ms, 3.0 s over 600 ms; 53 frames up to 300 ms.
      let maximumAge = milliseconds == 600 ? 3.2 : milliseconds <= 150 ? 2 : 2.5
      #expect(found.maximumQueueAge.seconds <= maximumAge, "seed \(seed)")
      #expect(push.status.droppedFrames <= (milliseconds == 600 ? 80 : 60), "seed \(seed): \(push.status)")
      // Measured: 4 at the start of the slowest link with the maximum round-trip time.
      #expect(push.status.droppedAudioFrames <= (milliseconds == 600 ? 10 : 0), "seed \(seed): \(push.status)")
      shares.append(found.sentBits / found.carriedBits)
      let times = found.bitrateChanges.map(\.time).filter { $0 >= time(10_000) }
      let changes = times.map { first in times.count { $0 >= first && $0 < first + .seconds(60) } }.max() ?? 0
      #expect(changes <= (shape == .constant ? 3 : 12), "seed \(seed)")
      if shape == .halved {
        let before = found.bitrateChanges.last { $0.time < time(40_000) }?.bitrate ?? 0
        let back = found.bitrateChanges.first { $0.time > time(80_000) && Double($0.bitrate) >= Double(before) * 0.95 }
        if back.map({ $0.time <= time(110_000) }) == true { recoveries += 1 }
      }
      if shape == .constant {
        let below = found.bitrateChanges.first { Double($0.bitrate) < rate * 0.9 }?.time
        // Measured: 2.4 s up to 200 ms, 3.3 s over 300 ms, 4.5 s over 600 ms.
        #expect(
          below.map { $0 <= time(milliseconds == 600 ? 5000 : 4000) } == true,
          "seed \(seed): \(String(describing: below))")
      }
    }
    // Measured: 8.7 s at most.
    if shape == .halved { #expect(recoveries == 10) }
    let mean = shares.reduce(0, +) / Double(shares.count)
    #expect(mean >= (shape == .constant ? 0.8 : 0.65), "\(shares)")
  }

  /// Sizes of token buckets, in bytes: none, that of a usual shaper, and one that a whole keyframe fits into.
  @Test(arguments: [0, 16 << 10, 64 << 10], [0, 150] as [Int64])
  func `a link that narrows for a minute is kept to, and the stream is back once it is wide`(
    bucket: Int, milliseconds: Int64
  ) {
    var recoveries = 0
    for seed in UInt64(1)...25 {
      var numbers = SeededNumbers(seed: seed)
      let rate = Double.random(in: 0.6...2, using: &numbers) * 1_000_000
      var push = SimulatedPush(
        shape: .narrowed, linkRate: rate, bitrate: 2_300_000, minimumBitrate: 200_000, seconds: 180, seed: seed,
        roundTripTime: .milliseconds(milliseconds), bucket: bucket)
      push.run()
      let found = push.observations
      #expect(found.violations == [] && found.disconnects == 0, "seed \(seed)")
      #expect(found.maximumQueueAge.seconds <= 2.5, "seed \(seed): \(found.maximumQueueAge)")
      let below = found.bitrateChanges.first { $0.time > time(60_000) && Double($0.bitrate) < rate * 0.9 }
      #expect(below.map { $0.time <= time(64_000) } == true, "seed \(seed): \(String(describing: below))")
      let changes = found.bitrateChanges.count { $0.time >= time(70_000) && $0.time < time(120_000) }
      #expect(changes <= 3, "seed \(seed)")
      let share = found.sentBitsOfSeconds[70..<120].reduce(0, +) / 50 / rate
      #expect(share >= 0.8, "seed \(seed): \(share)")
      let back = found.bitrateChanges.first { $0.time > time(120_000) && $0.bitrate >= 2_300_000 * 95 / 100 }
      if back.map({ $0.time <= time(150_000) }) == true { recoveries += 1 }
    }
    // A burst that passes at once hides the link's rate after a rise that has failed. Measured: all without a bucket,
    // 24 with either one.
    #expect(recoveries >= (bucket == 0 ? 25 : 23), "\(recoveries)")
  }

  @Test(arguments: [16 << 10, 64 << 10], [0, 150] as [Int64])
  func `a constant link that lets the beginning of a burst pass at once is tried once a minute at most`(
    bucket: Int, milliseconds: Int64
  ) {
    for seed in UInt64(1)...25 {
      var numbers = SeededNumbers(seed: seed)
      let rate = Double.random(in: 0.6...2, using: &numbers) * 1_000_000
      var push = SimulatedPush(
        shape: .constant, linkRate: rate, bitrate: 2_300_000, minimumBitrate: 200_000, seconds: 120, seed: seed,
        roundTripTime: .milliseconds(milliseconds), bucket: bucket)
      push.run()
      let found = push.observations
      #expect(found.violations == [] && found.disconnects == 0, "seed \(seed)")
      #expect(found.maximumQueueAge.seconds <= 2.5, "seed \(seed): \(found.maximumQueueAge)")
      let below = found.bitrateChanges.first { Double($0.bitrate) < rate * 0.9 }?.time
      #expect(below.map { $0 <= time(4000) } == true, "seed \(seed): \(String(describing: below))")
      #expect(found.sentBits >= 0.8 * found.carriedBits, "seed \(seed)")
      let times = found.bitrateChanges.map(\.time).filter { $0 >= time(10_000) }
      let changes = times.map { first in times.count { $0 >= first && $0 < first + .seconds(60) } }.max() ?? 0
      #expect(changes <= 3, "seed \(seed): \(found.bitrateChanges)")
    }
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
      var kills: [(at: MediaDuration, for: MediaDuration)] = []
      for index in Int64(0)..<4 {
        let outage: Int64 = index < 3 ? Int64.random(in: 0...100, using: &numbers) * 10 : 60_000
        kills.append((at: .milliseconds(20_000 + index * 100_000), for: .milliseconds(outage)))
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
