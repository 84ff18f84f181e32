import Effects
import Foundation
import Media
import Testing

@Suite("Meshes of real faces")
struct FaceMesherTests {
  /// The mesh of a frame's best candidate, refined by a second run in the region of the first mesh.
  private static func mesh(_ name: String, _ width: Int, _ height: Int, at second: Double) throws -> FaceMesh {
    let frame = try RealImage.frame(name, width: width, height: height, at: second)
    var detector = try FaceDetector(.fullRangeDetector, models: FaceModels())
    var found: [FaceCandidate] = []
    for tile in FaceTile.covering(width: width, height: height) { found += detector.detect(in: frame, tile: tile) }
    let face = try #require(FaceCandidate.suppress(found).first)
    var coarse = try FaceMesher(.mesh, models: FaceModels())
    var fine = try FaceMesher(.fineMesh, models: FaceModels())
    let first = coarse.mesh(in: frame, region: FaceRegion(face))
    let second = fine.mesh(in: frame, region: FaceRegion(first))
    #expect(first.presence > 0.9 && second.presence > 0.9)
    // The detector and both mesh models agree on the nose's position, within a tenth of the face's width.
    let nose = face.keyPoints.nose
    for mesh in [first, second] {
      let apart = nose - SIMD2(mesh.points[4].x, mesh.points[4].y)
      #expect((apart * apart).sum().squareRoot() < 0.1 * face.size.x)
      #expect(abs(mesh.roll - face.roll) < 0.15)
    }
    return second
  }

  @Test func `open and closed eyes are distinguished`() throws {
    let closed = try Self.mesh("WolfgangLanger_Pexels.mp4", 640, 360, at: 1)
    #expect(closed.leftEyeOpening < 0.15 && closed.rightEyeOpening < 0.15)
    let open = try Self.mesh("single_face.mp4", 640, 360, at: 0)
    #expect(open.leftEyeOpening > 0.2 && open.rightEyeOpening > 0.2)
  }

  @Test func `a smile has a higher value than a neutral mouth`() throws {
    let neutral = try Self.mesh("single_face.mp4", 640, 360, at: 0)
    let smiling = try Self.mesh("single_face.mp4", 640, 360, at: 2)
    #expect(smiling.smile > neutral.smile + 0.1)
  }

  @Test func `no mesh is found without a face, or outside the frame`() throws {
    let frame = try RealImage.frame("no_face.mp4", width: 960, height: 540, at: 1)
    var mesher = try FaceMesher(.mesh, models: FaceModels())
    let regions = [
      FaceRegion(center: SIMD2(300, 300), side: 300, roll: 0), FaceRegion(center: SIMD2(-1e9, 1e9), side: 1e9, roll: 9),
      FaceRegion(center: SIMD2(.nan, 0), side: .infinity, roll: .nan),
      FaceRegion(center: SIMD2(5, 5), side: 0, roll: 0),
    ]
    for region in regions { #expect(!(mesher.mesh(in: frame, region: region).presence > 0.5)) }
  }

  @Test func `a region is recovered from its mesh, whatever the roll angle`() {
    for roll in [Float(0), 0.5, -2] {
      let region = FaceRegion(center: SIMD2(100, 80), side: 60, roll: roll)
      // A face that fills two thirds of the region: its corners, and the eyes on a line.
      var points = [SIMD3<Float>](repeating: SIMD3(100, 80, 0), count: 468)
      let (right, down) = (SIMD2(cos(roll), sin(roll)), SIMD2(-sin(roll), cos(roll)))
      func put(_ index: Int, _ x: Float, _ y: Float) {
        points[index] = SIMD3(region.center + right * x + down * y, 0)
      }
      put(10, -20, -20)
      put(152, 20, 20)
      put(33, -10, -5)
      put(263, 10, -5)
      let again = FaceRegion(FaceMesh(points: points, presence: 1))
      #expect(abs(again.center.x - 100) < 0.01 && abs(again.center.y - 80) < 0.01)
      #expect(abs(again.side - 60) < 0.01 && abs(again.roll - roll) < 0.001)
    }
  }
}
