internal import Synchronization

/// A value on its way from one thread to another, which takes it once.
final class Handover<Value>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: sending Value) {
    self.value = Mutex(value)
  }

  /// The value, for the first who asks.
  func take() -> sending Value? {
    self.value.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
