import Media
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Opening of a source", .timeLimit(.minutes(5)))
struct SourceOpeningTests {
  /// A source whose start returns when it is let, and the calls that it gets.
  private final class Source: Sendable {
    private let gate: Monitor<Bool>
    private let log = Monitor<[String]>([])

    init(isHeld: Bool = false) { self.gate = Monitor(!isHeld) }

    var calls: [String] { self.log.read { $0 } }

    func release() { self.gate.withLock { $0 = true } }

    /// Waits for a number of calls.
    func calls(atLeast count: Int) -> [String] { self.log.wait { $0.count >= count ? $0 : nil } ?? [] }

    func opening(failure: VidiconError? = nil) -> SourceOpening {
      SourceOpening(
        of: self,
        start: { () throws(VidiconError) in
          self.log.withLock { $0.append("start") }
          self.gate.wait { $0 ? () : nil }
          if let failure { throw failure }
        },
        stop: { self.log.withLock { $0.append("stop") } }, returned: { self.log.withLock { $0.append("returned") } })
    }
  }

  private static let busy = VidiconError(.busy, subject: "camera", cause: "it is in use", nextStep: "wait")

  @Test func `a source that opens is left to the caller, and a later end changes nothing`() {
    let source = Source()
    let opening = source.opening()
    #expect(opening.run(timeout: .seconds(300)) == .opened)
    opening.abandon()
    #expect(source.calls(atLeast: 2) == ["start", "returned"])
  }

  @Test func `a source that fails is not stopped`() {
    let source = Source()
    #expect(source.opening(failure: Self.busy).run(timeout: .seconds(300)) == .failed(Self.busy))
    #expect(source.calls(atLeast: 2) == ["start", "returned"])
  }

  @Test func `a source that opens after the timeout is stopped then`() {
    let source = Source(isHeld: true)
    #expect(source.opening().run(timeout: .milliseconds(1)) == .timedOut)
    source.release()
    #expect(source.calls(atLeast: 3) == ["start", "stop", "returned"])
  }

  @Test func `an opening that is abandoned returns at once, and the source is stopped later`() async throws {
    let source = Source(isHeld: true)
    let opening = source.opening()
    async let outcome = WorkerThread.run(named: "test") { opening.run(timeout: .seconds(300)) }
    try await eventually { source.calls == ["start"] }
    opening.abandon()
    #expect(await outcome == .abandoned)
    #expect(source.calls == ["start"])
    source.release()
    #expect(source.calls(atLeast: 3) == ["start", "stop", "returned"])
  }

  @Test func `an opening that was abandoned before does not start the source`() {
    let source = Source()
    let opening = source.opening()
    opening.abandon()
    #expect(opening.run(timeout: .seconds(300)) == .abandoned)
    #expect(source.calls == ["returned"])
  }
}
