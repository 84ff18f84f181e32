internal import Libc
internal import NIOCore

/// An IP address of one of this machine's interfaces.
package struct LocalAddress: Hashable, Sendable {
  /// The scope of an address, widest first.
  package enum Scope: Comparable {
    /// A global or private network address, such as 192.168.2.67 or 2001:db8::1.
    case network
    /// An IPv6 unique local address, RFC 4193.
    case uniqueLocal
    /// A link-local address: 169.254/16 or fe80::/10.
    case link
    /// A loopback address.
    case loopback
  }

  /// Name prefixes of interfaces to containers, virtual machines and tunnels, where no viewers are expected.
  private static let inward = [
    "docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "lxcbr", "lxdbr", "cni", "flannel", "cali", "podman",
    "bridge",
    "tun", "utun", "tap",
  ]

  /// The interface's name.
  package var interface: String
  /// The interface's index.
  var index: UInt32
  /// The address as text, without a scope.
  package var text: String
  /// The address in network byte order, 4 or 16 bytes.
  var bytes: [UInt8]

  init(interface: String, index: UInt32, text: String, bytes: [UInt8]) {
    self.interface = interface
    self.index = index
    self.text = text
    self.bytes = bytes
  }

  /// An address of an interface; nil when the text is not a numeric IP address.
  package init?(interface: String, index: UInt32, text: String) {
    guard let bytes = Self.bytes(of: text) else { return nil }
    self.init(interface: interface, index: index, text: text, bytes: bytes)
  }

  /// All current addresses of this machine; empty when the system cannot list them.
  package static func all() -> [LocalAddress] {
    let devices = (try? System.enumerateDevices()) ?? []  // Callers then use the loopback address.
    return devices.compactMap { device in
      guard let text = device.address?.ipAddress?.prefix(while: { $0 != "%" }) else { return nil }
      return Self(interface: device.name, index: UInt32(clamping: device.interfaceIndex), text: String(text))
    }
  }

  package var isIPv4: Bool { self.bytes.count == 4 }

  package var scope: Scope {
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

  /// Whether the interface leads to containers, virtual machines or a tunnel.
  package var isInward: Bool {
    Self.inward.contains { self.interface.hasPrefix($0) }
  }

  /// Parses a numeric IP address into network byte order; nil for other text.
  static func bytes(of text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
    return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
  }
}
