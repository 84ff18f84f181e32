/// Response of `/api/reload`: what a configuration that was read again has changed.
package struct ReloadEntry: Codable, Hashable, Sendable {
  /// A line about each change that was made; empty where nothing has changed.
  package var changes: [String] = []
  /// A line about each change that was not made, with the reason.
  package var problems: [String] = []

  /// An entry without a change.
  package init() {}
}
