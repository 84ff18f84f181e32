import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Effects

@Suite("Face tracking in real films")
struct FaceTrackerTests {
  /// Tracking results of some frames of a film; each frame waits for the detector.
  static func track(
    _ name: String, width: Int, height: Int, frames: Range<Int>, isUpsideDown: Bool = false,
    _ body: (Int, EffectFrame) throws -> Void
  ) throws {
    let tracker = try FaceTracker(
      settings: .init(detection: .everyFrame, orientation: isUpsideDown ? .down : .up))
    let chain = EffectChain([tracker])
    try RealImage.forEach(
      name, width: width, height: height, from: frames.lowerBound, filter: isUpsideDown ? "vflip,hflip" : nil
    ) { index, buffer in
      guard index < frames.upperBound else { return false }
      let time = MediaTime(ticks: Int64(index) * 1001, timescale: 24_000)
      var frame = EffectFrame(buffer: buffer, timestamp: time, budget: .seconds(10))
      let outcome = chain.process(&frame, now: { .zero })
      #expect(!outcome.isDropped && outcome.reports == [])
      #expect(frame.metadata.faceTracking == .current)
      try body(index, frame)
      return true
    }
  }

  @Test func `eyes that stay closed are reported, and are not a blink`() throws {
    try Self.track("WolfgangLanger_Pexels.mp4", width: 640, height: 360, frames: 30..<50) { index, frame in
      #expect(frame.metadata.faces.map(\.id) == [1])
      if index > 33 { #expect(frame.metadata.faces.allSatisfy { $0.leftEyeClosed && $0.rightEyeClosed }) }
      #expect(!frame.metadata.faceEvents.contains { $0.kind == .blink })
    }
  }

  @Test func `a blink of one frame and the smile after it are reported`() throws {
    var events: [FaceEvent.Kind: [Int]] = [:]
    var closed: Set<Int> = []
    try Self.track("WolfgangLanger_Pexels.mp4", width: 640, height: 360, frames: 270..<304) { index, frame in
      #expect(frame.metadata.faces.map(\.id) == [1])
      for event in frame.metadata.faceEvents { events[event.kind, default: []].append(index) }
      if frame.metadata.faces.contains(where: { $0.leftEyeClosed && $0.rightEyeClosed }) { closed.insert(index) }
    }
    #expect(closed.contains(288) && closed.allSatisfy { (287...290).contains($0) })
    #expect(events[.entered] == [270] && events[.left] == nil)
    #expect(events[.blink]?.count == 1 && events[.blink]?.allSatisfy { (288...292).contains($0) } == true)
    #expect(events[.smile]?.contains { (289...300).contains($0) } == true)
  }

  @Test func `a smile is reported within five frames`() throws {
    var smiles: [Int] = []
    try Self.track("single_face.mp4", width: 640, height: 360, frames: 5..<26) { index, frame in
      smiles += frame.metadata.faceEvents.filter { $0.kind == .smile }.map { _ in index }
    }
    #expect(smiles.count == 1 && smiles.allSatisfy { (18...24).contains($0) })
  }

  @Test func `an upside-down camera gives the same face`() throws {
    var rolls: [Float] = []
    try Self.track("single_face.mp4", width: 640, height: 360, frames: 0..<3, isUpsideDown: true) { _, frame in
      rolls += frame.metadata.faces.map(\.roll)
    }
    #expect(rolls.count == 3 && rolls.allSatisfy { abs($0) > 2.8 })
  }

  @Test func `a frame without faces reports none`() throws {
    try Self.track("no_face.mp4", width: 960, height: 540, frames: 0..<6) { _, frame in
      #expect(frame.metadata.faces == [] && frame.metadata.faceEvents == [])
    }
  }

  @Test func `all five faces of a group are hidden in the first frame`() throws {
    let tracker = try FaceTracker(settings: .init(detection: .everyFrame))
    let chain = EffectChain([tracker, try PrivacyMask(models: FaceModels())])
    let image = try RealImage.frame("multi_face.jpg", width: 1000, height: 666)
    var frame = EffectFrame(buffer: image.buffer, timestamp: .zero, budget: .seconds(10))
    _ = chain.process(&frame, now: { .zero })
    #expect(frame.metadata.faces.count + frame.metadata.possibleFaces.count == 5)
    #expect(chain.statistics.map(\.covers) == [0, 0])
    var detector = try FaceDetector(.fullRangeDetector, models: FaceModels())
    var found: [FaceCandidate] = []
    for tile in FaceTile.covering(width: 1000, height: 666) { found += detector.detect(in: frame.viewed, tile: tile) }
    #expect(FaceCandidate.suppress(found) == [])
  }

  @Test func `a detector that has stopped or hangs is reported`() throws {
    for doesAnswer in [false, true] {
      let gate = DispatchSemaphore(value: 0)
      let tracker = try FaceTracker(models: FaceModels(), settings: .init()) { _, _ in
        if doesAnswer { gate.waitWithLimit() }
        return doesAnswer
      }
      let chain = EffectChain([tracker])
      var states: [FaceTrackingState] = []
      var reports: [EffectReport] = []
      func process(at time: MediaTime) {
        var frame = EffectFrame(buffer: DrawingTests.frame(64, 48), timestamp: time, budget: .seconds(10))
        reports += chain.process(&frame, now: { .zero }).reports
        states.append(frame.metadata.faceTracking ?? .current)
      }
      // The detector's thread has its own time to fail; less than two seconds of the stream pass meanwhile.
      let start = ContinuousClock.now
      var step = Int64(0)
      while !doesAnswer, reports.isEmpty, ContinuousClock.now - start < .seconds(300) {
        process(at: MediaTime(ticks: step, timescale: 1_000_000_000))
        step += 1
        sched_yield()
      }
      for index in 1...90 { process(at: MediaTime(ticks: Int64(index), timescale: 30)) }
      #expect(!states.contains(.current))
      // In one line, once: masks need it too.
      let cause = doesAnswer ? "is behind" : "has failed"
      #expect(
        reports.map(\.description) == ["effect FaceTracker failed: the search for faces \(cause); masks may be missing"]
      )
      gate.signal()
    }
  }

  @Test func `trackers that replace each other while their detector hangs start a bounded number of threads`()
    async throws
  {
    let starts = Mutex(0)
    let (gate, hung) = (DispatchSemaphore(value: 0), HungDetections())
    defer { gate.signal() }
    for index in 0..<10 {
      let tracker = try FaceTracker(models: FaceModels(), settings: .init(), hung: hung) { _, _ in
        starts.withLock { $0 += 1 }
        gate.waitWithLimit()
        gate.signal()
        return true
      }
      let chain = EffectChain([tracker])
      var frame = EffectFrame(buffer: DrawingTests.frame(64, 48), timestamp: .zero, budget: .seconds(10))
      let reports = chain.process(&frame, now: { .zero }).reports
      let isStarted = index < HungDetections.maximumCount
      #expect(reports.isEmpty == isStarted, "\(index): \(reports)")
      if isStarted { try await eventually { starts.withLock { $0 } == index + 1 } }
    }
    #expect(starts.withLock { $0 } == HungDetections.maximumCount)
  }

  /// Processes frames of 10 ms until the tracker is in a state; returns the number of frames. Tiles are searched each 190 ms at
  /// the latest, which is fewer frames than are tried at least.
  private func process(
    with tracker: FaceTracker, from first: Int64, until state: FaceTrackingState
  ) async throws -> Int64 {
    var index = first
    try await eventually {
      var frame = EffectFrame(
        buffer: DrawingTests.frame(64, 64), timestamp: MediaTime(ticks: index, timescale: 100), budget: .seconds(10))
      index += 1
      // Thrown while the search is behind, or has failed.
      _ = try? tracker.process(&frame)
      return frame.metadata.faceTracking == state
    }
    return index - first
  }

  @Test func `a detector that hangs once is replaced, and faces are searched again`() async throws {
    let starts = Mutex(0)
    let gate = DispatchSemaphore(value: 0)
    defer { gate.signal() }
    let tracker = try FaceTracker(
      models: FaceModels(), settings: .init(), hung: HungDetections(), searchTimeout: .milliseconds(50)
    ) { _, _ in
      if starts.withLock({ starts in
        starts += 1
        return starts == 1
      }) {
        gate.waitWithLimit()
      }
      return true
    }
    _ = try await self.process(with: tracker, from: 0, until: .current)
    #expect(starts.withLock { $0 } > 1)
  }

  @Test func `a detector that always hangs gets a bounded number of threads, and goes on when it returns`() async throws
  {
    let starts = Mutex(0)
    let gate = DispatchSemaphore(value: 0)
    let tracker = try FaceTracker(
      models: FaceModels(), settings: .init(), hung: HungDetections(), searchTimeout: .milliseconds(20)
    ) { _, _ in
      starts.withLock { $0 += 1 }
      gate.waitWithLimit()
      gate.signal()
      return true
    }
    // A thread that is given up before it has begun ends without a search.
    let count = try await self.process(with: tracker, from: 0, until: .failed)
    // The last one may just be about to begin.
    try await eventually { starts.withLock { $0 } == FaceSearch.maximumAbandonedCount }
    gate.signal()
    _ = try await self.process(with: tracker, from: count, until: .current)
  }

  @Test func `without a tracker privacy covers the frame`() {
    let chain = EffectChain([PrivacyMask()])
    var frame = EffectFrame(buffer: DrawingTests.frame(64, 48), timestamp: .zero, budget: .seconds(1))
    _ = chain.process(&frame, now: { .zero })
    #expect(DrawingTests.sample(frame.buffer, 0, 9, 9) == 40)
    #expect(chain.statistics.map(\.covers) == [1])
  }

  @Test(arguments: [(32, 32), (33, 31), (4096, 100), (1, 1)])
  func `frames of any size, and a size that changes, are analyzed`(width: Int, height: Int) throws {

    let tracker = try FaceTracker(settings: .init(detection: .everyFrame))
    let chain = EffectChain([
      tracker, FaceMask(style: .blur), try PrivacyMask(models: FaceModels()), SkinSmoothing(strength: 1), FaceBoxes(),
    ])
    for (index, size) in [(width, height), (64, 48)].enumerated() {
      var frame = EffectFrame(
        buffer: DrawingTests.frame(size.0, size.1), timestamp: MediaTime(ticks: Int64(index), timescale: 30),
        budget: .seconds(10))
      #expect(chain.process(&frame, now: { .zero }).reports == [])
      #expect(frame.metadata.faces == [])
    }
  }

  @Test func `after a jump back in time all parts of the frame are searched again`() async throws {
    let tracker = try FaceTracker(models: FaceModels(), settings: .init()) { _, _ in true }
    func state(_ milliseconds: Int64) throws -> FaceTrackingState? {
      var frame = EffectFrame(
        buffer: DrawingTests.frame(64, 64), timestamp: MediaTime(ticks: milliseconds, timescale: 1000),
        budget: .seconds(10))
      let verdict = try tracker.process(&frame)
      #expect(verdict == .keep)
      return frame.metadata.faceTracking
    }
    #expect(try state(1000) == .behind)
    // The detector's thread is scheduled eventually; each call is a new chance to fetch its result.
    try await eventually { try state(1000) == .current }
    #expect(try state(900) == .behind)
  }
}
