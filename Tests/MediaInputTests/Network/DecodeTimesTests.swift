import Testing

@testable import MediaInput

@Suite("Decode times of packets that have presentation times only")
struct DecodeTimesTests {
  /// Places of the frames of a group in the order of their packets: two frames of type B between others, the second of which the first
  /// refers to.
  private static let group = [0, 3, 2, 1, 6, 5, 4, 7, 10, 9, 8, 11]

  /// Decode times, in intervals of a frame, of packets with these presentation times; keyframes have a number of `keyframes`.
  private static func times(_ presentation: [Int], keyframes: Set<Int>, reorderedCount: Int = 2) -> [Int] {
    var times = DecodeTimes(reorderedCount: reorderedCount)
    return presentation.enumerated().map { index, place in
      let time = times.time(
        of: Int64(place) * 40_000_000, isKeyframe: keyframes.contains(index), interval: 40_000_000)
      return Int(time / 40_000_000)
    }
  }

  @Test func `packets are an interval apart from the first one on`() {
    let film = Self.group + Self.group.map { $0 + 12 }
    #expect(Self.times(film, keyframes: [0, 12]) == Array(-2..<22))
    #expect(Self.times(Array(0..<9), keyframes: [0], reorderedCount: 0) == Array(0..<9))
  }

  @Test func `after a jump they begin again, in both directions`() {
    for step in [-12, 0, 1_000] {
      let film = Self.group + Self.group.map { $0 + 12 + step }
      let times = Self.times(film, keyframes: [0, 12])
      #expect(Array(times.prefix(12)) == Array(-2..<10))
      #expect(Array(times.suffix(12)) == (-2..<10).map { $0 + 12 + step })
    }
    // Far back without a keyframe.
    let times = Self.times(Self.group.map { $0 + 100 } + Self.group, keyframes: [0])
    #expect(Array(times.suffix(12)) == Array(-2..<10))
  }

  @Test func `they never go back where a group is joined in its middle`() {
    let joined = Array(Self.group.dropFirst()) + Self.group.map { $0 + 12 }
    let times = Self.times(joined, keyframes: [11])
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(Array(times.suffix(12)) == Array(10..<22))
  }

  @Test func `marks of keyframes say nothing where each frame has one`() {
    let film = Self.group + Self.group.map { $0 + 12 }
    #expect(Self.times(film, keyframes: Set(0..<24)) == Array(-2..<22))
  }

  @Test func `damaged times do not trap`() {
    let limit: Int64 = 1 << 60
    var times = DecodeTimes(reorderedCount: 16)
    for index in 0..<1_000 {
      let time = [limit, -limit, 0, Int64(index)][index * 7 % 4]
      _ = times.time(of: time, isKeyframe: index % 3 == 0, interval: index % 2 == 0 ? 10_000_000_000 : 1)
    }
  }
}
