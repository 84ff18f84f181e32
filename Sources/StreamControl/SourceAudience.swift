/// Level of detail at which clients see the names of sources, which contain paths, addresses and devices of the owner.
package enum SourceAudience: Hashable, Sendable {
  /// Operators: everything but passwords.
  case operators
  /// Viewers that may choose sources: names of files without folders, hosts without paths, devices.
  case controllingViewers
  /// Other viewers: the kind of source.
  case viewers
}
