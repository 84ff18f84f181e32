package import Media
package import Pushing

/// Reads and replaces the pushes of a stream, for the HTTP server.
package struct PushControl: Sendable {
  /// Returns the pushes in the order of their list.
  package var reports: @Sendable () -> [PushReport]
  /// Replaces the list: pushes that are not in it are stopped, new ones are started.
  ///
  /// Returns the error of an invalid list, which changes nothing; nil otherwise.
  package var replace: @Sendable ([PushEntry]) -> VidiconError?

  /// Creates a control that calls the closures on any thread.
  package init(
    reports: @escaping @Sendable () -> [PushReport],
    replace: @escaping @Sendable ([PushEntry]) -> VidiconError?
  ) {
    self.reports = reports
    self.replace = replace
  }
}
