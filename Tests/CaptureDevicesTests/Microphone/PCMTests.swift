import Media
import Testing

@testable import CaptureDevices

@Suite("PCM encodings and timing")
struct PCMTests {
  /// Minimum, zero and a quarter in each encoding, in memory order.
  static let encodings: [(PCMEncoding, [UInt8], [Float])] = [
    (.uint8, [0, 128, 160], [-1, 0, 0.25]),
    (.int16, [0x00, 0x80, 0x00, 0x00, 0x00, 0x20], [-1, 0, 0.25]),
    (.int16BigEndian, [0x80, 0x00, 0x00, 0x00, 0x20, 0x00], [-1, 0, 0.25]),
    (.int24, [0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20], [-1, 0, 0.25]),
    // The upper byte is undefined.
    (.int24In32, [0x00, 0x00, 0x80, 0x77, 0, 0, 0, 0xff, 0x00, 0x00, 0x20, 0x80], [-1, 0, 0.25]),
    (.int32, [0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x20], [-1, 0, 0.25]),
    (.float32, [0, 0, 0x80, 0xbf, 0, 0, 0, 0, 0, 0, 0x80, 0x3e], [-1, 0, 0.25]),
    (.float32, [0, 0, 0x80, 0x7f, 0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0xff], [0, 0, 0]),
  ]

  @Test func `each encoding is converted, with the first channels kept and an incomplete sample ignored`() {
    for (encoding, bytes, samples) in Self.encodings {
      let mono = bytes.withUnsafeBytes { encoding.samples(in: $0, channels: 1, keeping: 1) }
      #expect(mono == samples, "\(encoding)")
      let first = bytes.withUnsafeBytes { encoding.samples(in: $0, channels: 3, keeping: 2) }
      #expect(first == Array(samples.prefix(2)), "\(encoding)")
      let short = bytes.dropLast().withUnsafeBytes { encoding.samples(in: $0, channels: 1, keeping: 1) }
      #expect(short == Array(samples.dropLast()), "\(encoding)")
    }
  }

  @Test func `the capture time is the device's as far as that is plausible`() {
    let now = MediaTime(nanoseconds: 100_000_000_000)
    func time(_ stamp: Int64, _ available: Int, _ delay: Int) -> Int64 {
      PCMPosition.time(
        stamp: MediaTime(nanoseconds: stamp), available: available, delay: delay, sampleRate: 1_000, now: now
      ).nanoseconds / 1_000_000
    }
    let stamp: Int64 = 99_990_000_000
    #expect(time(stamp, 10, 10) == 99_980)
    #expect(time(stamp, 10, 30) == 99_960)
    // No timestamp, one in the future, an old one, one of another clock.
    for stamp: Int64 in [0, 100_000_000_001, 98_000_000_000, .min, .max] { #expect(time(stamp, 10, 10) == 99_990) }
    // A delay that is less than the queued samples, negative, or hours.
    for delay in [0, 9, -5, 10_000_000, .min, .max] { #expect(time(stamp, 10, delay) == 99_980) }
    #expect(time(stamp, -1, 0) == 99_990)
  }

  @Test func `a device without a clock is detected and paced`() {
    let start = MediaTime.zero
    var null = DevicePace(rate: 48_000, capacity: 24_000, available: 24_000, at: start)
    #expect(null.isUnpaced)
    let first = null.advance(by: 960, at: start)
    #expect(!first)
    #expect(null.time == MediaTime(nanoseconds: 20_000_000))
    let second = null.advance(by: 960, at: MediaTime(nanoseconds: 1_000_000_000))
    #expect(second, "far behind, the timestamps restart")
    #expect(null.time == MediaTime(nanoseconds: 1_000_000_000))

    var real = DevicePace(rate: 48_000, capacity: 24_000, available: 0, at: start)
    for block in 1...360_000 {
      // An hour with a clock that is 1% fast.
      let now = MediaTime(nanoseconds: Int64(block) * 9_900_000)
      if real.advance(by: 480, at: now) { Issue.record("mistaken for a device without a clock") }
    }
    #expect(!real.isUnpaced)

    var late = DevicePace(rate: 48_000, capacity: 24_000, available: 0, at: start)
    let block = (1...200).first { _ in late.advance(by: 480, at: start) }
    #expect(block == 101, "two buffers at once")
    #expect(late.isUnpaced)
  }
}
