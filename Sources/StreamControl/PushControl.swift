package import Media
package import Pushing

/// The pushes of a stream, for changes over HTTP.
package struct PushControl: Sendable {
  /// The pushes in the order of their list.
  package var reports: @Sendable () -> [PushReport]
  /// Replaces the list: pushes that are not in it are stopped, new ones are started.
  ///
  /// Returns the error of a list that cannot be; nothing is changed then.
  package var replace: @Sendable ([PushEntry]) -> VidiconError?

  /// Creates a control of two closures.
  package init(
    reports: @escaping @Sendable () -> [PushReport],
    replace: @escaping @Sendable ([PushEntry]) -> VidiconError?
  ) {
    self.reports = reports
    self.replace = replace
  }
}
