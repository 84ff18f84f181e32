import Foundation
import Media
import Synchronization
import Testing

@testable import Effects

@Suite("Privacy of faces in composed frames", .serialized)
struct PrivacyMaskTests {
  /// A mask whose search is never cut short: other tests run at the same time.
  private static func mask() throws -> PrivacyMask {
    let plans = try FaceDetectorPlans(FaceModels())
    let limits = PrivacySearch.Limits(frame: .seconds(60), complete: .seconds(60), runTimeout: .seconds(60))
    return PrivacyMask(limits: limits) { plans.makeDetect() }
  }

  private static func covered(_ scene: FaceScene) throws -> PixelBuffer {
    let mask = try Self.mask()
    var frame = EffectFrame(buffer: FaceScene(copying: scene.buffer).buffer, timestamp: .zero, budget: .seconds(10))
    let verdict = mask.process(&frame)
    if verdict == .cover { frame.buffer.cover() }
    return frame.buffer
  }

  /// Faces in a grid, of sizes from `sides` in turn.
  private static func crowd(
    width: Int, height: Int, columns: Int, rows: Int, sides: ClosedRange<Float>, orientation: Orientation = .up
  ) throws -> FaceScene {
    var scene = try FaceScene(width: width, height: height)
    let count = columns * rows
    for index in 0..<count {
      let step = SIMD2(Float(width) / Float(columns), Float(height) / Float(rows))
      let place = SIMD2(Float(index % columns) + 0.5, Float(index / columns) + 0.5) * step
      let side = sides.lowerBound + (sides.upperBound - sides.lowerBound) * Float(index * 7 % count) / Float(count)
      try scene.add(index, at: place.rounded(.down), side: side, orientation: orientation)
    }
    return scene
  }

  @Test func `a crowd of 60 faces of 40 to 70 pixels in 1920 × 1080 is covered`() throws {
    let scene = try Self.crowd(width: 1920, height: 1080, columns: 10, rows: 6, sides: 40...70)
    #expect(scene.uncovered(in: try Self.covered(scene)).isEmpty)
  }

  @Test func `a crowd of 60 faces of the promised size is covered face by face`() throws {
    let scene = try Self.crowd(width: 1920, height: 1080, columns: 10, rows: 6, sides: 60...80)
    let frame = try Self.covered(scene)
    #expect(scene.uncovered(in: frame).isEmpty)
    #expect(FaceScene.coveredPart(of: frame) < 0.8)
  }

  @Test(arguments: Orientation.allCases)
  func `five faces are covered in each direction, small and large`(orientation: Orientation) throws {
    for side: Float in [40, 56, 100, 180] {
      let scene = try Self.crowd(
        width: 1280, height: 720, columns: 3, rows: 2, sides: side...side, orientation: orientation)
      let frame = try Self.covered(scene)
      #expect(scene.uncovered(in: frame).map(\.center) == [], "\(side)")
      // Covers of large faces fill the frame.
      if side < 150 { #expect(FaceScene.coveredPart(of: frame) < 0.9, "\(side)") }
    }
  }

  @Test(arguments: Orientation.allCases)
  func `faces of which the frame's edge cuts off half are covered`(orientation: Orientation) throws {
    for side: Float in [44, 80, 140] {
      var scene = try FaceScene(width: 1280, height: 720)
      for (index, place) in [SIMD2<Float>(2, 300), SIMD2(1278, 420), SIMD2(500, 2), SIMD2(800, 718)].enumerated() {
        try scene.add(index, at: place, side: side, orientation: orientation)
      }
      let frame = try Self.covered(scene)
      #expect(scene.uncovered(in: frame).map(\.center) == [], "\(side)")
      #expect(FaceScene.coveredPart(of: frame) < 0.5, "\(side)")
    }
  }

  @Test func `of a garage without people at most a tenth is covered`() throws {
    let garage = try RealImage.frame("motorcycle_left.png", width: 1280, height: 720).buffer
    let mask = try Self.mask()
    var frame = EffectFrame(buffer: garage, timestamp: .zero, budget: .seconds(10))
    #expect(mask.process(&frame) == .keep)
    #expect(FaceScene.coveredPart(of: frame.buffer) < 0.1)
  }

  @Test func `of an animation without faces at most a sixth is covered`() throws {
    // The model for near faces sees some in the clouds.
    try RealImage.forEach("no_face.mp4", width: 1280, height: 720, from: 14, filter: "select=not(mod(n\\,2))") {
      number, buffer in
      var frame = EffectFrame(buffer: buffer, timestamp: .zero, budget: .seconds(10))
      let mask = try Self.mask()
      #expect(mask.process(&frame) == .keep)
      #expect(FaceScene.coveredPart(of: frame.buffer) < 1.0 / 6, "\(number)")
      return number < 18
    }
  }

  @Test(arguments: Orientation.allCases)
  func `near faces are covered in each direction, also dark ones`(orientation: Orientation) throws {
    for (index, side) in [(1, Float(340)), (3, 480)] {
      var scene = try FaceScene(width: 1280, height: 720)
      try scene.add(index, at: SIMD2(640, 360), side: side, orientation: orientation)
      #expect(scene.uncovered(in: try Self.covered(scene)).isEmpty, "\(side)")
      let luma = scene.buffer.unsafePlane(0)
      for index in luma.indices { luma[index] = 16 + (max(16, luma[index]) - 16) / 8 }
      #expect(scene.uncovered(in: try Self.covered(scene)).isEmpty, "\(side), dark")
    }
  }

  @Test func `a small face in front of a large one hides neither`() throws {
    var scene = try FaceScene(width: 1280, height: 720)
    try scene.add(0, at: SIMD2(640, 360), side: 260)
    try scene.add(3, at: SIMD2(760, 470), side: 60)
    #expect(scene.uncovered(in: try Self.covered(scene)).isEmpty)
  }

  @Test func `a dark close-up is covered`() throws {
    var scene = try FaceScene(width: 1280, height: 720)
    try scene.add(0, at: SIMD2(640, 360), side: 500)
    let luma = scene.buffer.unsafePlane(0)
    for index in luma.indices { luma[index] = 16 + (max(16, luma[index]) - 16) / 10 }
    #expect(scene.uncovered(in: try Self.covered(scene)).isEmpty)
  }
}

/// A detector that a test controls: it sees bright squares.
@Suite("Privacy: what is shown, and when")
struct PrivacyReleaseTests {
  /// Counts the runs of a detector that finds nothing.
  private final class Runs: Sendable {
    private let runs = Mutex(0)
    var count: Int { self.runs.withLock { $0 } }
    func add() { self.runs.withLock { $0 += 1 } }
  }

  private static func frame(_ index: Int64, luma: UInt8 = 100) -> EffectFrame {
    let buffer = PixelBuffer(format: VideoFormat(width: 320, height: 180))
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

  @Test func `a changing stream is held back by a round, in order, and no frame is lost`() {
    let mask = PrivacyMask { { _, _ in true } }
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

  @Test func `a detector that hangs delays frames by a bounded time, they are covered, and it is started again`() {
    let (starts, gate) = (Runs(), DispatchSemaphore(value: 0))
    let mask = PrivacyMask(limits: PrivacySearch.Limits(threadCount: 1)) {
      starts.add()
      let isFirst = starts.count == 1
      return { _, _ in
        if isFirst { gate.wait() }
        return true
      }
    }
    // Not the first frame, which waits longer.
    var (failures, stalls) = ([String](), 0)
    for index in 0..<4 {
      let held = mask.submit(Self.frame(Int64(index), luma: UInt8(60 + index * 20)), completes: false)
      if let failure = held.failure { failures.append(failure) }
      stalls += held.stalls
      if index == 0 { #expect(held.frames.allSatisfy { Self.luma($0.frame) == 40 }) }
    }
    #expect(starts.count == 2 && stalls == 1)
    #expect(failures.count == 1 && failures[0].contains("hangs"))
    // The second thread answers.
    let after = mask.submit(Self.frame(4, luma: 200), completes: true)
    #expect(after.failure == nil && after.frames.last.map { Self.luma($0.frame) } == 200)
    gate.signal()
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
