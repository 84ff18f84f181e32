import Media
import NIOCore
import RTP
import Testing

@Suite("Restoring the order of packets")
struct RTPReorderBufferTests {
  /// The numbers that a buffer returns for each packet, in decimal; packets come a millisecond apart unless a time is given.
  private static func released(_ numbers: [UInt16], every interval: MediaDuration = .milliseconds(1)) -> [[UInt16]] {
    var buffer = RTPReorderBuffer()
    var now = MediaTime.zero
    return numbers.map { number in
      now += interval
      let header = RTPHeader(marker: false, payloadType: 96, sequenceNumber: number, timestamp: 0, ssrc: 1)
      return buffer.insert(RTPPacket(header: header, payload: ByteBuffer()), at: now).map(\.header.sequenceNumber)
    }
  }

  @Test func `packets in order pass at once, also where the number wraps`() {
    #expect(Self.released([65_534, 65_535, 0, 1]) == [[65_534], [65_535], [0], [1]])
  }

  @Test func `packets behind a gap wait for the missing one`() {
    #expect(Self.released([1, 3, 5, 4, 2, 6]) == [[1], [], [], [], [2, 3, 4, 5], [6]])
    #expect(Self.released([65_535, 1, 0]) == [[65_535], [], [0, 1]])
  }

  @Test func `a lost packet is waited for a tenth of a second`() {
    #expect(Self.released([1, 3, 4, 5, 6], every: .milliseconds(40)) == [[1], [], [], [], [3, 4, 5, 6]])
    #expect(Self.released([1, 3, 5, 6, 7, 8], every: .milliseconds(50)) == [[1], [], [], [3], [5, 6, 7], [8]])
  }

  @Test func `late packets pass, for a depacketizer to count, and duplicates of waiting ones do not`() {
    #expect(Self.released([5, 4, 5, 7, 7, 6]) == [[5], [4], [5], [], [], [6, 7]])
  }

  @Test func `a restart of the sender is no gap, and what waited is returned before it`() {
    #expect(Self.released([5, 7, 10_000, 10_001]) == [[5], [], [7, 10_000], [10_001]])
    #expect(Self.released([30_000, 100, 101]) == [[30_000], [100], [101]])
  }

  @Test func `no more than the maximum number of packets wait`() {
    let numbers = [0] + (2...258).map { UInt16($0) }
    let released = Self.released(numbers, every: .zero)
    #expect(released.dropLast().dropFirst().allSatisfy(\.isEmpty) && released.last?.count == 257)
  }
}
