internal import CDiscovery
internal import Libc
internal import Media

/// The addresses and names of this machine on its networks.
public enum NetworkAddresses {
  /// The URL hosts of a server that listens on an address.
  ///
  /// For a specific address, that address. For an unspecified address, the machine's IPv4 network addresses, those of
  /// containers and virtual machines last; without one, an IPv6 address of each interface (for `::`), in brackets;
  /// without any, the loopback address. Link-local addresses are omitted, since other machines need a scope to use
  /// them.
  ///
  /// - Parameter address: A numeric address; `::` or `0.0.0.0` for all addresses.
  public static func hosts(listeningOn address: String) -> [String] {
    self.hosts(listeningOn: address, of: LocalAddress.all())
  }

  /// The machine's host name up to the first dot; empty when it has none.
  public static var machineName: String {
    String(self.hostName.prefix { $0 != "." })
  }

  /// The machine's host name, which may be a domain name; empty when it has none.
  public static var hostName: String {
    // POSIX allows 255 bytes; a truncated name may lack its NUL.
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
  }

  /// The machine's host name, and the names that `/etc/hosts` gives its addresses, its domain name among them. No name server
  /// is asked: on a foreign network it may give this machine any name.
  public static var hostNames: [String] {
    HostsFile.names(
      in: HostsFile.read(), of: Set(LocalAddress.all().filter { $0.scope != .loopback }.map(\.bytes)),
      hostName: self.hostName)
  }

  /// The machine's name in multicast DNS, RFC 6762 §3, such as "myhost.local", valid while a service is announced; nil
  /// when the host name is empty or `localhost`.
  ///
  /// The daemon appends a number when two machines of a network have the same name.
  public static var localHostName: String? {
    let name = self.machineName
    return name.isEmpty || name.lowercased() == "localhost" ? nil : "\(name).local"
  }

  static func hosts(listeningOn address: String, of addresses: [LocalAddress]) -> [String] {
    guard self.isUnspecified(address) else {
      // The "%" before a scope is encoded in a URL, RFC 6874 §2.
      return [address.contains(":") ? "[\(address.split(separator: "%").joined(separator: "%25"))]" : address]
    }
    let outward = addresses.filter { !$0.isInward } + addresses.filter(\.isInward)
    let hosts = outward.filter { $0.isIPv4 && $0.scope == .network }.map(\.text)
    if !hosts.isEmpty { return hosts }
    guard address != "0.0.0.0" else { return ["127.0.0.1"] }
    var interfaces: Set<String> = []
    // Wider scopes first in a stable order; one address per interface.
    let wide =
      outward.filter { !$0.isIPv4 && $0.scope == .network } + outward.filter { $0.scope == .uniqueLocal }
    let hosts6 = wide.filter { interfaces.insert($0.interface).inserted }.map { "[\($0.text)]" }
    return hosts6.isEmpty ? ["127.0.0.1"] : hosts6
  }

  /// The index of the interface on which a server is announced; 0 for all interfaces.
  ///
  /// - Throws: `VidiconError` `.notFound` when no interface has the address.
  static func announcementInterface(listeningOn address: String) throws(VidiconError) -> UInt32 {
    try self.announcementInterface(listeningOn: address, of: LocalAddress.all())
  }

  static func announcementInterface(
    listeningOn address: String, of addresses: [LocalAddress]
  ) throws(VidiconError) -> UInt32 {
    if self.isUnspecified(address) { return 0 }
    let numeric = String(address.prefix { $0 != "%" })
    if let bytes = LocalAddress.bytes(of: numeric) {
      // Several interfaces may have the same link-local address; the scope selects one.
      let scope = address.contains("%") ? String(address.drop { $0 != "%" }.dropFirst()) : nil
      let requested = LocalAddress(interface: "", index: 0, text: numeric, bytes: bytes)
      if requested.scope == .loopback, let loopback = addresses.first(where: { $0.scope == .loopback }) {
        return vidicon_discovery_local_only(loopback.index)
      }
      let owner = addresses.first { candidate in
        candidate.bytes == bytes
          && (scope.map { $0 == candidate.interface || $0 == String(candidate.index) } ?? true)
      }
      if let owner { return owner.index }
    }
    throw VidiconError(
      .notFound, subject: "mDNS",
      cause: "streams cannot be found by name, since no interface has the address \(address)",
      nextStep: "use the printed addresses, or listen on another address")
  }

  /// Whether an address is unspecified: all addresses of this machine.
  private static func isUnspecified(_ address: String) -> Bool {
    address == "::" || address == "0.0.0.0"
  }
}
