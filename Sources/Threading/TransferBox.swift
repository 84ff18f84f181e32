internal import Synchronization

/// Transfers one value, which need not be `Sendable`, to the thread that takes it.
package final class TransferBox<Value: ~Copyable>: Sendable {
  private let value: Mutex<Value?>

  /// A box that holds the value.
  package init(_ value: consuming sending Value) {
    self.value = Mutex(value)
  }

  /// Removes the value and returns it; nil for every caller but the first.
  package func take() -> sending Value? {
    self.value.withLock { value in
      let taken = consume value
      value = nil
      return taken
    }
  }
}
