import Testing

@testable import Effects

@Suite("Face meshes")
struct FaceMeshTests {
  /// A mesh with the given points; all others are at the center.
  private static func mesh(_ places: [Int: SIMD2<Float>]) -> FaceMesh {
    var points = [SIMD3<Float>](repeating: SIMD3(50, 50, 0), count: 478)
    for (index, place) in places { points[index] = SIMD3(place, 0) }
    return FaceMesh(points: points, presence: 1)
  }

  /// Eye and mouth corners of a frontal face.
  private static let neutral: [Int: SIMD2<Float>] = [
    33: [20, 40], 133: [40, 40], 362: [60, 40], 263: [80, 40], 61: [35, 70], 291: [65, 70], 13: [50, 69], 14: [50, 71],
  ]

  @Test func `an eye's opening is its height divided by its width`() {
    let lids: [Int: SIMD2<Float>] = [160: [27, 37], 144: [27, 43], 158: [33, 37], 153: [33, 43]]
    let mesh = Self.mesh(Self.neutral.merging(lids) { $1 })
    #expect(abs(mesh.rightEyeOpening - 0.3) < 1e-6)
    // All points of the other eye's lids coincide.
    #expect(mesh.leftEyeOpening == 0)
    #expect(Self.mesh([:]).rightEyeOpening == 0)
  }

  @Test func `a smile is a wide mouth with raised corners, whatever the roll angle`() {
    let neutral = Self.mesh(Self.neutral)
    let smiling = Self.mesh(Self.neutral.merging([61: [30, 66], 291: [70, 66]]) { $1 })
    #expect(abs(neutral.smile - 0.5) < 1e-6)
    #expect(abs(smiling.smile - (40.0 / 60 + 2 * 4 / 60)) < 1e-6)
    // A quarter turn to the right: right becomes down, down becomes left.
    var turned = smiling
    turned.points = smiling.points.map { SIMD3(-$0.y, $0.x, $0.z) }
    #expect(abs(turned.smile - smiling.smile) < 1e-6)
    #expect(abs(turned.roll - .pi / 2) < 1e-6)
    #expect(neutral.roll == 0)
    #expect(Self.mesh([:]).smile == 0)
  }

  @Test func `model outputs become points and a presence probability`() {
    let values = (0..<468 * 3).map(Float.init)
    var mesh = FaceMesh(pointCount: 468)
    values.withUnsafeBufferPointer { mesh.fill($0, logit: 0) }
    #expect(mesh.points.count == 468)
    #expect(mesh.points.last == SIMD3(1401, 1402, 1403))
    #expect(mesh.presence == 0.5)
    #expect(mesh.bounds.low == SIMD2(0, 1))
    #expect(mesh.bounds.high == SIMD2(1401, 1402))
  }
}
