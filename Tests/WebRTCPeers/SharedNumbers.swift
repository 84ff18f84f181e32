internal import Synchronization
internal import TestSupport

/// Pseudo-random numbers of a seed, for closures that outlive the call.
package final class SharedNumbers: Sendable {
  private let state: Mutex<SplitMix>

  /// Numbers of a seed.
  package init(seed: UInt64) { self.state = Mutex(SplitMix(seed: seed)) }

  /// The next 64 bits.
  package func next() -> UInt64 { self.state.withLock { $0.next() } }
}
