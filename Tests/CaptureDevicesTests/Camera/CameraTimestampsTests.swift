import Media
import Testing

@testable import CaptureDevices

@Suite("A camera's times on the streams' clock")
struct CameraTimestampsTests {
  private static let start: Int64 = 1_000_000_000_000
  private static let millisecond: Int64 = 1_000_000

  /// The times that come out for pictures that arrive every 33 ms, in milliseconds after the first arrival.
  private func times(_ told: [Int64?]) -> [Int64] {
    var timestamps = CameraTimestamps()
    return told.enumerated().map { index, told in
      let now = MediaTime(nanoseconds: Self.start + Int64(index) * 33 * Self.millisecond)
      let time = timestamps.time(of: told.map { Self.start + $0 * Self.millisecond }, at: now)
      return (time.nanoseconds - Self.start) / Self.millisecond
    }
  }

  @Test func `the device's times are taken as they are`() {
    #expect(self.times([-10, 23, 56, 89]) == [-10, 23, 56, 89])
  }

  @Test func `without times it is that of arrival`() {
    #expect(self.times([nil, nil, nil]) == [0, 33, 66])
  }

  @Test func `a time that jumps is replaced without a jump`() {
    #expect(self.times([-10, 23, 3_600_000, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, -3_600_000, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, nil, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, 22, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, 23, 89]) == [-10, 23, 56, 89])
  }

  @Test func `times only go forwards, whatever comes`() {
    var timestamps = CameraTimestamps()
    var last: MediaTime?
    let told: [Int64?] = [0, .max, .min, nil, 1, Self.start, Self.start + 1, nil, nil, Self.start - 1]
    for (index, told) in (told + told + told).enumerated() {
      // Pairs of pictures arrive at once.
      let now = MediaTime(nanoseconds: Self.start + Int64(index / 2) * 33 * Self.millisecond)
      let time = timestamps.time(of: told, at: now)
      if let last { #expect(time > last) }
      last = time
    }
  }

  @Test func `the picture's numbers tell what is missing`() {
    var sequence = CameraSequence()
    let numbers: [UInt32] = [7, 8, 10, 11, 15, 0, 0, 1, .max, 0, 1, 122, 244]
    #expect(numbers.map { sequence.missing(before: $0) } == [0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 120, 0])
  }
}
