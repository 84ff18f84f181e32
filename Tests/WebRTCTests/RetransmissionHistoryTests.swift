import Media
import NIOCore
import TestSupport
import Testing

@testable import WebRTC

@Suite("Packets that are kept to be sent again")
struct RetransmissionHistoryTests {
  private final class Counter {
    var count = 0
  }

  /// Frames that count how often one of them is looked at.
  private struct CountedFrames: RandomAccessCollection {
    let frames: [RetransmissionHistory.Frame]
    let looks = Counter()

    var startIndex: Int { 0 }
    var endIndex: Int { self.frames.count }
    subscript(position: Int) -> RetransmissionHistory.Frame {
      self.looks.count += 1
      return self.frames[position]
    }
  }

  private static func frame(_ packetCount: Int) -> WebRTCMedia {
    WebRTCMedia(
      kind: .video, isKeyframe: false, presentationTime: .zero, bytes: ByteBuffer(repeating: 1, count: packetCount),
      payloads: (0..<packetCount).map { $0..<$0 + 1 })
  }

  @Test(arguments: UInt64(1)...8)
  func `requests find what a look at each frame finds, over discarded packets and the wrap of the numbers`(seed: UInt64)
  {
    var numbers = SplitMix(seed: seed)
    var history = RetransmissionHistory()
    // All frames, with their first number and the time of sending.
    var frames: [(media: WebRTCMedia, first: Int64, end: Int64, sent: MediaTime)] = []
    var (next, now) = (Int64(65_000), MediaTime.zero)
    var (foundCount, unknownCount) = (0, 0)
    for _ in 0..<3_000 {
      now += .milliseconds(Int64(numbers.next() % 40))
      let count = 1 + Int(numbers.next() % 30)
      let media = Self.frame(count)
      history.append(media, firstNumber: next, roundTrip: .milliseconds(400), at: now)
      // Of some frames, the last packets are discarded before they are sent.
      let sentCount = numbers.next() % 10 == 0 ? 1 + Int64(numbers.next() % UInt64(count)) : Int64(count)
      frames.append((media, next, next + sentCount, now))
      next += sentCount
      history.endNumber = next
      if numbers.next() % 500 == 0 {
        history.removeAll()
        frames.removeAll()
      }
      frames.removeAll { now - $0.sent > .milliseconds(1200) }
      let number = next - 1 - Int64(numbers.next() % 2_000)
      let expected = frames.last { $0.first <= number && number < $0.end }
      switch history.answer(UInt16(truncatingIfNeeded: number), roundTrip: .zero, at: now) {
      case .packet(let media, let index):
        #expect(expected.map { $0.media.packetCount == media.packetCount && number - $0.first == index } == true)
        foundCount += 1
      case .unknown:
        #expect(expected == nil)
        unknownCount += 1
      case .answered: Issue.record("a round trip of zero has always passed")
      }
    }
    #expect(foundCount > 500 && unknownCount > 500)
  }

  @Test func `when a packet was sent again is forgotten with its frame, and not before`() {
    var numbers = SplitMix(seed: 29)
    var history = RetransmissionHistory()
    var frames: [(first: Int64, end: Int64, sent: MediaTime)] = []
    var requested = Set<Int64>()
    var (next, now, maximum) = (Int64(65_000), MediaTime.zero, 0)
    for _ in 0..<2_000 {
      now += .milliseconds(Int64(numbers.next() % 60))
      let count = 1 + Int(numbers.next() % 20)
      history.append(Self.frame(count), firstNumber: next, roundTrip: nil, at: now)
      frames.removeAll { now - $0.sent > .seconds(1) }
      // Of some frames, the last packets are discarded before they are sent.
      frames.append((next, next + 1 + Int64(numbers.next() % UInt64(count)), now))
      next = frames.last?.end ?? next
      history.endNumber = next
      let start = frames.first?.first ?? next
      for _ in 0..<numbers.next() % 8 {
        let number = start + Int64(numbers.next() % UInt64(next - start))
        _ = history.answer(UInt16(truncatingIfNeeded: number), roundTrip: .milliseconds(50), at: now)
        requested.insert(number)
      }
      requested = requested.filter { $0 >= start }
      #expect(Set(history.answers.keys) == requested)
      maximum = max(maximum, requested.count)
    }
    #expect(maximum > 50)
  }

  @Test func `for a packet at most eleven of 512 frames are looked at, whether it was sent or not`() {
    let frames = CountedFrames(
      frames: (0..<RetransmissionHistory.maximumFrameCount).map {
        // Of seven packets, the last one was discarded before it was sent, and the first number of the next frame is its own.
        RetransmissionHistory.Frame(media: Self.frame(7), firstNumber: Int64(1_000 + 6 * $0), sent: .zero)
      })
    let end = Int64(1_000 + 6 * RetransmissionHistory.maximumFrameCount)
    var (maximum, foundCount) = (0, 0)
    for number in 900..<end + 100 {
      frames.looks.count = 0
      if let (frame, index) = RetransmissionHistory.find(number, in: frames) {
        #expect(frame.firstNumber + Int64(index) == number)
        foundCount += 1
      }
      maximum = max(maximum, frames.looks.count)
    }
    // Numbers before the first frame, and behind the last one, are looked for as well.
    #expect(foundCount == 6 * RetransmissionHistory.maximumFrameCount + 1)
    #expect((9...11).contains(maximum), "\(maximum)")
  }
}
