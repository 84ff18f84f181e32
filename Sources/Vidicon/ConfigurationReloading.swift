internal import ControlAPI
internal import Media
internal import Synchronization

/// Action that reads the configuration of a server's program again, once the program has set it.
final class ConfigurationReloading: Sendable {
  /// Reads the configuration, and applies it.
  typealias Action = @Sendable () async -> Result<ReloadEntry, VidiconError>

  private let action = Mutex<Action?>(nil)

  /// Sets the action.
  func set(_ action: @escaping Action) {
    self.action.withLock { $0 = action }
  }

  /// Performs the action; nil where none was set.
  func perform() async -> Result<ReloadEntry, VidiconError>? {
    guard let action = self.action.withLock({ $0 }) else { return nil }
    return await action()
  }
}
