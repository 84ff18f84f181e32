import Media
import Testing

@testable import Pushing

@Suite("Queue of a push")
struct PushQueueTests {
  /// A queue with a keyframe at 0 and at each of the times, frames each 100 ms, and audio with each.
  private static func filled(until end: Int64, keyframes: Set<Int64> = []) -> PushQueue {
    var queue = PushQueue()
    for now in stride(from: Int64(0), through: end, by: 100) {
      let drops = [
        queue.append(video(now, isKeyframe: now == 0 || keyframes.contains(now)), at: time(now)),
        queue.append(audio(now), at: time(now)),
      ]
      #expect(drops == [PushQueue.Drops(), PushQueue.Drops()])
    }
    return queue
  }

  /// Kinds and times of everything in a queue: "K0 A0 V100 …".
  private static func contents(_ queue: consuming PushQueue) -> String {
    var queue = queue
    var parts: [String] = []
    while let entry = queue.popFirst() {
      let kind = entry.sample.kind == .audio ? "A" : entry.sample.isKeyframe ? "K" : "V"
      parts.append("\(kind)\(entry.sample.decodeTime.ticks(timescale: 1000))")
    }
    return parts.joined(separator: " ")
  }

  @Test func `nothing is dropped before video has waited for 1.5 s`() {
    var queue = Self.filled(until: 300)
    #expect(queue.dropExpired(at: time(1499)) == PushQueue.Drops())
    #expect(Self.contents(queue) == "K0 A0 V100 A100 V200 A200 V300 A300")
    #expect(queue.byteCount == 4 * 1170)
  }

  @Test func `video is dropped up to the newest keyframe, and all audio stays`() {
    var queue = Self.filled(until: 500, keyframes: [200, 400])
    #expect(queue.dropExpired(at: time(1500)) == PushQueue.Drops(videoSamples: 4))
    #expect(Self.contents(queue) == "A0 A100 A200 A300 K400 A400 V500 A500")
  }

  @Test func `without a newer keyframe all video is dropped, until the next one`() {
    var queue = Self.filled(until: 200)
    #expect(queue.dropExpired(at: time(1500)) == PushQueue.Drops(videoSamples: 3, needsKeyframe: true))
    #expect(queue.isSkippingToKeyframe)
    #expect(queue.append(video(1600), at: time(1600)) == PushQueue.Drops(videoSamples: 1))
    #expect(queue.append(video(1700, isKeyframe: true), at: time(1700)) == PushQueue.Drops())
    #expect(queue.append(video(1800), at: time(1800)) == PushQueue.Drops())
    #expect(Self.contents(queue) == "A0 A100 A200 K1700 V1800")
  }

  @Test func `audio is dropped last, when it has waited for 2 s`() {
    var queue = Self.filled(until: 100)
    #expect(queue.dropExpired(at: time(1999)).audioSamples == 0)
    #expect(queue.dropExpired(at: time(2000)) == PushQueue.Drops(audioSamples: 1))
    #expect(queue.dropExpired(at: time(2100)) == PushQueue.Drops(audioSamples: 1))
    #expect(queue.count == 0 && queue.byteCount == 0 && queue.oldestTime == nil)
  }

  @Test func `16 MiB are not exceeded, however much comes at once`() {
    var queue = PushQueue()
    var drops = PushQueue.Drops()
    for index in 0..<100 {
      drops += queue.append(video(0, isKeyframe: index % 10 == 0, size: 1 << 20), at: .zero)
      #expect(queue.byteCount <= 16 << 20)
    }
    #expect(drops.videoSamples + queue.count == 100)
    // One sample that is larger than all has no place.
    #expect(queue.append(video(0, isKeyframe: true, size: 17 << 20), at: .zero).needsKeyframe)
    #expect(queue.byteCount == 0)
    for _ in 0..<20 { _ = queue.append(audio(0, size: 1 << 20), at: .zero) }
    #expect(queue.byteCount <= 16 << 20)
  }

  @Test func `samples leave in their order, however often they are taken between`() {
    var queue = PushQueue()
    _ = queue.append(video(0, isKeyframe: true), at: .zero)
    var expected: Int64 = 0
    for index in 1...1000 {
      _ = queue.append(audio(Int64(index)), at: .zero)
      if index % 3 != 0, let entry = queue.popFirst() {
        #expect(entry.sample.decodeTime == time(expected))
        expected += 1
      }
    }
    while let entry = queue.popFirst() {
      #expect(entry.sample.decodeTime == time(expected))
      expected += 1
    }
    #expect(expected == 1001)
  }
}

@Suite("Encodings of pushes")
struct EncodingAllotmentTests {
  @Test func `two pushes have an encoding, the third gets the first that is free`() {
    var allotment = EncodingAllotment<String>()
    #expect(allotment.request("a") && allotment.request("b") && allotment.request("a"))
    #expect(!allotment.request("c") && !allotment.request("d"))
    #expect(allotment.release("c") == nil)
    #expect(allotment.release("a") == "d")
    #expect(allotment.granted == ["b", "d"])
    #expect(allotment.release("a") == nil)
    #expect(allotment.release("b") == nil)
    #expect(allotment.granted == ["d"])
  }
}
