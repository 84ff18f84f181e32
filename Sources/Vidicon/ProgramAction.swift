internal import Synchronization

/// An action that a server performs for clients, and that only its program can, such as reading the configuration again.
///
/// The program sets it once it serves; before, and in a program that sets none, there is none.
final class ProgramAction<Input: Sendable, Output: Sendable>: Sendable {
  /// Performs the action.
  typealias Action = @Sendable (Input) async -> Output

  private let action = Mutex<Action?>(nil)

  /// Sets the action.
  func set(_ action: @escaping Action) {
    self.action.withLock { $0 = action }
  }

  /// Performs the action; nil where none was set.
  func perform(_ input: Input) async -> Output? {
    guard let action = self.action.withLock({ $0 }) else { return nil }
    return await action(input)
  }
}
