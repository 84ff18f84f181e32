package import Media
internal import Threading

/// What a test waited for and did not come.
package struct NeverHappened: Error {}

/// Waits until something holds that others bring about, looking each millisecond, and leaves the cores to them in between.
///
/// - Parameter limit: When it is not expected any more; long, since other tests may keep all cores busy.
/// - Throws: ``NeverHappened``, so that the test fails and does not hang.
package func eventually(within limit: MediaDuration = .seconds(60), _ condition: () throws -> Bool) async throws {
  let end = StreamClock.system.now() + limit
  let nothing = Monitor(())
  while try !condition() {
    let now = StreamClock.system.now()
    guard now < end else { throw NeverHappened() }
    let _: Never? = nothing.wait(until: now + .milliseconds(1)) { _ in nil }
    await Task.yield()
  }
}
