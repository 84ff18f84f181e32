import Codecs
import Foundation
import Media
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Effects

@Suite("Privacy of faces in composed frames", .serialized)
struct PrivacyMaskTests {
  /// A mask whose search is never cut short: other tests run at the same time.
  private static func mask() throws -> PrivacyMask {
    let plans = try FaceDetectorPlans(FaceModels())
    let limits = PrivacySearch.Limits(frame: .seconds(300), complete: .seconds(300), runTimeout: .seconds(300))
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

  @Test(arguments: [(640, 360), (320, 180)], Orientation.allCases)
  func `faces of the promised number of pixels are covered in small frames`(
    size: (width: Int, height: Int), orientation: Orientation
  ) throws {
    let side = max(PrivacyLayout.minimumPixels, PrivacyMask.defaultMinimumFace * Float(size.height)).rounded(.up)
    for offset: Float in [0, 2, 8] {
      // Three: more that are smaller would cover the whole frame.
      let scene = try Self.crowd(
        width: size.width, height: size.height, columns: 3, rows: 1, sides: side + offset...side + offset,
        orientation: orientation)
      let frame = try Self.covered(scene)
      #expect(scene.uncovered(in: frame).map(\.center) == [], "\(side + offset)")
      #expect(FaceScene.coveredPart(of: frame) < 0.5, "\(side + offset)")
    }
  }

  @Test(arguments: [(320, 180), (480, 270)])
  func `of faces below sixteen pixels many cover the whole small frame, three only themselves`(
    width: Int, height: Int
  ) throws {
    let few = try Self.crowd(width: width, height: height, columns: 3, rows: 1, sides: 14...15)
    #expect(FaceScene.coveredPart(of: try Self.covered(few)) < 0.5)
    let many = try Self.crowd(width: width, height: height, columns: 5, rows: 3, sides: 14...15)
    #expect(FaceScene.coveredPart(of: try Self.covered(many)) > 0.999)
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
      scene.darken(by: 8)
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
    scene.darken(by: 10)
    #expect(scene.uncovered(in: try Self.covered(scene)).isEmpty)
  }
}
