package import Media
internal import Threading

/// A condition did not become true in time.
package struct ConditionTimeout: Error {}

/// Waits until a condition holds, checking it again and again.
///
/// Other tests may keep all threads of tasks busy for longer than the limit between two checks, so that the condition is
/// checked at least a hundred times.
///
/// - Parameters:
///   - limit: Maximum time; long, since other tests may keep all cores busy.
///   - interval: Time between two checks; zero where a state that soon passes is waited for.
/// - Throws: ``ConditionTimeout``, so that the test fails and does not hang.
package func eventually(
  within limit: MediaDuration = WaitLimit.duration, every interval: MediaDuration = .milliseconds(1),
  _ condition: () throws -> Bool
) async throws {
  let end = StreamClock.system.now() + limit
  let nothing = Monitor(())
  var checkCount = 0
  while try !condition() {
    let now = StreamClock.system.now()
    checkCount += 1
    guard now < end || checkCount < 100 else { throw ConditionTimeout() }
    if interval > .zero { let _: Never? = nothing.wait(until: now + interval) { _ in nil } }
    await Task.yield()
  }
}
