import Media
import TestSupport
import Testing

@testable import WebRTC

@Suite("Pacer")
struct PacerTests {
  private var pacer = Pacer<Int>()
  private var now = MediaTime.zero + .seconds(1)

  /// Packets of an item, or padding with its length, that were released at a time in milliseconds.
  private struct Sent: Equatable {
    var item: Int?
    var packets: Range<Int> = 0..<1
    var milliseconds: Int64 = 0
    var probe: UInt32 = 0
  }

  private mutating func release() -> [Sent] {
    var sent: [Sent] = []
    let milliseconds = self.now.nanoseconds / 1_000_000 - 1000
    while let release = self.pacer.release(at: self.now) {
      switch release {
      case .packets(let item, _, let packets, let probe):
        sent.append(Sent(item: item, packets: packets, milliseconds: milliseconds, probe: probe))
      case .padding(_, let probe): sent.append(Sent(item: nil, milliseconds: milliseconds, probe: probe))
      }
    }
    return sent
  }

  /// Releases at each deadline for a time, or until nothing waits.
  private mutating func run(for duration: MediaDuration) -> [Sent] {
    let end = self.now + duration
    var sent = self.release()
    var rounds = 0
    while let deadline = self.pacer.nextDeadline, deadline < end {
      rounds += 1
      guard rounds < 10_000 else {
        Issue.record("no progress at \(self.now.seconds) s")
        return sent
      }
      self.now = max(self.now, deadline)
      sent += self.release()
    }
    self.now = end
    return sent
  }

  private mutating func enqueueFrame(_ item: Int, isKeyframe: Bool = false, packets: Int = 1) {
    self.pacer.enqueue(
      item, .video(isKeyframe: isKeyframe), byteCount: 1000 * packets, packetCount: packets, at: self.now)
  }

  @Test mutating func `without an estimate everything goes at once, audio and retransmissions first`() {
    self.enqueueFrame(1, isKeyframe: true, packets: 50)
    self.enqueueFrame(2, packets: 3)
    self.pacer.enqueue(3, .retransmission, byteCount: 1000, at: self.now)
    self.pacer.enqueue(4, .audio, byteCount: 100, at: self.now)
    #expect(
      self.release() == [
        Sent(item: 4), Sent(item: 3), Sent(item: 1, packets: 0..<50), Sent(item: 2, packets: 0..<3),
      ])
    #expect(self.pacer.nextDeadline == nil && self.pacer.delay(at: self.now) == .zero)
  }

  @Test mutating func `a keyframe goes out at two and a half times the bitrate, in steps of 5 ms`() {
    self.pacer.setBitrate(1_600_000)
    self.enqueueFrame(1, isKeyframe: true, packets: 50)
    let sent = self.run(for: .seconds(1))
    #expect(sent.flatMap { Array($0.packets) } == Array(0..<50))
    // 50,000 bytes at 4 Mb/s are 100 ms, of which 5 go ahead.
    #expect((92...98).contains(sent.last?.milliseconds ?? 0))
    #expect(sent.allSatisfy { $0.packets.count <= 3 } && sent.count <= 40)
  }

  @Test mutating func `audio does not wait behind a keyframe`() {
    self.pacer.setBitrate(500_000)
    self.enqueueFrame(1, isKeyframe: true, packets: 30)
    _ = self.release()
    self.now += .milliseconds(1)
    self.pacer.enqueue(2, .audio, byteCount: 100, at: self.now)
    #expect(self.pacer.nextDeadline == self.now)
    #expect(self.release() == [Sent(item: 2, milliseconds: 1)])
  }

  @Test mutating func `frames before the first keyframe are not sent`() {
    #expect(self.pacer.needsKeyframe)
    self.enqueueFrame(1)
    self.enqueueFrame(2, isKeyframe: true)
    self.enqueueFrame(3)
    #expect(self.release().map(\.item) == [2, 3])
    #expect(self.pacer.dropCounts.frames == 1)
  }

  @Test mutating func `frames that wait too long are dropped up to the next keyframe, one that has begun is finished`()
  {
    self.pacer.setBitrate(100_000)
    self.enqueueFrame(1, isKeyframe: true, packets: 10)
    var sent: [Sent] = []
    // The keyframe alone takes 320 ms.
    for frame in 2...20 {
      sent += self.run(for: .milliseconds(33))
      self.enqueueFrame(frame)
    }
    #expect(self.pacer.needsKeyframe && self.pacer.dropCounts.frames > 0)
    sent += self.run(for: .milliseconds(300))
    #expect(sent.filter { $0.item == 1 }.flatMap { Array($0.packets) } == Array(0..<10))
    self.enqueueFrame(21)
    #expect(self.release().isEmpty)
    self.enqueueFrame(22, isKeyframe: true)
    self.enqueueFrame(23)
    #expect(self.run(for: .seconds(1)).map(\.item) == [22, 23])
    #expect(self.pacer.dropCounts.frames + Set(sent.compactMap(\.item)).count + 2 == 23)
  }

  @Test mutating func `a keyframe takes the place of late frames`() {
    self.enqueueFrame(0, isKeyframe: true)
    _ = self.release()
    self.pacer.setBitrate(50_000)
    for frame in 1...4 { self.enqueueFrame(frame, packets: 2) }
    _ = self.release()
    self.now += .milliseconds(130)
    self.enqueueFrame(5, isKeyframe: true)
    #expect(!self.pacer.needsKeyframe)
    let sent = self.run(for: .seconds(2))
    #expect(sent.compactMap(\.item).last == 5 && !sent.contains { (2...4).contains($0.item ?? 0) })
    #expect(self.pacer.dropCounts.frames == 3)
  }

  @Test mutating func `a storm of retransmissions has half of the bitrate`() {
    self.pacer.setBitrate(800_000)
    self.enqueueFrame(0, isKeyframe: true)
    var sent: [Sent] = []
    for frame in 1...90 {
      for _ in 0..<30 { self.pacer.enqueue(-1, .retransmission, byteCount: 1000, at: self.now) }
      self.enqueueFrame(frame, packets: 2)
      sent += self.run(for: .microseconds(33_333))
    }
    // Three seconds of 50 kB and half a second's worth ahead.
    #expect((150...210).contains(sent.count { $0.item == -1 }))
    #expect(self.pacer.dropCounts.retransmissions > 2000)
    // Video goes on.
    #expect(Set(sent.compactMap(\.item)).count > 60)
  }

  @Test mutating func `a probe is sent evenly at its bitrate: media first, then padding`() {
    self.pacer.setBitrate(1_000_000)
    self.enqueueFrame(1, isKeyframe: true, packets: 3)
    let cluster = ProbeCluster(id: 7, bitrate: 2_000_000)
    #expect(cluster.byteCount == 10_000)
    self.pacer.start(cluster, at: self.now)
    let sent = self.run(for: .seconds(1))
    #expect(sent.prefix(3).map(\.item) == [1, 1, 1] && sent.prefix(3).map(\.packets.count) == [1, 1, 1])
    #expect(sent.dropFirst(3).allSatisfy { $0.item == nil } && sent.allSatisfy { $0.probe == 7 })
    // 1000 or 1200 bytes at 2 Mb/s are 4 or 4.8 ms.
    #expect(sent.map(\.milliseconds) == [0, 4, 8, 12, 16, 21, 26, 31, 36])
    #expect(self.pacer.nextDeadline == nil)
  }

  @Test(arguments: 0..<UInt64(40))
  mutating func `whatever is enqueued, the pacer makes progress and empties`(seed: UInt64) {
    var numbers = SplitMix(seed: seed)
    for step in 0..<400 {
      switch Int.random(in: 0..<10, using: &numbers) {
      case 0:
        self.pacer.setBitrate(
          Int.random(in: 1...5_000_000, using: &numbers), capacity: Int.random(in: 0...5_000_000, using: &numbers))
      case 1:
        self.pacer.start(
          ProbeCluster(id: UInt32(step), bitrate: Int.random(in: 100_000...8_000_000, using: &numbers)), at: self.now)
      case 2...3:
        self.pacer.enqueue(step, .retransmission, byteCount: Int.random(in: 1...1400, using: &numbers), at: self.now)
      case 4: self.pacer.enqueue(step, .audio, byteCount: 200, at: self.now)
      case 5: self.pacer.dropVideo()
      default: self.enqueueFrame(step, isKeyframe: step % 9 == 0, packets: Int.random(in: 1...60, using: &numbers))
      }
      _ = self.run(for: .milliseconds(Int64.random(in: 0...40, using: &numbers)))
      #expect(self.pacer.frameCount <= 64)
    }
    self.pacer.setBitrate(1_000_000)
    _ = self.run(for: .seconds(30))
    #expect(self.pacer.nextDeadline == nil && self.pacer.frameCount == 0)
  }
}
