import TestSupport
import Testing

@testable import CaptureDevices

@Suite("Row ranges")
struct RowRangesTests {
  @Test func `close ranges are merged, others stay apart`() {
    var rows = RowRanges()
    #expect(rows.isEmpty && rows.count == 0)
    rows.insert(100..<110)
    rows.insert(5..<5)
    rows.insert(200..<210)
    #expect(rows.ranges == [100..<110, 200..<210])
    rows.insert(0..<3)
    #expect(rows.ranges == [0..<3, 100..<110, 200..<210])
    rows.insert(126..<130)
    #expect(rows.ranges == [0..<3, 100..<130, 200..<210])
    rows.insert(147..<148)
    #expect(rows.ranges == [0..<3, 100..<130, 147..<148, 200..<210])
    rows.insert(50..<300)
    #expect(rows.ranges == [0..<3, 50..<300])
    #expect(rows.count == 253)
  }

  @Test func `the number of ranges is limited, and every inserted row is contained`() {
    for seed: UInt64 in 0..<200 {
      var random = SplitMix(seed: seed)
      var rows = RowRanges()
      var inserted: Set<Int> = []
      for _ in 0..<30 {
        let start = Int.random(in: 0..<1_080, using: &random)
        let range = start..<min(1_080, start + Int.random(in: 1..<40, using: &random))
        rows.insert(range)
        inserted.formUnion(range)
        #expect(rows.ranges.count <= RowRanges.maximumCount, "seed \(seed)")
      }
      let held = Set(rows.ranges.joined())
      #expect(inserted.isSubset(of: held), "seed \(seed)")
      #expect(rows.count == held.count, "seed \(seed)")
      for (before, after) in zip(rows.ranges, rows.ranges.dropFirst()) {
        #expect(before.upperBound < after.lowerBound, "seed \(seed)")
      }
      var union = RowRanges(0..<10)
      union.formUnion(rows)
      #expect(held.union(0..<10).isSubset(of: Set(union.ranges.joined())), "seed \(seed)")
    }
  }
}
