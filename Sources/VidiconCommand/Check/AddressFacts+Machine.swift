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
      shownHost: NetworkAddresses.hosts(listeningOn: TCPListener.boundAddress(configuration.bind)).first ?? "",
      isBehindBridge: Self.isInContainer && interfaces.contains(where: Self.isEndOfPair),
      hasForwardedAddress: !configuration.iceAddresses.isEmpty || !configuration.isWebRTCOn)
  }

  /// Whether the program runs in a container, by the files that Docker, Podman and systemd put there.
  static var isInContainer: Bool {
    ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"].contains {
      FileManager.default.fileExists(atPath: $0)
    }
  }

  /// Whether an interface is one end of a pair whose other end is in the network of the host.
  private static func isEndOfPair(_ interface: String) -> Bool {
    func number(_ file: String) -> Int? {
      let text = try? String(contentsOfFile: "/sys/class/net/\(interface)/\(file)", encoding: .utf8)
      return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }
    guard let own = number("ifindex"), let other = number("iflink") else { return false }
    return own != other
  }
}
