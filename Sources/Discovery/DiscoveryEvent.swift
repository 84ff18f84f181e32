public import Media

/// Outcome of the announcement of services, reported by `ServiceAnnouncer`.
public enum DiscoveryEvent: Hashable, Sendable {
  /// The service is registered, for the first time or again after a failure.
  ///
  /// - Parameters:
  ///   - service: The service that was passed to `ServiceAnnouncer/announce(_:)`.
  ///   - name: Its instance name on the network: with a number when another service has the requested name.
  case announced(Service, name: String)
  /// Services cannot be registered, or are no longer registered. Reported once per outage; registration is retried, and
  /// each service is then reported as announced.
  case unavailable(VidiconError)
}
