import Media
import MediaInput
import Testing

@Suite("The publisher of a stream")
struct PublisherSlotTests {
  /// A slot at times in milliseconds.
  private final class Slot {
    private var slot = PublisherSlot()

    var isTaken: Bool { self.slot.isTaken }
    func begin(at time: Int64) -> PublisherSlot.ID? { self.slot.begin(at: .zero + .milliseconds(time)) }
    func end(_ id: PublisherSlot.ID) -> Bool { self.slot.end(id) }
    func handleActivity(of id: PublisherSlot.ID, at time: Int64) -> Bool {
      self.slot.handleActivity(of: id, at: .zero + .milliseconds(time))
    }
  }

  private let slot = Slot()

  @Test func `a publisher that sends is not displaced, one silent for two seconds is`() throws {
    let first = try #require(self.slot.begin(at: 0))
    #expect(self.slot.begin(at: 1_999) == nil)
    #expect(self.slot.handleActivity(of: first, at: 1_999))
    #expect(self.slot.begin(at: 3_998) == nil)
    let second = try #require(self.slot.begin(at: 3_999))
    #expect(second != first)
    #expect(!self.slot.handleActivity(of: first, at: 4_000))
    #expect(self.slot.handleActivity(of: second, at: 4_000))
  }

  @Test func `a publisher that was displaced does not end its successor`() throws {
    let first = try #require(self.slot.begin(at: 0))
    let second = try #require(self.slot.begin(at: 2_000))
    #expect(!self.slot.end(first) && self.slot.isTaken)
    #expect(self.slot.end(second) && !self.slot.isTaken)
    #expect(!self.slot.handleActivity(of: second, at: 2_001))
    #expect(self.slot.begin(at: 2_001) != nil)
  }
}
