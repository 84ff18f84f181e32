internal import NIOCore

/// The addresses under which this machine is reached.
public enum NetworkAddresses {
  /// The hosts to show to users for a server that listens on an address: the address itself, or, for all of them, the
  /// machine's IPv4 addresses on its networks, or the loopback address where there is none.
  public static func hosts(listeningOn address: String) -> [String] {
    guard address == "::" || address == "0.0.0.0" else {
      return [address.contains(":") ? "[\(address)]" : address]
    }
    let devices = (try? System.enumerateDevices()) ?? []  // Without a list of devices only the loopback is known.
    let hosts = devices.compactMap { device -> String? in
      guard case .v4(let address)? = device.address else { return nil }
      return address.host.isEmpty ? device.address?.ipAddress : address.host
    }
    let reachable = hosts.filter { !$0.hasPrefix("127.") }
    return reachable.isEmpty ? ["127.0.0.1"] : reachable
  }
}
