extension MachineFault {
  /// Arguments for a stream that needs nothing of the machine, at any ports.
  static let stream =
    ["--source", "bars", "--size", "64x48", "--fps", "5", "--audio", "none"] + VidiconProcess.freePorts

  /// The same at one port that is given.
  static let port = [
    "--source", "bars", "--size", "64x48", "--fps", "5", "--audio", "none", "--no-discovery", "--webrtc", "off",
    // Safe because each machine has a network of its own.
    "--rtsp-port", "8554", "--http-port", "0",
  ]

  /// A program of a user that has the port, for the shell that starts it and waits until it listens.
  ///
  /// - Parameter opening: The line of Python that opens the port.
  private static func intruder(
    as user: String, opening: String = #"server = socket.create_server(("", 8554))"#
  ) -> String {
    """
    cp "$(readlink -f /usr/bin/python3)" /srv/intruder; mkfifo /tmp/ready
    setpriv --reuid=\(user) --regid=\(user) --init-groups /srv/intruder -c '
    import signal, socket
    \(opening)
    print("ready", flush=True)
    signal.pause()
    ' >/tmp/ready 2>/dev/null &
    read ready </tmp/ready
    """
  }

  /// Faults of ports and addresses.
  static let ports: [MachineFault] = [
    MachineFault(
      description: "a program of root has the port", plant: intruder(as: "root"), arguments: port, part: "ports",
      subject: "RTSP port 8554", cause: "in use by a program of another user",
      step: .shows("sudo ss -lnpt 'sport = :8554'", "intruder")),
    MachineFault(
      description: "a program of the user has the port", plant: intruder(as: "door"), arguments: port, part: "ports",
      subject: "RTSP port 8554", cause: "in use by intruder (process ",
      step: .advises("end that program", doing: "kill $(pidof intruder) && while pidof intruder; do :; done")),
    MachineFault(
      description: "the port is one of root", plant: "true", arguments: port.map { $0 == "8554" ? "554" : $0 },
      part: "ports", subject: "RTSP port 554", cause: "may not open ports below 1024",
      step: .advises("choose a port from 1024 on with --rtsp-port", doing: ""), laterArguments: port),
    MachineFault(
      description: "the machine has no network", plant: "ip link del near", arguments: stream, part: "addresses",
      subject: "addresses", cause: "this machine has no network", step: .shows("ip address", "lo:")),
    MachineFault(
      description: "no DHCP server has given an address",
      plant: "ip address flush dev near; ip address add 169.254.7.7/16 dev near", arguments: stream, part: "addresses",
      subject: "address 169.254.7.7", verdict: "warning", cause: "no DHCP server has given one",
      step: .advises("the router's DHCP", doing: "ip address flush dev near; ip address add 10.79.0.1/24 dev near")),
    MachineFault(
      description: "the address to listen on is another machine's", plant: "true", arguments: foreign,
      part: "addresses", subject: "address 192.0.2.77", cause: "no interface of this machine has it",
      step: .advises("with --bind", doing: "ip address add 192.0.2.77/32 dev near")),
  ]

  private static let foreign = stream + ["--bind", "192.0.2.77"]

  /// A fault of the firewall, which root sees.
  private static func firewall(
    _ description: String, _ plant: String, as user: OwnMachine.User = .root, over version: String = "",
    _ command: String
  ) -> MachineFault {
    MachineFault(
      description: description, plant: plant, user: user, arguments: port, part: "firewall", subject: "firewall",
      cause: "it drops what other machines send to the RTSP port 8554 (TCP)\(version)", step: .mends(command),
      prefix: user == .root ? [] : ["sudo"], keepsPrefix: true)
  }

  private static let input = "{ type filter hook input priority 0; policy"

  /// Faults of the firewall.
  static let firewalls: [MachineFault] = [
    firewall(
      "a chain of nftables drops what it does not accept",
      "nft add table inet wall; nft 'add chain inet wall incoming \(input) drop; }'",
      "nft insert rule inet wall incoming tcp dport 8554 accept"),
    firewall(
      "the same, for a user with sudo", "nft add table inet wall; nft 'add chain inet wall incoming \(input) drop; }'",
      as: .door, "sudo nft insert rule inet wall incoming tcp dport 8554 accept"),
    firewall(
      "a chain that another leads to drops the port",
      """
      nft add table inet own; nft add chain inet own web
      nft add rule inet own web tcp dport 8000-9000 drop
      nft 'add chain inet own incoming \(input) accept; }'; nft add rule inet own incoming jump web
      """, "nft insert rule inet own incoming tcp dport 8554 accept"),
    firewall(
      "chains of two tables drop the port",
      """
      for table in one two; do
        nft add table inet $table; nft "add chain inet $table incoming \(input) drop; }"
      done
      """,
      "nft insert rule inet one incoming tcp dport 8554 accept && nft insert rule inet two incoming tcp dport 8554 accept"
    ),
    firewall(
      "iptables drops what it does not accept", "iptables-nft -P INPUT DROP; ip6tables-nft -P INPUT DROP",
      "iptables-nft -I INPUT -p tcp --dport 8554 -j ACCEPT && ip6tables-nft -I INPUT -p tcp --dport 8554 -j ACCEPT"),
    firewall(
      "iptables rejects the port", "iptables-nft -A INPUT -p tcp --dport 8554 -j REJECT", over: " over IPv4",
      "iptables-nft -I INPUT -p tcp --dport 8554 -j ACCEPT"),
    firewall(
      "ufw does not let the port through", "ufw --force enable", as: .door, "sudo ufw allow 8554/tcp"),
  ]

  /// Faults of services.
  static let services: [MachineFault] = [
    MachineFault(
      description: "ufw is on, which a user does not see", plant: "ufw --force enable", arguments: port,
      part: "firewall", subject: "firewall", verdict: "warning", cause: "is known to root only",
      step: .shows("sudo ufw status verbose", "Status: active")),
    MachineFault(
      description: "Avahi is stopped", plant: "true", arguments: announced, part: "discovery", subject: "mDNS",
      verdict: "warning", cause: "avahi-daemon does not run",
      step: .mends("sudo systemctl enable --now avahi-daemon"), hasServices: true),
    MachineFault(
      description: "Avahi is missing", plant: "rm /usr/sbin/avahi-daemon", arguments: announced, part: "discovery",
      subject: "mDNS", verdict: "warning", cause: "avahi-daemon is not installed",
      step: .installs("sudo apt install avahi-daemon")),
    MachineFault(
      description: "a program of the user has the port of mDNS",
      plant: intruder(as: "door", opening: mDNSPort) + "\nsystemctl start avahi-daemon || true", arguments: announced,
      part: "discovery", subject: "mDNS", verdict: "warning", cause: "intruder (process ",
      step: .advises(
        "end that program, then start the daemon again: sudo systemctl restart avahi-daemon",
        doing: "kill $(pidof intruder) && while pidof intruder; do :; done; systemctl restart avahi-daemon"),
      hasServices: true),
    MachineFault(
      description: "a program of root has the port of mDNS, without which Avahi does not start",
      plant: intruder(as: "root", opening: mDNSPort), arguments: announced, part: "discovery", subject: "mDNS",
      verdict: "warning", cause: "a program of another user has UDP port 5353",
      step: .shows("sudo ss -lnpu 'sport = :5353'", "intruder")),
    MachineFault(
      description: "no time service runs", plant: "true", arguments: stream, part: "clock", subject: "clock",
      verdict: "warning", cause: "no time service keeps it", step: .mends("sudo timedatectl set-ntp true"),
      clockService: "/run/systemd/timesync", hasServices: true),
    MachineFault(
      description: "no time service is installed",
      plant: "rm -f /lib/systemd/systemd-timesyncd /usr/sbin/chronyd /usr/sbin/ntpd /usr/sbin/ntpsec",
      arguments: stream, part: "clock", subject: "clock", verdict: "warning", cause: "no time service keeps it",
      step: .installs("sudo apt install systemd-timesyncd"), clockService: "/run/none"),
    MachineFault(
      description: "few files may be open", plant: "true", arguments: stream, part: "files", subject: "open files",
      verdict: "warning", cause: "a limit of 256", step: .advises("raise the hard limit", doing: ""),
      prefix: ["prlimit", "--nofile=256:256"]),
  ]

  private static let announced = stream.filter { $0 != "--no-discovery" }

  /// The line that keeps UDP port 5353.
  private static let mDNSPort = #"server = socket.socket(type=socket.SOCK_DGRAM); server.bind(("", 5353))"#

  /// All faults.
  static let all = ports + firewalls + services + devices + files
}
