import Media
import Testing

@testable import Streaming

@Suite("Source adjustment")
struct SourceAdjustmentTests {
  /// A frame of 3 × 2 different pixels, row by row.
  private static let pixels = [[1, 2, 3], [4, 5, 6]]

  private static func turned(_ rows: [[Int]], by orientation: Orientation) -> [[Int]] {
    (0..<orientation.rawValue / 90).reduce(rows) { rows, _ in
      // The first column, read from the bottom, becomes the first row.
      rows[0].indices.map { column in rows.reversed().map { $0[column] } }
    }
  }

  private static func mirrored(_ rows: [[Int]], _ isMirrored: Bool) -> [[Int]] {
    isMirrored ? rows.map { $0.reversed() } : rows
  }

  @Test(arguments: Orientation.allCases, Orientation.allCases)
  func `rotation and mirroring are applied after the frame's own orientation, in that order`(
    orientation: Orientation, rotation: Orientation
  ) {
    let buffer = PixelBuffer(format: VideoFormat(width: 2, height: 2))
    for (isMirrored, mirrors) in [(false, false), (false, true), (true, false), (true, true)] {
      let frame = VideoFrame(buffer: buffer, timestamp: .zero, orientation: orientation, isMirrored: isMirrored)
      let found = SourceAdjustment(rotation: rotation, isMirrored: mirrors).applied(to: frame)
      let shown = Self.mirrored(Self.turned(Self.pixels, by: orientation), isMirrored)
      #expect(
        Self.mirrored(Self.turned(Self.pixels, by: found.orientation), found.isMirrored)
          == Self.mirrored(Self.turned(shown, by: rotation), mirrors))
    }
  }

  @Test func `a capturer's adjustment is kept as long as the capturer`() {
    var past = PastAdjustments()
    let kept = ScriptedVideoCapturer()
    past.keep(SourceAdjustment(rotation: .left), of: kept)
    past.keep(SourceAdjustment(isMirrored: true), of: ScriptedVideoCapturer())
    past.keep(SourceAdjustment(rotation: .down), of: kept)
    #expect(past.adjustment(of: kept) == SourceAdjustment(rotation: .down))
    #expect(past.adjustment(of: ScriptedVideoCapturer()) == SourceAdjustment())
    #expect(past.count == 1)
  }

  @Test func `an adjustment is restored by name when another capturer opens the source`() {
    var past = PastAdjustments()
    let first = ScriptedVideoCapturer()
    past.keep(SourceAdjustment(rotation: .left), of: first, named: "cam")
    #expect(past.adjustment(of: ScriptedVideoCapturer(), named: "cam") == SourceAdjustment(rotation: .left))
    #expect(past.adjustment(of: ScriptedVideoCapturer(), named: "other") == SourceAdjustment())
    past.keep(SourceAdjustment(isMirrored: true), of: ScriptedVideoCapturer(), named: "cam")
    #expect(past.adjustment(of: ScriptedVideoCapturer(), named: "cam") == SourceAdjustment(isMirrored: true))
    #expect(past.count == 1)
  }

  @Test func `the oldest of 64 names is forgotten first`() {
    var past = PastAdjustments()
    for number in 0...PastAdjustments.maximumCount {
      past.keep(SourceAdjustment(rotation: .left), of: ScriptedVideoCapturer(), named: "cam\(number)")
    }
    #expect(past.count == PastAdjustments.maximumCount)
    #expect(past.adjustment(of: ScriptedVideoCapturer(), named: "cam0") == SourceAdjustment())
    #expect(past.adjustment(of: ScriptedVideoCapturer(), named: "cam1") == SourceAdjustment(rotation: .left))
  }
}
