/// What became of the announcements.
public enum DiscoveryEvent: Hashable, Sendable {
  /// A service can be found now, or again.
  ///
  /// - Parameters:
  ///   - service: What was asked for.
  ///   - name: The name that it has on the network: with a number when another service had the name already.
  case announced(Service, name: String)
  /// Services cannot be found: at the start, or from now on. It is told once, and tried again until it goes; then each
  /// is announced.
  case unavailable(DiscoveryError)
}
