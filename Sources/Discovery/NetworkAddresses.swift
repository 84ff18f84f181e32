internal import CDiscovery
internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The addresses under which this machine is reached.
public enum NetworkAddresses {
  /// The hosts to show to users for a server that listens on an address, ready to be put into a URL.
  ///
  /// That is the address itself; or, for all of them, the machine's IPv4 addresses on its networks, those of containers
  /// and virtual machines last. Without one it is an IPv6 address of each interface (for `::`), in brackets; without any
  /// the loopback address. Link-local addresses are left out: another machine cannot use them as they are.
  ///
  /// - Parameter address: A numeric address; `::` and `0.0.0.0` for all.
  public static func hosts(listeningOn address: String) -> [String] {
    self.hosts(listeningOn: address, of: LocalAddress.all())
  }

  /// The machine's own name up to the first dot; empty when it has none.
  public static var machineName: String {
    // POSIX allows 255 bytes, and does not promise a zero behind a name that was cut.
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 && $0 != 46 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The machine's name in multicast DNS, RFC 6762 §3, such as "myhost.local", by which others reach it once a service
  /// is announced; nil when it has no name, or the name `localhost`.
  ///
  /// The daemon puts a number behind it in the rare case that two machines of a network have one name.
  public static var localHostName: String? {
    let name = self.machineName
    return name.isEmpty || name.lowercased() == "localhost" ? nil : "\(name).local"
  }

  static func hosts(listeningOn address: String, of addresses: [LocalAddress]) -> [String] {
    guard self.isUnspecified(address) else {
      // The sign before a scope is encoded in a URL, RFC 6874 §2.
      return [address.contains(":") ? "[\(address.split(separator: "%").joined(separator: "%25"))]" : address]
    }
    let outward = addresses.filter { !$0.isInward } + addresses.filter(\.isInward)
    let hosts = outward.filter { $0.isIPv4 && $0.scope == .network }.map(\.text)
    if !hosts.isEmpty { return hosts }
    guard address != "0.0.0.0" else { return ["127.0.0.1"] }
    var interfaces: Set<String> = []
    // A stable order that takes the wider scope first; one address of an interface is enough.
    let wide =
      outward.filter { !$0.isIPv4 && $0.scope == .network } + outward.filter { $0.scope == .uniqueLocal }
    let hosts6 = wide.filter { interfaces.insert($0.interface).inserted }.map { "[\($0.text)]" }
    return hosts6.isEmpty ? ["127.0.0.1"] : hosts6
  }

  /// The index of the interface on which a server is announced that listens on an address: 0 for all of them.
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
      // The same link-local address may be on several interfaces; the scope says which.
      let scope = address.contains("%") ? String(address.drop { $0 != "%" }.dropFirst()) : nil
      let wanted = LocalAddress(interface: "", index: 0, text: numeric, bytes: bytes)
      if wanted.scope == .loopback, let loopback = addresses.first(where: { $0.scope == .loopback }) {
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

  /// Whether an address means every one of the machine.
  private static func isUnspecified(_ address: String) -> Bool {
    address == "::" || address == "0.0.0.0"
  }
}
