/// Records in which frame each block of a frame has last changed. Pure.
///
/// A block's content is compared with that of its last change. Both the content when a tile was searched and the current
/// one differ from it by less than ``tolerance``, so that a slow change is noticed as well as a fast one.
struct FrameChanges {
  /// Side of a block, in samples.
  static let blockSide = 4
  /// Mean absolute difference from which a block has changed, in steps of luma.
  static let tolerance = 2

  let columns: Int
  let rows: Int
  private let width: Int
  private let height: Int
  /// Samples of each block at its last change.
  private var anchors: [UInt8]
  /// Number of the frame in which each block has last changed.
  private(set) var changes: [Int]
  /// Number of the last frame; 0 before the first.
  private(set) var number = 0

  /// - Parameters:
  ///   - width: Width of the frames in samples.
  ///   - height: Height in samples.
  init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    self.columns = (width + Self.blockSide - 1) / Self.blockSide
    self.rows = (height + Self.blockSide - 1) / Self.blockSide
    self.anchors = Array(repeating: 0, count: width * height)
    self.changes = Array(repeating: 0, count: self.columns * self.rows)
  }

  /// Compares the next frame; all blocks of the first one have changed.
  ///
  /// - Parameter luma: Its samples, `stride` from row to row.
  mutating func add(_ luma: UnsafePointer<UInt8>, stride: Int) {
    self.number += 1
    let (number, width, height, columns) = (self.number, self.width, self.height, self.columns)
    let rows = self.rows
    self.anchors.withUnsafeMutableBufferPointer { anchors in
      self.changes.withUnsafeMutableBufferPointer { changes in
        // A frame without pixels has no blocks.
        guard let anchors = anchors.baseAddress, let changes = changes.baseAddress else { return }
        for row in 0..<rows {
          let (top, bottom) = (row * Self.blockSide, min(height, (row + 1) * Self.blockSide))
          for column in 0..<columns {
            let (left, right) = (column * Self.blockSide, min(width, (column + 1) * Self.blockSide))
            var sum: Int32 = 0
            var y = top
            while y < bottom {
              let (old, new) = (anchors + y * width, luma + y * stride)
              var x = left
              while x < right {
                let difference = Int32(old[x]) &- Int32(new[x])
                sum &+= difference < 0 ? 0 &- difference : difference
                x &+= 1
              }
              y &+= 1
            }
            guard number == 1 || Int(sum) > Self.tolerance * (right - left) * (bottom - top) else { continue }
            changes[row * columns + column] = number
            for y in top..<bottom {
              (anchors + y * width + left).update(from: luma + y * stride + left, count: right - left)
            }
          }
        }
      }
    }
  }
}
