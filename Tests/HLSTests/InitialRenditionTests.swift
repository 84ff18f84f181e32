import HLS
import Testing

@Suite("Rendition that a player starts with")
struct InitialRenditionTests {
  @Test(arguments: [(nil, 0), (2_300_000, 0), (2_222_223, 0), (2_222_221, 1), (500_000, 1), (499_999, 2), (0, 2)])
  func `it is the highest that nine tenths of the capacity hold`(capacity: Int?, index: Int) {
    #expect(InitialRendition.index(bitrates: [2_000_000, 450_000, 100_000], capacity: capacity) == index)
  }

  @Test func `a single rendition is always the choice`() {
    for capacity in [nil, 0, 1_000_000_000] {
      #expect(InitialRendition.index(bitrates: [2_000_000], capacity: capacity) == 0)
    }
  }
}
