import Foundation
import Media
import Testing

@testable import Effects

@Suite("Masks over faces")
struct FaceMaskTests {
  /// A frontal face, with or without a mesh.
  private static func face(_ x: Float, _ y: Float, id: Int = 1, side: Float = 60, hasMesh: Bool = true) -> Face {
    let mesh = FaceTracksTests.mesh(x, y, side: side)
    return Face(
      id: id, box: Face.Box(x: x - side / 2, y: y - side / 2, width: side, height: side), roll: 0,
      keyPoints: mesh.keyPoints, mesh: hasMesh ? mesh.points : [])
  }

  /// The luma of a 160 × 120 frame after an effect.
  private static func apply(
    _ effects: [any VideoEffect], _ faces: [Face], possible: [Face] = [], state: FaceTrackingState? = .current,
    at milliseconds: Int64 = 0
  ) -> (Int, Int) -> Int {
    var frame = EffectFrame(
      buffer: DrawingTests.frame(160, 120), timestamp: MediaTime(ticks: milliseconds, timescale: 1000),
      budget: .seconds(1))
    frame.metadata.faces = faces
    frame.metadata.possibleFaces = possible
    frame.metadata.faceTracking = state
    for effect in effects {
      effect.prepare(for: frame.buffer.format)
      #expect((try? effect.process(&frame)) != nil)
    }
    #expect(DrawingTests.areGapsUntouched(frame.buffer))
    return { DrawingTests.sample(frame.buffer, 0, $0, $1) }
  }

  @Test(arguments: [true, false]) func `a mask covers its part of the face`(hasMesh: Bool) {
    let face = Self.face(80, 60, hasMesh: hasMesh)
    for style in [FaceMask.Style.oval(), .solid()] {
      let whole = Self.apply([FaceMask(style: style)], [face])
      #expect(whole(80, 60) == 40 && whole(80, 34) == 40 && whole(80, 85) == 40 && whole(57, 60) == 40)
      #expect(whole(30, 60) == 100 && whole(80, 8) == 100)
      let eyes = Self.apply([FaceMask(style: style, part: .eyes)], [face])
      #expect(eyes(68, 48) == 40 && eyes(92, 48) == 40 && eyes(80, 75) == 100)
      let mouth = Self.apply([FaceMask(style: style, part: .mouth)], [face])
      #expect(mouth(80, 75) == 40 && mouth(80, 48) == 100)
    }
  }

  @Test func `an image is placed over the eyes, scaled and rotated with the face`() {
    let image = OverlayImage(width: 40, height: 20, pixels: Array(repeating: 255, count: 4 * 800))
    let mask = FaceMask(style: .image(image), part: .eyes)
    let after = Self.apply([mask], [Self.face(80, 60)])
    // The eyes are 24 pixels apart, half of the image's width.
    #expect(after(80, 48) == 235 && after(60, 48) == 235 && after(100, 48) == 235)
    #expect(after(53, 48) == 100 && after(107, 48) == 100 && after(80, 70) == 100)
    let anchored = FaceMask(
      style: .image(image, anchors: MaskAnchors(left: SIMD2(0, 0.5), right: SIMD2(1, 0.5))), part: .eyes)
    let small = Self.apply([anchored], [Self.face(80, 60)])
    #expect(small(80, 48) == 235 && small(64, 48) == 100)
  }

  @Test func `without faces no mask is drawn, and faces outside the frame do no harm`() {
    for style in [FaceMask.Style.oval(), .solid(), .blur, .pixelate] {
      #expect(Self.apply([FaceMask(style: style)], [])(80, 60) == 100)
      for place in [SIMD2<Float>(-500, -500), SIMD2(0, 0), SIMD2(160, 120), SIMD2(1e9, 1e9), SIMD2(.nan, 0)] {
        _ = Self.apply(
          [FaceMask(style: style), SkinSmoothing(strength: 1), FaceBoxes()], [Self.face(place.x, place.y)])
      }
    }
  }

  @Test func `privacy covers faces and candidates, and continues to cover for a while`() {
    let mask = PrivacyMask { { _, _ in true } }
    let face = Self.face(50, 60, side: 40)
    let possible = Self.face(120, 60, id: 2, side: 40, hasMesh: false)
    let both = Self.apply([mask], [face], possible: [possible])
    #expect(both(50, 60) == 40 && both(120, 60) == 40 && both(85, 60) == 100)
    func later(_ milliseconds: Int64) -> Int {
      var frame = EffectFrame(
        buffer: DrawingTests.frame(160, 120), timestamp: MediaTime(ticks: milliseconds, timescale: 1000),
        budget: .seconds(1))
      frame.metadata.faceTracking = .current
      #expect(mask.process(&frame) == .keep)
      return DrawingTests.sample(frame.buffer, 0, 50, 60)
    }
    #expect(later(1400) == 40)
    #expect(later(1600) == 100)
  }

  @Test func `privacy without a detector requests a full cover`() {
    var frame = EffectFrame(buffer: DrawingTests.frame(64, 48), timestamp: .zero, budget: .seconds(1))
    frame.metadata.faceTracking = .current
    #expect(PrivacyMask().process(&frame) == .cover)
  }

  @Test func `anchors are parsed from JSON`() throws {
    let json = #"{"left": [0.3, 0.5], "right": [0.7, 0.5]}"#
    let anchors = try MaskAnchors.parse(json: Array(json.utf8))
    #expect(anchors == MaskAnchors(left: SIMD2(0.3, 0.5), right: SIMD2(0.7, 0.5)))
    for wrong in ["{}", #"{"left": [1], "right": [0, 1]}"#, #"{"left": "eye", "right": [0, 1]}"#] {
      #expect(throws: VidiconError.self) { try MaskAnchors.parse(json: Array(wrong.utf8)) }
    }
  }
}
