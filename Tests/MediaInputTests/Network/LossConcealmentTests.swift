import Media
import Testing

@testable import MediaInput

@Suite("Audio in the place of lost packets")
struct LossConcealmentTests {
  private static let format = AudioFormat(sampleRate: 48_000, channelCount: 2)

  /// A block of 20 ms whose left channel has a level, and whose right one the opposite.
  private static func block(at milliseconds: Int64, _ level: Float = 0.5, format: AudioFormat = format) -> AudioBlock {
    let instant = (0..<format.channelCount).map { $0 == 0 ? level : -level }
    return AudioBlock(
      format: format, timestamp: .zero + .milliseconds(milliseconds),
      samples: Array(repeatElement(instant, count: 960).joined()))
  }

  @Test func `a lost packet is filled with the audio before it, backward and fading`() {
    var concealment = LossConcealment()
    var first = Self.block(at: 100)
    // The end of the block, which the fill begins with.
    first.samples[959 * 2] = 0.75
    #expect(concealment.filled(first).samples == first.samples)
    let filled = concealment.filled(Self.block(at: 140, 0.25))
    #expect(filled.timestamp == MediaTime.zero + .milliseconds(120) && filled.sampleCount == 2 * 960)
    #expect(filled.samples[0] == 0.75 && filled.samples[1] == -0.5)
    let left = stride(from: 2, to: 960 * 2, by: 2).map { filled.samples[$0] }
    #expect(zip(left, left.dropFirst()).allSatisfy { $0 > $1 })
    let end = left[left.count - 1]
    #expect(end > 0 && end < 0.001)
    #expect(Array(filled.samples[(960 * 2)...]) == Self.block(at: 140, 0.25).samples)
    // The next gap is measured from its end.
    let next = Self.block(at: 160)
    #expect(concealment.filled(next).samples == next.samples)
  }

  @Test func `three lost packets fade in the time of the first one, and are silent then`() {
    var concealment = LossConcealment()
    _ = concealment.filled(Self.block(at: 100))
    let filled = concealment.filled(Self.block(at: 180))
    #expect(filled.timestamp == MediaTime.zero + .milliseconds(120) && filled.sampleCount == 4 * 960)
    #expect(filled.samples[0] == 0.5 && filled.samples[(960 * 2)..<(960 * 6)].allSatisfy { $0 == 0 })
  }

  /// Time of a block behind one that ends at 120 ms.
  @Test(arguments: [116, 120, 124, 181, 10_000, 0] as [Int64])
  func `blocks that follow, jitter, and gaps that the stream fills itself, are left as they are`(time: Int64) {
    var concealment = LossConcealment()
    _ = concealment.filled(Self.block(at: 100))
    let block = Self.block(at: time)
    let filled = concealment.filled(block)
    #expect(filled.timestamp == block.timestamp && filled.samples == block.samples)
  }

  @Test func `timestamps with jitter make the audio no longer`() {
    var concealment = LossConcealment()
    var count = 0
    for index in Int64(0)..<50 {
      let jitter: Int64 = index % 3 == 1 ? 10 : 0
      count += concealment.filled(Self.block(at: index * 20 + jitter)).sampleCount
    }
    #expect((48_000...48_480).contains(count))
  }

  @Test func `audio of another format fills no gap`() {
    var concealment = LossConcealment()
    _ = concealment.filled(Self.block(at: 100))
    let block = Self.block(at: 140, format: AudioFormat(sampleRate: 48_000, channelCount: 1))
    #expect(concealment.filled(block).samples == block.samples)
  }
}
