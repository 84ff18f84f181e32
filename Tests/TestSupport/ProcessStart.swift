package import Foundation

extension Process {
  private static let lock = NSLock()

  /// Creates pipes and starts a child process while no other call does so.
  ///
  /// Foundation closes in a child what is open at the start of `run()`. A child inherits what other threads open after that:
  /// where this is an end of another child's pipe, the output of that child lasts as long as both.
  package static func startAlone<Result>(_ start: () throws -> Result) rethrows -> Result {
    self.lock.lock()
    defer { self.lock.unlock() }
    return try start()
  }
}
