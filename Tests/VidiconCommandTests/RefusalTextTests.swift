import Authentication
import Testing

@testable import VidiconCommand

@Suite("Refusals in the status")
struct RefusalTextTests {
  @Test func `refusals are listed by descending count, without reasons that did not occur`() {
    #expect(RefusalText.line([:]) == nil)
    #expect(RefusalText.line([.badHost: 0, .overLimit: 0]) == nil)
    #expect(
      RefusalText.line([.badHost: 2, .failedLogin: 7, .malformed: 2, .throttled: 0])
        == "refused: 7 failed login, 2 foreign Host, 2 malformed")
  }

  @Test func `a lack of descriptors is reported at once, and again after a minute at the earliest`() {
    var warning = DescriptorWarning()
    let beginning = [0, 1].map { warning.said($0) }
    #expect(beginning == [false, true])
    let minute = (2..<62).map { warning.said($0) }
    #expect(!minute.contains(true))
    let later = [62, 63, 63].map { warning.said($0) }
    #expect(later == [true, false, false])
  }
}

extension DescriptorWarning {
  /// Whether a warning is shown, as one mutating call outside of an expectation.
  fileprivate mutating func said(_ failures: Int) -> Bool {
    self.warning(acceptFailures: failures)?.contains("ulimit -n") ?? false
  }
}
