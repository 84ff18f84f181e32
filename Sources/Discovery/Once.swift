internal import Synchronization

/// Something that is done once, by whoever comes first.
final class Once: Sendable {
  private let body: Mutex<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = Mutex(body)
  }

  func run() {
    self.body.withLock { $0.take() }?()
  }
}
