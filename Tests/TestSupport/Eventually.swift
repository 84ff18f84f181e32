package import Media
internal import Threading

/// A condition did not become true in time.
package struct ConditionTimeout: Error {}

/// Waits until a condition holds, checking it every millisecond.
///
/// - Parameter limit: Maximum time; long, since other tests may keep all cores busy.
/// - Throws: ``ConditionTimeout``, so that the test fails and does not hang.
package func eventually(within limit: MediaDuration = .seconds(60), _ condition: () throws -> Bool) async throws {
  let end = StreamClock.system.now() + limit
  let nothing = Monitor(())
  while try !condition() {
    let now = StreamClock.system.now()
    guard now < end else { throw ConditionTimeout() }
    let _: Never? = nothing.wait(until: now + .milliseconds(1)) { _ in nil }
    await Task.yield()
  }
}
