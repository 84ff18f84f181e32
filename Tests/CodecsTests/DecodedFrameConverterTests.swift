import Media
import Testing

@testable import Codecs

@Suite("Display matrix, ISO/IEC 14496-12 §6.2.2")
struct DisplayMatrixTests {
  // Rows a b u, c d v of the matrix, 1 being 2¹⁶: a point (p, q) goes to (a·p + c·q, b·p + d·q), q pointing down.
  @Test(arguments: [
    ([1, 0, 0, 1], Orientation.up, false),
    // A telephone held upright: (p, q) goes to (-q, p), a quarter clockwise.
    ([0, 1, -1, 0], .right, false),
    ([-1, 0, 0, -1], .down, false),
    ([0, -1, 1, 0], .left, false),
    // Left and right exchanged.
    ([-1, 0, 0, 1], .up, true),
    // Upside down mirrored: turned by half, then left and right exchanged.
    ([1, 0, 0, -1], .down, true),
    ([0, 0, 0, 0], .up, false),
  ])
  func `a matrix is a turn, and an exchange of left and right after it`(
    values: [Int32], orientation: Orientation, isMirrored: Bool
  ) {
    let matrix = [
      values[0] << 16, values[1] << 16, 0, values[2] << 16, values[3] << 16, 0, 0, 0, 1 << 30,
    ]
    let (turn, mirrored) = DecodedFrameConverter.orientation(matrix)
    #expect(turn == orientation)
    #expect(mirrored == isMirrored)
  }

  @Test func `no matrix is upright`() {
    #expect(DecodedFrameConverter.orientation(nil) == (.up, false))
  }
}
