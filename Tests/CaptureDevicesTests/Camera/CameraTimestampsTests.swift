import Media
import Testing

@testable import CaptureDevices

@Suite("Camera timestamps")
struct CameraTimestampsTests {
  private static let start: Int64 = 1_000_000_000_000
  private static let millisecond: Int64 = 1_000_000

  /// The timestamps of frames that arrive every 33 ms, in milliseconds after the first arrival.
  private func times(_ reported: [Int64?]) -> [Int64] {
    var timestamps = CameraTimestamps()
    return reported.enumerated().map { index, reported in
      let now = MediaTime(nanoseconds: Self.start + Int64(index) * 33 * Self.millisecond)
      let time = timestamps.time(of: reported.map { Self.start + $0 * Self.millisecond }, at: now)
      return (time.nanoseconds - Self.start) / Self.millisecond
    }
  }

  @Test func `the device's times are used`() {
    #expect(self.times([-10, 23, 56, 89]) == [-10, 23, 56, 89])
  }

  @Test func `without a time of the device the time of arrival is used`() {
    #expect(self.times([nil, nil, nil]) == [0, 33, 66])
  }

  @Test func `a time that jumps is replaced without a jump`() {
    #expect(self.times([-10, 23, 3_600_000, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, -3_600_000, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, nil, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, 22, 89]) == [-10, 23, 56, 89])
    #expect(self.times([-10, 23, 23, 89]) == [-10, 23, 56, 89])
  }

  @Test func `timestamps increase whatever the device reports`() {
    var timestamps = CameraTimestamps()
    var last: MediaTime?
    let reported: [Int64?] = [0, .max, .min, nil, 1, Self.start, Self.start + 1, nil, nil, Self.start - 1]
    for (index, reported) in (reported + reported + reported).enumerated() {
      // Frames arrive in pairs.
      let now = MediaTime(nanoseconds: Self.start + Int64(index / 2) * 33 * Self.millisecond)
      let time = timestamps.time(of: reported, at: now)
      if let last { #expect(time > last) }
      last = time
    }
  }

  @Test func `gaps in sequence numbers count missing frames, and large steps do not`() {
    var sequence = CameraSequence()
    let numbers: [UInt32] = [7, 8, 10, 11, 15, 0, 0, 1, .max, 0, 1, 122, 244]
    #expect(numbers.map { sequence.missing(before: $0) } == [0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 120, 0])
  }
}
