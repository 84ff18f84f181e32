import Media
import NIOCore
import Testing

@testable import Recording

@Suite("The end of a part, where another file continues when this one is full")
struct PartTailTests {
  /// Fragments of some seconds of a stream, and the timeline after them.
  private func run(_ script: StreamScript, seconds: Double) -> TimelineRun {
    var run = TimelineRun(script)
    run.resume(at: 0)
    run.run(to: seconds)
    return run
  }

  /// A tail, and the file that has its payloads: those of a fragment one after the other, behind something else.
  private func tail(
    of fragments: some Sequence<PartFragment>, _ script: StreamScript, maximumByteCount: Int = PartTail.maximumByteCount
  ) -> (tail: PartTail, file: ByteBuffer) {
    var tail = PartTail(script.descriptions, maximumByteCount: maximumByteCount)
    var file = ByteBuffer()
    for fragment in fragments {
      file.writeRepeatingByte(0xEE, count: 100)
      tail.append(fragment, dataOffset: UInt64(file.writerIndex))
      for kind in [MediaKind.video, .audio] {
        for sample in fragment.samples where sample.kind == kind { file.writeImmutableBuffer(sample.payload) }
      }
    }
    return (tail, file)
  }

  /// The samples of a fragment, with payloads that the file has.
  private func samples(of fragment: PartFragment, in file: ByteBuffer) throws -> [EncodedSample] {
    try fragment.loaded { (range) throws(VidiconError) in
      // A range beyond the end has no bytes.
      file.getSlice(at: Int(range.lowerBound), length: range.count) ?? ByteBuffer()
    }.samples
  }

  private func numbers(_ samples: some Sequence<EncodedSample>, _ kind: MediaKind) -> [Int64] {
    samples.filter { $0.kind == kind }.compactMap { $0.payload.getInteger(at: $0.payload.readerIndex, as: Int64.self) }
  }

  /// Expects audio without a gap from the first frame that begins within a file on.
  private func expectAudioFromStart(_ samples: [EncodedSample]) throws {
    let audio = samples.filter { $0.kind == .audio }
    let start = try #require(audio.first).presentationTime
    #expect(start >= .zero && start < .zero + .ticks(1024, timescale: StreamScript.audioRate))
    let isContiguous = audio.enumerated().allSatisfy { index, frame in
      let place = start + .ticks(Int64(index) * 1024, timescale: StreamScript.audioRate)
      return abs((frame.presentationTime - place).nanoseconds) <= 2
    }
    #expect(isContiguous)
  }

  @Test func `a fragment that begins with a keyframe moves, and the file keeps all before it`() throws {
    let script = StreamScript(keyframeDistance: 30)
    let run = self.run(script, seconds: 4.5)
    let last = try #require(run.written.last)
    let (tail, _) = self.tail(of: run.written.dropLast(), script)
    let division = try #require(tail.division(before: last, []))
    #expect(division.replacedCount == 0 && division.kept.samples.isEmpty && division.moved.count == 1)
    #expect(division.cut.time == .zero + .seconds(3))
    let moved = division.moved[0].samples
    #expect(moved.first { $0.kind == .video }?.decodeTime == .zero)
    // Frames stay whole: the one that begins before the cut is in the full file.
    let audio = try #require(moved.first { $0.kind == .audio })
    #expect(audio.decodeTime >= .zero && audio.decodeTime < .zero + .ticks(1024, timescale: StreamScript.audioRate))
    #expect(self.numbers(moved, .video) == self.numbers(last.samples, .video))
    #expect(division.moved[0].nextVideoTime == .zero + .seconds(1))
  }

  @Test(arguments: [40, 55, 75, 90] as [Int64])
  func `the next file begins at the last keyframe; no sample is lost or in both`(keyframeDistance: Int64) throws {
    let script = StreamScript(keyframeDistance: keyframeDistance)
    let written = self.run(script, seconds: 12.5).written
    for count in 4..<written.count - 1 {
      let (tail, file) = self.tail(of: written.prefix(count), script)
      #expect(tail.fragments.allSatisfy { $0.samples.allSatisfy { $0.payload.readableBytes == 0 } })
      let division = try #require(tail.division(before: written[count], [written[count + 1]]), "\(count)")
      let kept =
        try written.prefix(count - division.replacedCount).flatMap(\.samples)
        + self.samples(of: division.kept, in: file)
      let moved = try division.moved.flatMap { try self.samples(of: $0, in: file) }
      for kind in [MediaKind.video, .audio] {
        #expect(
          self.numbers(kept, kind) + self.numbers(moved, kind)
            == self.numbers(written.prefix(count + 2).flatMap(\.samples), kind))
      }
      let keyframe = try #require(moved.first { $0.kind == .video })
      #expect(keyframe.isKeyframe && keyframe.decodeTime == .zero && keyframe.presentationTime == .zero)
      #expect(division.cut.time > .zero && division.kept.nextVideoTime == division.cut.time)
      // No later keyframe precedes the fragment.
      let first = try #require(self.numbers(moved, .video).first)
      let limit = try #require(self.numbers(written[count].samples, .video).first)
      #expect(first % keyframeDistance == 0 && limit - first < keyframeDistance)
      try self.expectAudioFromStart(moved)
      let distance = division.cut.audioStart - division.cut.time
      #expect(
        abs(distance.nanoseconds) <= (MediaDuration.ticks(512, timescale: StreamScript.audioRate)).nanoseconds + 1)
    }
  }

  @Test func `a part whose only keyframe is its first cannot be divided`() throws {
    let script = StreamScript(keyframeDistance: 900)
    let written = self.run(script, seconds: 6.5).written
    let (tail, _) = self.tail(of: written.dropLast(), script)
    #expect(tail.division(before: try #require(written.last), []) == nil)
  }

  @Test
  func `a tail beyond its limit is forgotten up to the next keyframe, as is one that the file does not have whole`()
    throws
  {
    // 1.8 MB a second, with keyframes at 0, 2 and 4 s.
    let large = StreamScript(keyframeDistance: 60, hasAudio: false, frameByteCount: 60_000)
    let fragments = self.run(large, seconds: 6.5).written
    var (tail, _) = self.tail(of: fragments.prefix(3), large, maximumByteCount: 2 << 20)
    #expect(tail.fragments.count == 1 && tail.division(before: fragments[3], [])?.cut.time == .zero + .seconds(2))
    let forgotten = tail.append(fragments[3], dataOffset: 0)
    #expect(forgotten == 2 && tail.fragments.isEmpty)
    #expect(tail.division(before: fragments[4], [])?.cut.time == .zero + .seconds(4))
    #expect(tail.division(before: fragments[3], [fragments[4]]) == nil)
    #expect(tail.append(fragments[4], dataOffset: 0) == 0)
    #expect(tail.division(before: fragments[5], [])?.cut.time == .zero + .seconds(4))
    #expect(tail.append(fragments[5], dataOffset: nil) == 2 && tail.fragments.isEmpty)
  }

  @Test func `more than 16 MiB since a keyframe stay in the file, and none of them in memory`() throws {
    // 1.8 MB a second.
    let script = StreamScript(keyframeDistance: 900, hasAudio: false, frameByteCount: 60_000)
    let (tail, file) = self.tail(of: self.run(script, seconds: 12.5).written, script)
    #expect(tail.fragments.count == 12 && tail.fragments.reduce(0) { $0 + $1.byteCount } > 16 << 20)
    let payloads = tail.fragments.flatMap(\.samples).map(\.payload)
    #expect(payloads.allSatisfy { $0.capacity == 0 })
    let read = try tail.fragments.flatMap { try self.samples(of: $0, in: file) }
    #expect(self.numbers(read, .video) == Array(0..<360))
    #expect(read.allSatisfy { $0.payload.readableBytes == 60_000 })
  }

  @Test func `audio alone continues at any fragment`() throws {
    let script = StreamScript(hasVideo: false)
    let written = self.run(script, seconds: 5.5).written
    let last = try #require(written.last)
    let division = try #require(self.tail(of: written.dropLast(), script).tail.division(before: last, []))
    #expect(division.replacedCount == 0 && division.cut.time == last.samples.first?.decodeTime)
    #expect(division.moved[0].samples.first?.decodeTime == .zero)
  }

  @Test(arguments: [30, 40, 55, 90] as [Int64])
  func `the timeline goes on in the next file as if nothing had happened`(keyframeDistance: Int64) throws {
    let script = StreamScript(keyframeDistance: keyframeDistance)
    var run = self.run(script, seconds: 6.5)
    let plain = self.run(script, seconds: 12.5)
    let count = run.written.count - 1
    let (tail, _) = self.tail(of: run.written.prefix(count), script)
    let division = try #require(tail.division(before: run.written[count], []))
    let total = run.timeline.totalDuration
    run.timeline.restartPart(at: division.cut, containing: division.moved)
    #expect(run.timeline.totalDuration == total)
    let before = run.written.count
    run.run(to: 12.5)
    #expect(run.timeline.totalDuration == plain.timeline.totalDuration)
    #expect(run.written.count == plain.written.count)
    let next = division.moved + run.written[before...]
    try self.expectAudioFromStart(next.flatMap(\.samples))
    for (moved, original) in zip(run.written[before...], plain.written[before...]) {
      let times = zip(moved.samples, original.samples).filter { $0.0.kind == .video }
      #expect(times.allSatisfy { $0.1.decodeTime - $0.0.decodeTime == division.cut.duration })
    }
  }

  @Test func `a file without a keyframe to continue at is followed by one that begins at the next keyframe`() throws {
    var run = self.run(StreamScript(keyframeDistance: 100), seconds: 2.5)
    let last = try #require(run.written.last?.samples.first)
    run.timeline.restartPartAtKeyframe(after: last.decodeTime)
    #expect(!run.timeline.isRunning && !run.timeline.isPaused)
    #expect(run.timeline.totalDuration == .seconds(1))
    let before = run.written.count
    run.run(to: 6)
    #expect(run.outputs.count { $0 == .keyframeRequest } == 2)
    let first = try #require(run.written[before].samples.first)
    #expect(self.numbers([first], .video) == [100] && first.decodeTime == .zero)
  }
}
