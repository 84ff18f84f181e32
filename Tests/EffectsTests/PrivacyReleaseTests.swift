import Codecs
import Foundation
import Media
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Effects

/// A detector that a test controls: it sees bright squares.
@Suite("Privacy: what is shown, and when")
struct PrivacyReleaseTests {
  /// Counts the runs of a detector that finds nothing.
  private final class Runs: Sendable {
    private let runs = Mutex(0)
    var count: Int { self.runs.withLock { $0 } }
    func add() { self.runs.withLock { $0 += 1 } }
  }

  private static func frame(_ index: Int64, luma: UInt8 = 100, width: Int = 320, height: Int = 180) -> EffectFrame {
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height))
    for plane in 0..<3 {
      buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? luma : 128)
    }
    return EffectFrame(buffer: buffer, timestamp: MediaTime(ticks: index, timescale: 30), budget: .milliseconds(33))
  }

  private static func luma(_ frame: EffectFrame) -> UInt8 { frame.buffer.unsafePlane(0)[100 * 320 + 160] }

  @Test func `the first frame is searched at once, an unchanged one is shown without a full search`() {
    let runs = Runs()
    let mask = PrivacyMask {
      { _, _ in
        runs.add()
        return true
      }
    }
    let first = mask.submit(Self.frame(0), completes: false).frames
    #expect(first.count == 1 && first.allSatisfy { $0.verdict == .keep && Self.luma($0.frame) == 100 })
    let all = runs.count
    #expect(all == PrivacyLayout(width: 320, height: 180).completeCount)
    for index in 1..<10 {
      #expect(mask.submit(Self.frame(Int64(index)), completes: false).frames.count == 1)
    }
    #expect(runs.count < all + all / 2)
  }

  @Test func `that small frames and small sources show more is said once`() {
    func limits(_ frames: [(width: Int, height: Int, enlargement: Float)], minimumFace: Float = 0.055) -> [String] {
      let mask = PrivacyMask(minimumFace: minimumFace) { { _, _ in true } }
      return frames.enumerated().compactMap { index, frame in
        let buffer = PixelBuffer(format: VideoFormat(width: frame.width, height: frame.height))
        buffer.cover()
        var next = EffectFrame(
          buffer: buffer, timestamp: MediaTime(ticks: Int64(index), timescale: 1), budget: .milliseconds(33))
        next.enlargement = frame.enlargement
        return mask.submit(next, completes: true).limit
      }
    }
    #expect(limits([(1280, 720, 1), (720, 1280, 1), (1920, 1080, 1.5)]).isEmpty)
    let small =
      "in frames of 320 × 180 pixels, faces below 20 pixels may be shown "
      + "(11.1% of the shorter side instead of 5.5%); use a larger frame"
    #expect(limits([(320, 180, 1), (320, 180, 1), (1280, 720, 1)]) == [small])
    #expect(
      limits([(1280, 720, 4)]) == [
        "in frames enlarged to 1280 × 720 pixels, faces below 80 pixels may be shown "
          + "(11.1% of the shorter side instead of 5.5%); use a source with more pixels"
      ])
    let (large, tiny) = (PrivacyLayout(width: 1280, height: 720), PrivacyLayout(width: 320, height: 180))
    #expect(large.promisedFace == large.minimumFace && tiny.promisedFace == 20 && tiny.minimumFace < 10)
    // Asked for more than frames of this size have.
    #expect(limits([(1280, 720, 1)], minimumFace: 0.02).count == 1)
    let chain = EffectChain([PrivacyMask { { _, _ in true } }])
    let reports = (0..<2).flatMap { chain.advance(Self.frame($0), completes: true) { .zero }.reports }
    #expect(reports.map(\.description) == ["effect PrivacyMask: \(small)"])
  }

  @Test func `a changing stream is held back by a round, in order, and no frame is lost`() {
    let mask = PrivacyMask(limits: .unlimited) { { _, _ in true } }
    var times: [MediaTime] = []
    for index in 0..<20 {
      let frames = mask.submit(Self.frame(Int64(index), luma: UInt8(60 + index * 8)), completes: false).frames
      times += frames.map(\.frame.timestamp)
      #expect(frames.allSatisfy { $0.verdict == .keep && Self.luma($0.frame) != 40 })
    }
    #expect(times == (0..<18).map { MediaTime(ticks: Int64($0), timescale: 30) })
    // The end of the stream, or a still frame.
    #expect(mask.submit(Self.frame(20), completes: true).frames.count == 3)
  }

  @Test func `what a later frame of the round shows covers the earlier ones`() {
    let isFound = Mutex(false)
    let mask = PrivacyMask {
      { job, found in
        if job.model == .fullRangeDetector, isFound.withLock({ $0 }) {
          found.append(FaceCandidateTests.candidate(0.5, 0.5, side: 0.9))
        }
        return true
      }
    }
    _ = mask.submit(Self.frame(0), completes: false)
    #expect(mask.submit(Self.frame(1, luma: 120), completes: false).frames.isEmpty)
    #expect(mask.submit(Self.frame(2, luma: 140), completes: false).frames.isEmpty)
    isFound.withLock { $0 = true }
    let frames = mask.submit(Self.frame(3, luma: 160), completes: false).frames
    #expect(frames.map(\.frame.timestamp) == [MediaTime(ticks: 1, timescale: 30)])
    #expect(frames.allSatisfy { Self.luma($0.frame) == 40 })
  }

  /// The score of what a detector finds.
  private final class Score: Sendable {
    let value: Mutex<Float>
    init(_ value: Float) { self.value = Mutex(value) }
  }

  /// A mask whose full-range model finds a face in the middle of each tile, of a size relative to it, with the score of the moment; a second
  /// look, which any score is enough for, finds it or does not. Its smallest face is large, so that it has few tiles.
  private static func mask(side: Float, score: Score, isConfirmed: Bool) -> PrivacyMask {
    PrivacyMask(minimumFace: 0.2) {
      { job, found in
        let isLook = job.threshold == 0
        if isLook, isConfirmed {
          let side: Float = job.model == .fullRangeDetector ? 1 / 3.5 : 1 / 2.2
          found.append(FaceCandidateTests.candidate(0.5, 0.5, side: side))
        } else if !isLook, job.model == .fullRangeDetector {
          let score = score.value.withLock { $0 }
          found.append(FaceCandidateTests.candidate(0.5, 0.5, side: side, score: score))
        }
        return true
      }
    }
  }

  @Test(
    arguments: [
      (score: 0.75, side: 0.3, isConfirmed: false, isCovered: true), (0.65, 0.3, false, false), (0.65, 0.3, true, true),
      (0.3, 0.3, false, false), (0.3, 0.3, true, true), (0.65, 0.02, false, true), (0.55, 0.02, true, false),
    ] as [(score: Float, side: Float, isConfirmed: Bool, isCovered: Bool)])
  func `a face is covered that is sure or confirmed, or likely and too small for a second look`(
    score: Float, side: Float, isConfirmed: Bool, isCovered: Bool
  ) {
    let mask = Self.mask(side: side, score: Score(score), isConfirmed: isConfirmed)
    let frames = mask.submit(Self.frame(0, width: 180), completes: true).frames
    #expect(mask.modelRuns.looks < 2 * CandidateCheck.limit)
    #expect(frames.map { $0.frame.buffer.unsafePlane(0).contains(40) } == [isCovered])
  }

  @Test func `what continues a face is looked at again until the face was likely in four frames`() {
    let score = Score(0.9)
    let mask = Self.mask(side: 0.3, score: score, isConfirmed: true)
    func looks(_ index: Int64, score new: Float) -> Int {
      score.value.withLock { $0 = new }
      let before = mask.modelRuns.looks
      _ = mask.submit(Self.frame(index, luma: UInt8(100 + 10 * index), width: 180), completes: true)
      return mask.modelRuns.looks - before
    }
    for index in 0..<3 { #expect(looks(Int64(index), score: 0.9) == 0) }
    #expect(looks(3, score: 0.3) > 0)
    #expect(looks(4, score: 0.9) == 0)
    #expect(looks(5, score: 0.3) == 0)
  }

  /// Whether pixels of a frame are covered, at 16 places in each direction.
  private static func covers(of frame: EffectFrame) -> [Bool] {
    let (plane, format) = (frame.buffer.unsafePlane(0), frame.buffer.format)
    return (0..<256).map {
      plane[($0 / 16 * 2 + 1) * format.height / 32 * format.width + ($0 % 16 * 2 + 1) * format.width / 32] == 40
    }
  }

  /// A detector that finds nothing, and takes some time for it.
  private static func slowDetector(_ duration: MediaDuration) -> PrivacySearch.MakeDetect {
    let never = Monitor(())
    return {
      { _, _ in
        _ = never.wait(until: StreamClock.system.now() + duration) { nil as Bool? }
        return true
      }
    }
  }

  @Test func `a slow search delays frames before it covers any part of them`() {
    #expect(PrivacySearch.Limits().frame == .milliseconds(100), "10 frames per second")
    let limits = PrivacySearch.Limits(frame: .seconds(300), complete: .seconds(300), runTimeout: .seconds(300))
    let masks = [MediaDuration.zero, .milliseconds(5)].map {
      PrivacyMask(limits: limits, makeDetect: Self.slowDetector($0))
    }
    for mask in masks {
      var frames: [EffectFrame] = []
      for index in 0..<9 {
        let frame = Self.frame(Int64(index), luma: UInt8(60 + index * 18), width: 1280, height: 720)
        frames += mask.submit(frame, completes: false).frames.map(\.frame)
      }
      #expect(frames.count >= 6 && frames.allSatisfy { !Self.covers(of: $0).contains(true) })
    }
  }

  @Test func `what a slow search cannot search in its time is covered in parts, and it is not given up`() {
    let limits = PrivacySearch.Limits(
      frame: .milliseconds(40), complete: .seconds(300), runTimeout: .seconds(300), threadCount: 1)
    let mask = PrivacyMask(limits: limits, makeDetect: Self.slowDetector(.milliseconds(15)))
    var (frames, stalls) = ([EffectFrame](), 0)
    for index in 0..<9 {
      let frame = Self.frame(Int64(index), luma: UInt8(60 + index * 18), width: 1280, height: 720)
      let held = mask.submit(frame, completes: false)
      frames += held.frames.map(\.frame)
      stalls += held.stalls
    }
    #expect(frames.map(\.timestamp) == (0..<Int64(frames.count)).map { MediaTime(ticks: $0, timescale: 30) })
    // The first one is searched whole, in any time.
    #expect(!Self.covers(of: frames[0]).contains(true))
    let covers = frames.dropFirst().map(Self.covers)
    #expect(covers.count >= 5 && covers.allSatisfy { $0.contains(true) }, "\(covers.map { $0.count { $0 } })")
    #expect(stalls == 0 && mask.modelRuns.searches > 9)
  }

  @Test func `a detector that hangs delays frames by a bounded time, they are covered, and it is started again`() {
    let (starts, gate) = (Runs(), DispatchSemaphore(value: 0))
    let mask = PrivacyMask(limits: PrivacySearch.Limits(threadCount: 1)) {
      starts.add()
      let isFirst = starts.count == 1
      return { _, _ in
        if isFirst { gate.waitWithLimit() }
        return true
      }
    }
    // Not the first frame, which waits longer.
    var (failures, stalls) = ([String](), 0)
    for index in 0..<4 {
      let held = mask.submit(Self.frame(Int64(index), luma: UInt8(60 + index * 20)), completes: false)
      if let failure = held.failure { failures.append(failure) }
      stalls += held.stalls
      if index == 0 { #expect(held.frames.map { Self.luma($0.frame) } == [40]) }
    }
    #expect(starts.count == 2 && stalls == 1)
    #expect(failures.count == 1 && failures[0].contains("hangs"))
    // The second thread answers.
    let after = mask.submit(Self.frame(4, luma: 200), completes: true)
    #expect(after.failure == nil && after.frames.last.map { Self.luma($0.frame) } == 200)
    gate.signal()
  }

  @Test func `a detector that hangs for ever is started twice, then all is covered until it answers`() async throws {
    let (starts, entries, gate) = (Runs(), Runs(), DispatchSemaphore(value: 0))
    let short = MediaDuration.milliseconds(20)
    let mask = PrivacyMask(
      limits: PrivacySearch.Limits(frame: short, complete: short, runTimeout: short, threadCount: 1)
    ) {
      starts.add()
      return { _, _ in
        entries.add()
        gate.waitWithLimit()
        gate.signal()
        return true
      }
    }
    var failures: [String] = []
    for second in 0..<20 {
      let held = mask.submit(Self.frame(Int64(second * 30), luma: UInt8(60 + second * 5)), completes: true)
      if let failure = held.failure { failures.append(failure) }
      #expect(held.frames.map { Self.luma($0.frame) == 40 || $0.verdict == .cover } == [true])
    }
    // On a busy machine a thread may be given up before it has begun: that one does not hang.
    try await eventually { entries.count >= 2 }
    #expect(entries.count == 2 && failures.count == starts.count)
    #expect(failures.last?.contains("everything is covered until it answers") == true)
    // The models return: the search is started again.
    let before = starts.count
    gate.signal()
    var second = 20
    try await eventually {
      _ = mask.submit(Self.frame(Int64(second * 30), luma: UInt8(60 + second % 100)), completes: true)
      second += 1
      return starts.count > before
    }
  }

  @Test func `a wait that is ended covers its frame and all others, until the mask is prepared again`() async throws {
    let (starts, looks, gate) = (Runs(), Runs(), DispatchSemaphore(value: 0))
    var limits = PrivacySearch.Limits.unlimited
    limits.threadCount = 1
    let mask = PrivacyMask(limits: limits) {
      starts.add()
      let hangs = starts.count == 1
      return { _, _ in
        looks.add()
        if hangs { gate.waitWithLimit() }
        return true
      }
    }
    let first = Mutex<HeldFrames?>(nil)
    let thread = Thread { first.withLock { $0 = mask.submit(Self.frame(0), completes: true) } }
    thread.start()
    try await eventually { looks.count > 0 }
    mask.cancel()
    try await eventually { first.withLockIfAvailable { $0 != nil } ?? false }
    let held = first.withLock { $0 }
    // A wait that was ended is no failure of the detector.
    #expect(held?.frames.count == 1 && held?.stalls == 0 && held?.failures == 0 && held?.failure == nil)
    var frames = held?.frames ?? []
    for index in 1..<4 { frames += mask.submit(Self.frame(Int64(index), luma: 120), completes: true).frames }
    #expect(frames.count == 4 && frames.allSatisfy { Self.luma($0.frame) == 40 || $0.verdict == .cover })
    #expect(starts.count == 1)
    mask.prepare(for: Self.frame(5).buffer.format)
    let shown = mask.submit(Self.frame(5, luma: 120), completes: true).frames
    #expect(shown.map { Self.luma($0.frame) } == [120])
    gate.signal()
  }

  @Test func `masks that replace each other while their detector hangs start a bounded number of threads`() async throws
  {
    let (entries, gate, hung) = (Runs(), DispatchSemaphore(value: 0), HungDetections())
    // Long enough for a thread to begin beside other tests: only one that has begun hangs.
    let short = MediaDuration.milliseconds(200)
    let limits = PrivacySearch.Limits(frame: short, complete: short, runTimeout: short, threadCount: 1)
    func mask(_ limits: PrivacySearch.Limits) -> PrivacyMask {
      PrivacyMask(limits: limits, hung: hung) {
        { _, _ in
          entries.add()
          gate.waitWithLimit()
          gate.signal()
          return true
        }
      }
    }
    /// Covers three frames; returns what is reported.
    func cover() -> [String] {
      let mask = mask(limits)
      return (0..<3).compactMap { (second: Int64) in
        let held = mask.submit(Self.frame(second * 30, luma: UInt8(60 + second * 5)), completes: true)
        #expect(held.frames.map { Self.luma($0.frame) == 40 || $0.verdict == .cover } == [true])
        return held.failure
      }
    }
    // As when a client switches privacy off and on; on a busy machine a thread may be given up before it has begun.
    for _ in 0..<100 where !hung.isFull { _ = cover() }
    #expect(entries.count == HungDetections.maximumCount)
    // Each further mask starts none, and reports it.
    for _ in 0..<3 {
      let failures = cover()
      #expect(failures.count == 1 && failures[0].contains("everything is covered until it answers"), "\(failures)")
    }
    #expect(entries.count == HungDetections.maximumCount)
    gate.signal()
    try await eventually { !hung.isFull }
    let later = mask(PrivacySearch.Limits(threadCount: 1)).submit(Self.frame(0), completes: true)
    #expect(later.failure == nil && later.frames.map { Self.luma($0.frame) } == [100])
  }

  @Test func `the chain counts failures and stalls of the search`() {
    let chain = EffectChain([PrivacyMask { { _, _ in false } }])
    for index: Int64 in 0..<2 {
      let progress = chain.advance(Self.frame(index * 30), completes: true) { MediaTime.zero }
      #expect(progress.frames.compactMap { $0.released.map { $0.frame.buffer.unsafePlane(0)[0] } } == [40])
    }
    #expect(chain.statistics.map(\.detectionFailures) == [2] && chain.statistics.map(\.detectionStalls) == [0])
  }

  @Test func `a detector that fails leaves all frames covered, also unchanged ones after a second`() {
    let isAlive = Mutex(true)
    let mask = PrivacyMask { { _, _ in isAlive.withLock { $0 } } }
    #expect(mask.submit(Self.frame(0), completes: false).frames.map { Self.luma($0.frame) } == [100])
    isAlive.withLock { $0 = false }
    var lumas: [UInt8] = []
    for index in 1..<90 {
      lumas += mask.submit(Self.frame(Int64(index)), completes: false).frames.map { Self.luma($0.frame) }
    }
    #expect(lumas.count > 80 && lumas.suffix(50).allSatisfy { $0 == 40 })
  }
}
