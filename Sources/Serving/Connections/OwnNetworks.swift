package import Authentication
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// The IPv6 networks that the interfaces of this machine are in, looked up again when they are older than ten seconds.
package final class OwnNetworks: Sendable {
  /// An address of an interface, and the length of its network's prefix in bits.
  struct Network: Hashable {
    var address: IPAddress
    var length: Int
  }

  /// Time after which the networks are looked up again: interfaces and prefixes come and go.
  static let lifetime = MediaDuration.seconds(10)

  private let lookUp: @Sendable () -> [Network]
  private let state = Mutex<(networks: [Network], expiry: MediaTime)?>(nil)

  /// The networks of the system's interfaces.
  package convenience init() {
    self.init(lookUp: Self.ofInterfaces)
  }

  init(lookUp: @escaping @Sendable () -> [Network]) {
    self.lookUp = lookUp
  }

  /// Whether an address is in one of the networks. Takes some microseconds, at most a millisecond for a look-up.
  package func contain(_ address: IPAddress) -> Bool {
    self.contain(address, now: StreamClock.system.now())
  }

  func contain(_ address: IPAddress, now: MediaTime) -> Bool {
    let networks = self.state.withLock { state in
      if let state, now < state.expiry { return state.networks }
      let networks = self.lookUp()
      state = (networks, now + Self.lifetime)
      return networks
    }
    return networks.contains { address.shares(prefix: $0.length, with: $0.address) }
  }

  private static func ofInterfaces() -> [Network] {
    // Without a list of interfaces there is none.
    ((try? System.enumerateDevices()) ?? []).compactMap { device in
      guard let socket = device.address, socket.protocol == .inet6, let address = IPAddress(socket) else { return nil }
      return Network(address: address, length: self.prefixLength(ofMask: device.netmask?.ipAddress ?? ""))
    }
  }

  /// Number of bits of a mask such as `ffff:ffff:ffff:ffff::`; 64 for other text.
  static func prefixLength(ofMask mask: String) -> Int {
    guard case .v6(let upper, let lower)? = IPAddress(parsing: mask) else { return 64 }
    return (~upper).leadingZeroBitCount + (upper == .max ? (~lower).leadingZeroBitCount : 0)
  }
}
