import Media
import Testing

@testable import Codecs

@Suite("Display matrix, ISO/IEC 14496-12 §6.2.2")
struct DisplayMatrixTests {
  // Rows a b u, c d v of the matrix, with 1 encoded as 2¹⁶: a point (p, q) is mapped to (a·p + c·q, b·p + d·q); q
  // points down.
  @Test(arguments: [
    ([1, 0, 0, 1], Orientation.up, false),
    // A phone held upright: (p, q) is mapped to (-q, p), a quarter turn clockwise.
    ([0, 1, -1, 0], .right, false),
    ([-1, 0, 0, -1], .down, false),
    ([0, -1, 1, 0], .left, false),
    // Mirrored horizontally.
    ([-1, 0, 0, 1], .up, true),
    // Mirrored upside down: a half turn, then a horizontal mirror.
    ([1, 0, 0, -1], .down, true),
    ([0, 0, 0, 0], .up, false),
  ])
  func `a display matrix is a rotation followed by a horizontal mirror`(
    values: [Int32], orientation: Orientation, isMirrored: Bool
  ) {
    let matrix = [
      values[0] << 16, values[1] << 16, 0, values[2] << 16, values[3] << 16, 0, 0, 0, 1 << 30,
    ]
    let (turn, mirrored) = DecodedFrameConverter.orientation(matrix)
    #expect(turn == orientation)
    #expect(mirrored == isMirrored)
  }

  @Test func `a missing matrix means upright`() {
    #expect(DecodedFrameConverter.orientation(nil) == (.up, false))
  }
}
