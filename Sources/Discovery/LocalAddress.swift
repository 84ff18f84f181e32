internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// An IP address of one of this machine's interfaces.
struct LocalAddress: Hashable, Sendable {
  /// How far an address reaches.
  enum Scope: Comparable {
    /// One that anybody may have, or that a network of its own has: 192.168.2.67, 2001:db8::1.
    case network
    /// IPv6's unique local addresses, RFC 4193.
    case uniqueLocal
    /// Of one link only: 169.254/16 and fe80::/10.
    case link
    /// Of this machine only.
    case loopback
  }

  /// The starts of the names of interfaces that lead to containers, virtual machines and tunnels on this machine,
  /// where nobody who watches is.
  private static let inward = [
    "docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "lxcbr", "lxdbr", "cni", "flannel", "cali", "podman",
    "bridge",
    "tun", "utun", "tap",
  ]

  /// The interface's name.
  var interface: String
  /// The interface's index.
  var index: UInt32
  /// The address as text, without a scope.
  var text: String
  /// The address's bytes in network order: 4 or 16.
  var bytes: [UInt8]

  init(interface: String, index: UInt32, text: String, bytes: [UInt8]) {
    self.interface = interface
    self.index = index
    self.text = text
    self.bytes = bytes
  }

  /// An address of an interface; nil when the text is no numeric IP address.
  init?(interface: String, index: UInt32, text: String) {
    guard let bytes = Self.bytes(of: text) else { return nil }
    self.init(interface: interface, index: index, text: text, bytes: bytes)
  }

  /// Every address that the machine has now; none when the system does not tell.
  static func all() -> [LocalAddress] {
    let devices = (try? System.enumerateDevices()) ?? []  // Without a list only the loopback address is known.
    return devices.compactMap { device in
      guard let text = device.address?.ipAddress?.prefix(while: { $0 != "%" }) else { return nil }
      return Self(interface: device.name, index: UInt32(clamping: device.interfaceIndex), text: String(text))
    }
  }

  var isIPv4: Bool { self.bytes.count == 4 }

  var scope: Scope {
    guard self.bytes.count > 1 else { return .loopback }
    switch (self.isIPv4, self.bytes[0], self.bytes[1]) {
    case (true, 127, _): return .loopback
    case (true, 169, 254): return .link
    case (true, _, _): return .network
    case (false, 0xFE, 0x80...0xBF): return .link
    case (false, 0xFC...0xFD, _): return .uniqueLocal
    default: return self.bytes == [UInt8](repeating: 0, count: 15) + [1] ? .loopback : .network
    }
  }

  var isInward: Bool {
    Self.inward.contains { self.interface.hasPrefix($0) }
  }

  /// The bytes of a numeric IP address in network order; nil for any other text.
  static func bytes(of text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
    return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
  }
}
