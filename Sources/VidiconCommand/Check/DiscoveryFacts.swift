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

  /// The command that starts the daemon; in a container, which has no services, that of the host.
  private func remedy(_ command: String) -> CheckFinding.Remedy {
    guard self.isInContainer else { return .command(command) }
    return .advice("give the container the host's /run/dbus/system_bus_socket, or announce nothing with --no-discovery")
  }
}
