import Discovery
import Foundation
import Serving

extension AddressFacts {
  /// The addresses of this machine's interfaces.
  init(_ configuration: ServeConfiguration) {
    // Of the links of IPv6 each interface has one; browsers cannot open them.
    let addresses = LocalAddress.all().filter { $0.scope != .loopback && ($0.isIPv4 || $0.scope != .link) }
    let interfaces = Set(addresses.filter { $0.isIPv4 && !$0.isInward }.map(\.interface))
    self.init(
      bind: configuration.bind,
      addresses: addresses.map { address in
        Address(
          text: address.text, interface: address.interface,
          reach: Self.reach(of: address.text, interface: address.interface, isInward: address.isInward))
      },
      shownHost: NetworkAddresses.hosts(listeningOn: TCPListener.boundAddress(configuration.bind)).first?
        .filter { !"[]".contains($0) } ?? "",
      isBehindBridge: Self.isInApplicationContainer && interfaces.contains(where: Self.isEndOfPair),
      hasForwardedAddress: !configuration.iceAddresses.isEmpty || !configuration.isWebRTCOn)
  }

  /// Whether the program runs in a container, by the files that Docker, Podman and systemd put there.
  static var isInContainer: Bool {
    self.isInApplicationContainer || FileManager.default.fileExists(atPath: "/run/systemd/container")
  }

  /// Whether it is a container of Docker or Podman, whose bridges are networks of their own; those of LXC and systemd are often the LAN's.
  private static var isInApplicationContainer: Bool {
    ["/.dockerenv", "/run/.containerenv"].contains { FileManager.default.fileExists(atPath: $0) }
  }

  /// Whether an interface is one end of a pair whose other end is in the network of the host. Interfaces of the kinds macvlan and ipvlan,
  /// which name their kind, are in the LAN themselves.
  private static func isEndOfPair(_ interface: String) -> Bool {
    func text(_ file: String) -> String? {
      try? String(contentsOfFile: "/sys/class/net/\(interface)/\(file)", encoding: .utf8)
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }
    guard let own = text("ifindex"), let other = text("iflink"), own != other else { return false }
    return text("uevent")?.contains("DEVTYPE=") != true
  }
}
