import Media
import Testing

@testable import Pushing

@Suite("Bitrate of a push's own encoding")
struct PushBitrateTests {
  /// A connection whose link carries a constant rate, in steps of 100 ms.
  private struct Connection {
    var rate: PushBitrate
    /// Bits per second that leave.
    var linkRate: Int64 = 1_000_000
    var now = MediaTime.zero
    var left: Int64 = 0
    var released: Int64 = 0
    /// Times in milliseconds and values of all changes.
    var changes: [(time: Int64, bitrate: Int)] = []

    init(_ bounds: ClosedRange<Int>) { self.rate = PushBitrate(bounds: bounds) }

    var bitrates: [Int] { self.changes.map(\.bitrate) }

    /// Lets the age of unsent media grow, or stay at zero, for some time.
    mutating func run(milliseconds: Int64, grows: Bool = false, from age: Int64 = 0) {
      for step in 0..<milliseconds / 100 {
        self.now += .milliseconds(100)
        self.left += self.linkRate / 80
        self.released = max(self.released, self.left)
        self.update(age: grows ? age + step * 100 : age)
      }
    }

    mutating func update(age: Int64) {
      guard let bitrate = self.rate.update(leftByteCount: self.left, age: .milliseconds(age), at: self.now) else {
        return
      }
      self.changes.append((self.now.ticks(timescale: 1000), bitrate))
    }

    /// Sends bytes at once, which leave at a rate.
    mutating func burst(byteCount: Int64, bitrate: Int64, roundTrip: Int64 = 0) {
      let start = self.released
      self.left = start
      self.released += byteCount
      self.rate.handleReleased(start..<self.released, at: self.now)
      self.rate.measure(
        leftByteCount: start, roundTripTime: .milliseconds(roundTrip), at: self.now + .milliseconds(roundTrip))
      self.now += .milliseconds(byteCount * 8 * 1000 / bitrate)
      self.left = self.released
      self.rate.measure(
        leftByteCount: self.left, roundTripTime: .milliseconds(roundTrip), at: self.now + .milliseconds(roundTrip))
      self.now += .milliseconds(roundTrip)
      self.update(age: 0)
    }

    /// Congestion that lasts until the bitrate falls.
    mutating func congest() { self.run(milliseconds: 800, grows: true, from: 300) }
  }

  private static func connection(linkRate: Int64 = 1_000_000) -> Connection {
    var connection = Connection(200_000...2_000_000)
    connection.linkRate = linkRate
    connection.run(milliseconds: 2_000)
    return connection
  }

  @Test func `it starts at the maximum, and stays there without congestion`() {
    var connection = Self.connection()
    connection.run(milliseconds: 300_000)
    #expect(connection.rate.bitrate == 2_000_000 && connection.bitrates == [])
    // An age below 300 ms is none, however long.
    connection.run(milliseconds: 60_000, from: 299)
    #expect(connection.bitrates == [])
  }

  @Test func `congestion that grows for 400 ms lowers it to 80% of what leaves`() {
    var connection = Self.connection()
    connection.run(milliseconds: 400, grows: true, from: 300)
    #expect(connection.bitrates == [])
    connection.run(milliseconds: 100, from: 700)
    #expect(connection.bitrates == [800_000])
  }

  @Test func `congestion that ends, or shrinks, before 400 ms lowers nothing`() {
    var connection = Self.connection()
    for _ in 0..<20 {
      connection.run(milliseconds: 400, grows: true, from: 300)
      connection.run(milliseconds: 200)
    }
    for age in stride(from: Int64(3_000), to: 300, by: -100) { connection.run(milliseconds: 100, from: age) }
    #expect(connection.bitrates == [])
  }

  @Test func `a lowered bitrate has a second, and a round trip, to show in the queue`() {
    var connection = Self.connection()
    connection.run(milliseconds: 500, grows: true, from: 300)
    connection.linkRate = 500_000
    let first = connection.changes[0].time
    connection.run(milliseconds: 2_000, grows: true, from: 800)
    #expect(connection.changes.count >= 2 && connection.changes[1].time - first >= 1_000)
    #expect(connection.changes[1].bitrate < 800_000)

    var distant = Self.connection()
    distant.rate.measure(leftByteCount: distant.left, roundTripTime: .milliseconds(600), at: distant.now)
    distant.run(milliseconds: 500, grows: true, from: 300)
    distant.linkRate = 500_000
    distant.run(milliseconds: 2_500, grows: true, from: 800)
    #expect(distant.changes.count >= 2 && distant.changes[1].time - distant.changes[0].time >= 1_600)
  }

  @Test func `it stays within its bounds`() {
    var connection = Self.connection(linkRate: 40_000)
    connection.run(milliseconds: 20_000, grows: true, from: 300)
    #expect(connection.bitrates == [200_000])
    // A link that carries more than the maximum lowers nothing.
    var fast = Self.connection(linkRate: 9_000_000)
    fast.run(milliseconds: 20_000, grows: true, from: 300)
    #expect(fast.bitrates == [])
  }

  @Test func `without evidence it rises by a tenth after a minute, and after two where that has failed`() {
    var connection = Self.connection()
    connection.congest()
    let fall = connection.changes[0].time
    connection.run(milliseconds: 70_000)
    #expect(connection.bitrates == [800_000, 880_000])
    #expect((60_000...60_100).contains(connection.changes[1].time - fall))
    connection.congest()
    #expect(connection.bitrates == [800_000, 880_000, 800_000])
    connection.run(milliseconds: 130_000)
    #expect(connection.bitrates == [800_000, 880_000, 800_000, 880_000])
    #expect((120_000...120_100).contains(connection.changes[3].time - connection.changes[2].time))
  }

  @Test func `the time before an attempt is at most four minutes`() {
    var connection = Self.connection()
    connection.congest()
    for wait in [60, 120, 240, 240, 240] as [Int64] {
      let last = connection.changes[connection.changes.count - 1].time
      connection.run(milliseconds: wait * 1000 + 1_000)
      let change = connection.changes[connection.changes.count - 1]
      #expect(change.bitrate == 880_000 && (wait * 1000...wait * 1000 + 100).contains(change.time - last), "\(wait) s")
      connection.congest()
      #expect(connection.rate.bitrate == 800_000)
    }
  }

  @Test func `an attempt that lasts for 20 seconds has not failed`() {
    var connection = Self.connection()
    connection.congest()
    connection.run(milliseconds: 61_000)
    #expect(connection.rate.bitrate == 880_000)
    connection.run(milliseconds: 21_000)
    connection.congest()
    let fall = connection.changes[2].time
    connection.run(milliseconds: 61_000)
    #expect((60_000...60_100).contains(connection.changes[3].time - fall), "the wait is the first one")
  }

  @Test(arguments: [0, 200] as [Int64])
  func `two bursts that leave faster raise it by half, until the maximum`(roundTrip: Int64) {
    var connection = Self.connection()
    connection.congest()
    connection.run(milliseconds: 3_100)
    #expect(connection.bitrates == [800_000])
    connection.burst(byteCount: 50_000, bitrate: 4_000_000, roundTrip: roundTrip)
    #expect(connection.bitrates == [800_000], "one burst is not enough")
    connection.burst(byteCount: 50_000, bitrate: 4_000_000, roundTrip: roundTrip)
    #expect(connection.bitrates == [800_000, 1_200_000])
    // Three seconds between rises.
    for _ in 0..<4 { connection.burst(byteCount: 50_000, bitrate: 4_000_000, roundTrip: roundTrip) }
    #expect(connection.rate.bitrate == 1_200_000)
    connection.run(milliseconds: 3_000)
    for _ in 0..<2 { connection.burst(byteCount: 50_000, bitrate: 4_000_000, roundTrip: roundTrip) }
    connection.run(milliseconds: 3_100)
    for _ in 0..<2 { connection.burst(byteCount: 50_000, bitrate: 4_000_000, roundTrip: roundTrip) }
    #expect(connection.rate.bitrate == 2_000_000)
  }

  @Test func `bursts that are too small, or leave no faster than the bitrate, raise nothing`() {
    var connection = Self.connection()
    connection.congest()
    connection.run(milliseconds: 3_100)
    for _ in 0..<20 {
      connection.burst(byteCount: 6_400, bitrate: 4_000_000)
      connection.run(milliseconds: 100)
    }
    for _ in 0..<20 {
      // 80% of 1.2 Mb/s is less than 25% above 0.8 Mb/s.
      connection.burst(byteCount: 50_000, bitrate: 1_200_000)
      connection.run(milliseconds: 100)
    }
    #expect(connection.bitrates == [800_000])
  }

  @Test func `after bursts that were followed by congestion others are ignored for a minute`() {
    var connection = Self.connection()
    connection.congest()
    connection.run(milliseconds: 3_100)
    for _ in 0..<2 { connection.burst(byteCount: 50_000, bitrate: 4_000_000) }
    #expect(connection.rate.bitrate == 1_200_000)
    connection.run(milliseconds: 1_000)
    connection.congest()
    #expect(connection.rate.bitrate < 1_200_000)
    let (fall, count) = (connection.changes[connection.changes.count - 1].time, connection.changes.count)
    while connection.now.ticks(timescale: 1000) < fall + 59_000 {
      connection.burst(byteCount: 50_000, bitrate: 4_000_000)
      connection.run(milliseconds: 900)
    }
    #expect(connection.changes.count == count)
    for _ in 0..<4 {
      connection.burst(byteCount: 50_000, bitrate: 4_000_000)
      connection.run(milliseconds: 900)
    }
    #expect(connection.changes.count > count)
    #expect(connection.changes[count].bitrate > connection.changes[count - 1].bitrate)
  }

  /// A connection whose bitrate has risen by bursts of 50 kB at 4 Mb/s, and has fallen again: 37.5 kB pass at once.
  private static func misledConnection() -> Connection {
    var connection = Self.connection()
    connection.congest()
    connection.run(milliseconds: 3_100)
    for _ in 0..<2 { connection.burst(byteCount: 50_000, bitrate: 4_000_000) }
    connection.run(milliseconds: 1_000)
    connection.congest()
    connection.run(milliseconds: 3_100)
    return connection
  }

  @Test func `after bursts that were followed by congestion larger ones count, without what passes at once`() {
    var connection = Self.misledConnection()
    #expect(connection.rate.bitrate == 800_000)
    // 37.5 kB at once, and 30 kB at 1 Mb/s: no more than the link has.
    for _ in 0..<10 {
      connection.burst(byteCount: 67_500, bitrate: 2_250_000)
      connection.run(milliseconds: 900)
    }
    #expect(connection.rate.bitrate == 800_000)
    // 100 kB at 4 Mb/s are more.
    for _ in 0..<2 { connection.burst(byteCount: 100_000, bitrate: 4_000_000) }
    #expect(connection.rate.bitrate == 1_200_000)
  }

  @Test func `a rise that turns out too much within 30 seconds has failed`() {
    for (seconds, isDoubted) in [(28, true), (32, false)] as [(Int64, Bool)] {
      var connection = Self.connection()
      connection.congest()
      connection.run(milliseconds: 3_100)
      for _ in 0..<2 { connection.burst(byteCount: 50_000, bitrate: 4_000_000) }
      #expect(connection.rate.bitrate == 1_200_000)
      connection.run(milliseconds: seconds * 1000)
      connection.congest()
      connection.run(milliseconds: 3_100)
      #expect(connection.rate.bitrate == 800_000)
      for _ in 0..<2 { connection.burst(byteCount: 50_000, bitrate: 4_000_000) }
      #expect(connection.rate.bitrate == (isDoubted ? 800_000 : 1_200_000), "\(seconds) s")
    }
  }

  @Test(arguments: [0, 200] as [Int64])
  func `frames that follow each other closely are no burst when each has left before the next one`(roundTrip: Int64) {
    var connection = Self.connection()
    connection.congest()
    connection.run(milliseconds: 3_100)
    connection.burst(byteCount: 50_000, bitrate: 4_000_000, roundTrip: roundTrip)
    // At each look at the link a frame has left and the next one has just come: 0.8 Mb/s are sent, which is not the link's rate.
    let start = connection.now
    for index in 0..<200 as Range<Int64> {
      let now = start + .milliseconds(index * 10)
      let first = connection.released
      connection.released += 1_000
      connection.rate.handleReleased(first..<connection.released, at: now)
      connection.rate.measure(
        leftByteCount: first, roundTripTime: .milliseconds(roundTrip), at: now + .milliseconds(roundTrip))
    }
    connection.now = start + .milliseconds(2_000 + roundTrip)
    connection.left = connection.released
    connection.rate.measure(
      leftByteCount: connection.left, roundTripTime: .milliseconds(roundTrip), at: connection.now)
    #expect(connection.bitrates == [800_000])
    connection.burst(byteCount: 50_000, bitrate: 4_000_000, roundTrip: roundTrip)
    #expect(connection.bitrates == [800_000, 1_200_000])
  }

  @Test func `bursts that left fast keep the bitrate up while a link pauses, and not when it stays slow`() {
    var connection = Self.connection(linkRate: 500_000)
    for _ in 0..<2 { connection.burst(byteCount: 50_000, bitrate: 8_000_000) }
    connection.run(milliseconds: 1_000)
    connection.run(milliseconds: 600, grows: true, from: 300)
    #expect(connection.bitrates == [])
    connection.run(milliseconds: 300, grows: true, from: 900)
    #expect(connection.bitrates == [400_000])
  }

  @Test func `a bitrate at the maximum follows it, a lower one stays below it`() {
    var rate = PushBitrate(bounds: 200_000...2_000_000)
    rate.setMaximum(3_000_000)
    #expect(rate.bitrate == 3_000_000)
    rate.setMaximum(1_000_000)
    #expect(rate.bitrate == 1_000_000)
    var lowered = Self.connection()
    lowered.congest()
    #expect(lowered.rate.bitrate == 800_000)
    lowered.rate.setMaximum(3_000_000)
    #expect(lowered.rate.bitrate == 800_000)
    lowered.rate.setMaximum(500_000)
    #expect(lowered.rate.bitrate == 500_000)
    lowered.rate.setMaximum(100_000)
    #expect(lowered.rate.bitrate == 100_000, "the minimum is never above the maximum")
  }
}

@Suite("Bitrate of the bytes passed to a connection")
struct PushMeterTests {
  @Test func `it is that of the last whole second`() {
    var meter = PushMeter(at: time(500))
    meter.update(byteCount: 10_000, at: time(1_499))
    #expect(meter.bitrate == 0)
    meter.update(byteCount: 125_000, at: time(1_500))
    #expect(meter.bitrate == 1_000_000)
    meter.update(byteCount: 126_000, at: time(2_400))
    #expect(meter.bitrate == 1_000_000)
    // Two seconds since the last one count as two.
    meter.update(byteCount: 375_000, at: time(3_500))
    #expect(meter.bitrate == 1_000_000)
    meter.update(byteCount: 375_000, at: time(4_500))
    #expect(meter.bitrate == 0)
  }
}

@Suite("Grants of encodings to pushes")
struct EncodingGrantsTests {
  @Test func `one that waits and is released gets nothing, and frees nothing`() {
    var allotment = EncodingAllotment<Int>(maximumCount: 1)
    _ = [1, 2, 3].map { allotment.request($0) }
    #expect(allotment.release(2) == nil)
    #expect(allotment.release(9) == nil)
    #expect(allotment.granted == [1])
    #expect(allotment.release(1) == 3)
  }

  @Test(arguments: [0, -1]) func `without encodings every request waits`(maximum: Int) {
    var allotment = EncodingAllotment<Int>(maximumCount: maximum)
    let isGranted = allotment.request(1)
    #expect(!isGranted && allotment.granted.isEmpty && allotment.maximumCount == 0)
    #expect(allotment.release(1) == nil)
  }
}
