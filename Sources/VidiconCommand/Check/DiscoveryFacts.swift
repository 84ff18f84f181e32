/// Facts about the announcement of streams by multicast DNS.
struct DiscoveryFacts: Sendable {
  /// State of the system's daemon.
  enum Daemon: Equatable, Sendable {
    case running
    /// Installed, and not running.
    case stopped
    case missing
  }

  /// Whether the configuration announces streams.
  var isAnnounced: Bool
  var daemon: Daemon
  /// Name of this machine, such as `myhost.local`; nil where it has none.
  var name: String?
  /// Address that the network gives for the name; nil where it gives none.
  var resolved: String?
  /// Addresses of this machine.
  var addresses: [String] = []
  /// Whether the program runs in a container without services of its own.
  var isInContainer = false
  /// Whether another program than the daemon has UDP port 5353 and does not share it, so that the daemon cannot send over IPv4.
  var isPortTaken = false
  /// The program that has it; nil where only root sees which.
  var portHolder: PortHolder?

  /// The port of multicast DNS, RFC 6762 §3.
  static let port = 5353

  /// One finding.
  var findings: [CheckFinding] {
    let subject = "mDNS"
    guard self.isAnnounced else { return [.ok(subject, "streams are not announced, as the configuration says")] }
    let consequence = "so that players and home automation do not find streams by name"
    switch self.daemon {
    case .missing:
      return [
        .warning(
          subject, "avahi-daemon is not installed, \(consequence)", self.remedy("sudo apt install avahi-daemon"))
      ]
    // The daemon would not start, or runs over IPv6 alone.
    case .stopped where self.isPortTaken, .running where self.isPortTaken:
      let holder = self.portHolder.map { "\($0)" } ?? "a program of another user"
      return [
        .warning(
          subject, "\(holder) has UDP port \(Self.port) and does not share it with avahi-daemon, \(consequence)",
          self.remedyOfPort)
      ]
    case .stopped:
      return [
        .warning(
          subject, "avahi-daemon does not run, \(consequence)", self.remedy("sudo systemctl enable --now avahi-daemon"))
      ]
    case .running: break
    }
    if let name, let resolved, !self.addresses.contains(resolved) {
      return [
        .warning(
          subject, "another machine has the name \(name), at \(resolved), so that this one is called otherwise",
          .advice("give one of them another name, as by sudo hostnamectl set-hostname NAME"))
      ]
    }
    return [.ok(subject, "streams are announced\(self.name.map { ", and this machine is called \($0)" } ?? "")")]
  }

  /// The way to a free port: the daemon opens it at its start only.
  private var remedyOfPort: CheckFinding.Remedy {
    guard self.portHolder != nil else { return .command("sudo ss -lnpu 'sport = :\(Self.port)'") }
    return .advice("end that program, then start the daemon again: sudo systemctl restart avahi-daemon")
  }

  /// The command that starts the daemon; in a container, which has no services, that of the host.
  private func remedy(_ command: String) -> CheckFinding.Remedy {
    guard self.isInContainer else { return .command(command) }
    return .advice("give the container the host's /run/dbus/system_bus_socket, or announce nothing with --no-discovery")
  }
}
