/// Clients by what they see of the names of sources, which have paths, addresses and devices of the owner.
package enum SourceAudience: Hashable, Sendable {
  /// Operators: everything but passwords.
  case operators
  /// Viewers that may choose sources: names of files without folders, hosts without paths, devices.
  case controllingViewers
  /// Other viewers: the kind of source.
  case viewers
}
