import Testing

@testable import Effects

@Suite("Candidates of a face detector")
struct FaceCandidateTests {
  /// A square box whose key points are all at its center.
  static func candidate(_ x: Float, _ y: Float, side: Float = 10, score: Float = 0.9) -> FaceCandidate {
    let center = SIMD2(x, y)
    return FaceCandidate(
      center: center, size: SIMD2(side, side), keyPoints: Self.keyPoints(center), score: score)
  }

  /// Key points at one place.
  static func keyPoints(_ place: SIMD2<Float>) -> Face.KeyPoints {
    Face.KeyPoints(rightEye: place, leftEye: place, nose: place, mouth: place, rightEar: place, leftEar: place)
  }

  @Test func `overlap is the intersection over the union of two boxes`() {
    let box = Self.candidate(0, 0)
    #expect(box.overlap(with: box) == 1)
    #expect(box.overlap(with: Self.candidate(5, 0)) == Float(50) / 150)
    #expect(box.overlap(with: Self.candidate(10, 0)) == 0)
    #expect(box.overlap(with: Self.candidate(100, 100)) == 0)
    #expect(box.overlap(with: Self.candidate(0, 0, side: 0)) == 0)
    #expect(Self.candidate(0, 0, side: 0).overlap(with: Self.candidate(0, 0, side: 0)) == 0)
  }

  @Test func `suppression keeps the best candidate of a face, whatever the order`() {
    let first = [Self.candidate(0, 0, score: 0.7), Self.candidate(1, 0, score: 0.9), Self.candidate(0, 1, score: 0.8)]
    let second = [Self.candidate(50, 50, score: 0.95)]
    let expected = [second[0], first[1]]
    #expect(FaceCandidate.suppress(first + second) == expected)
    #expect(FaceCandidate.suppress(second + first.reversed()) == expected)
    #expect(FaceCandidate.suppress([]) == [])
    // Neighbors that overlap little are two faces.
    #expect(FaceCandidate.suppress([Self.candidate(0, 0), Self.candidate(7, 0)]).count == 2)
  }

  @Test func `the line through the eyes gives the roll angle`() {
    var face = Self.candidate(0, 0)
    face.keyPoints.leftEye = SIMD2(4, 0)
    #expect(face.roll == 0)
    face.keyPoints.leftEye = SIMD2(3, 3)
    #expect(abs(face.roll - .pi / 4) < 1e-6)
    #expect(abs(face.moved(by: SIMD2(7, 9), scaledBy: SIMD2(2, 2)).roll - .pi / 4) < 1e-6)
  }

  @Test(arguments: [(FaceModel.shortRangeDetector, 896), (.fullRangeDetector, 2304), (.sparseFullRangeDetector, 2304)])
  func `each cell of a detector's input decodes to one box`(model: FaceModel, count: Int) throws {

    let output = FaceDetectorOutput(model)
    #expect(output.anchors.count == count)
    #expect(output.anchors.allSatisfy { $0.min() > 0 && $0.max() < 1 })
    // The last cell, half a cell from the corner.
    let cells: Float = model == .shortRangeDetector ? 8 : 48
    let last = SIMD2<Float>(repeating: (cells - 0.5) / cells)
    #expect(output.anchors.last == last)
    var values = [Float](repeating: 0, count: 16 * count)
    var scores = [Float](repeating: -10, count: count)
    #expect(Self.candidates(output, values, scores) == [])
    scores[count - 1] = 10
    // A box without a size is not a face.
    #expect(Self.candidates(output, values, scores) == [])
    let side = Float(model.inputSide)
    let own: [Float] = [side / 4, -side / 4, side / 2, side] + (0..<12).map { Float($0) }
    values.replaceSubrange((16 * count - 16)..., with: own)
    let found = try #require(Self.candidates(output, values, scores).first)
    #expect(found.center == last + SIMD2(0.25, -0.25))
    #expect(found.size == SIMD2(0.5, 1))
    #expect(found.keyPoints.rightEye == last + SIMD2(0, 1) / side)
    #expect(found.keyPoints.leftEar == last + SIMD2(10, 11) / side)
    #expect(found.score > 0.9999 && found.score <= 1)
  }

  @Test func `scores around the threshold, and values that are not finite`() {
    let output = FaceDetectorOutput(.shortRangeDetector)
    var values = [Float](repeating: 1, count: 16 * 896)
    var scores = [Float](repeating: -10, count: 896)
    scores[0] = 0.001
    scores[1] = -0.001
    scores[2] = .nan
    scores[3] = 5
    values[16 * 3 + 7] = .nan
    #expect(Self.candidates(output, values, scores).map { $0.score > 0.5 } == [true])
  }

  private static func candidates(
    _ output: FaceDetectorOutput, _ values: [Float], _ scores: [Float]
  ) -> [FaceCandidate] {
    var found: [FaceCandidate] = []
    values.withUnsafeBufferPointer { values in
      scores.withUnsafeBufferPointer { output.addCandidates(values: values, scores: $0, to: &found) }
    }
    return found
  }

  @Test(arguments: [
    (1280, 720, 2), (720, 1280, 2), (640, 640, 1), (640, 480, 2), (1920, 1080, 2), (2560, 1080, 3), (32, 32, 1),
    (4096, 100, 51), (1, 1, 1), (101, 33, 4),
  ]) func `tiles cover an image and overlap`(width: Int, height: Int, count: Int) {
    let tiles = FaceTile.covering(width: width, height: height)
    let (side, length) = (min(width, height), max(width, height))
    #expect(tiles.count == count)
    let starts = tiles.map { width > height ? $0.x : $0.y }
    #expect(tiles.allSatisfy { $0.side == side && $0.x % 2 == 0 && $0.y % 2 == 0 })
    #expect(starts.first == 0)
    // Positions are even, so the last column of an odd frame may be left out.
    #expect(length - side - (starts.last ?? 0) <= 1)
    for (start, next) in zip(starts, starts.dropFirst()) { #expect(next - start <= side - side / 5 + 2) }
    #expect(FaceTile.covering(width: 0, height: 10) == [])
  }
}
