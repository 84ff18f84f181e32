internal import Synchronization

/// A value on its way from one thread to another, which takes it once.
final class Handover<Value: ~Copyable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: consuming sending Value) {
    self.value = Mutex(value)
  }

  /// The value, for the first who asks.
  func take() -> sending Value? {
    self.value.withLock { value in
      let taken = consume value
      value = nil
      return taken
    }
  }
}
