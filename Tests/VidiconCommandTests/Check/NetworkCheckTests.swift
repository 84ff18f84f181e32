import ArgumentParser
import Foundation
import Testing

@testable import VidiconCommand

@Suite("Check of ports, addresses and firewall")
struct NetworkCheckTests {
  private static func ports(
    _ state: PortFacts.State, isGiven: Bool = true, bind: String? = nil
  ) -> CheckFinding {
    PortFacts(
      bind: bind,
      ports: [.init(service: "HTTP", option: "--http-port", number: 8080, isGiven: isGiven, state: state)]
    ).findings[0]
  }

  @Test func `a free port is all right, and so is one that vidicon serves on already`() {
    #expect(Self.ports(.free) == .ok("HTTP port 8080", "free"))
    #expect(Self.ports(.inUse(by: PortHolder(process: 7, name: "vidicon"))).verdict == .ok)
  }

  @Test func `a port that was given and is in use is a fault that names the program`() {
    let finding = Self.ports(.inUse(by: PortHolder(process: 812, name: "nginx")))
    #expect(finding.verdict == .fault && finding.meaning.contains("nginx (process 812)"))
    #expect(finding.remedy == .advice("end that program, or choose another port with --http-port"))
  }

  @Test func `a default port that is in use is a warning, since another one replaces it`() {
    let finding = Self.ports(.inUse(by: PortHolder(process: 812, name: "nginx")), isGiven: false)
    #expect(finding.verdict == .warning && finding.meaning.contains("nginx (process 812); serve takes another port"))
  }

  @Test func `the program of another user that has a port is shown by a command`() {
    let finding = Self.ports(.inUse(by: nil))
    #expect(finding.verdict == .fault && finding.remedy == .command("sudo ss -lnpt 'sport = :8080'"))
  }

  @Test func `a port below 1024 without the right to it is a fault`() {
    let finding = Self.ports(.notPermitted)
    #expect(finding.verdict == .fault && finding.meaning.contains("below 1024"))
  }

  @Test func `an address to listen on that is not this machine's is a fault`() {
    let finding = Self.ports(.noAddress, bind: "192.0.2.7")
    #expect(finding.verdict == .fault && finding.meaning == "192.0.2.7 is not an address of this machine")
    let address = AddressFacts(bind: "192.0.2.7", addresses: [Self.lan], shownHost: "192.0.2.7").findings
    #expect(address.map(\.verdict) == [.fault] && address[0].subject == "address 192.0.2.7")
  }

  @Test func `the ports are those that serve opens`() throws {
    func numbers(_ arguments: String...) throws -> [String] {
      let configuration = try ServeConfiguration(unchecked: ServeCommand.parse(arguments))
      return PortFacts.ports(of: configuration).map { "\($0.service) \($0.transport) \($0.number) \($0.isGiven)" }
    }
    #expect(
      try numbers("--source", "bars") == [
        "RTSP tcp 8554 false", "HTTP tcp 8080 false", "WebRTC udp 8189 false", "WebRTC tcp 8189 false",
      ])
    #expect(
      try numbers(
        "--rtsp-port", "1", "--http-port", "2", "--https-port", "3", "--rtmp-port", "4", "--rtsps-port", "5",
        "--rtmps-port", "6", "--webrtc", "off") == [
          "RTSP tcp 1 true", "RTSPS tcp 5 true", "HTTP tcp 2 true", "HTTPS tcp 3 true", "RTMP tcp 4 true",
          "RTMPS tcp 6 true",
        ])
  }

  @Test func `a socket that listens is found by the inode of its row`() {
    // /proc/net/tcp of Linux 6.1: port 8080 (1F90) listens, and a connection of it is established.
    let text = """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
         0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 26893 1 0000000000000000
         1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 26999 1 0000000000000000
         2: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   112        0 18500 1 0000000000000000
      cut: 00
      """
    let table = SocketTable(text)
    #expect(table.sockets(ofPort: 8080, .tcp) == [.init(inode: 26893, user: 1000)])
    #expect(table.sockets(ofPort: 8080, .udp).map(\.inode) == [26893, 26999])
    #expect(table.sockets(ofPort: 3306, .tcp).map(\.user) == [112])
    #expect(table.sockets(ofPort: 80, .tcp) == [] && SocketTable("").sockets(ofPort: 8080, .tcp) == [])
  }

  #if os(Linux)
  @Test func `a file of the system is read whole, however large it is`() throws {
    let text = try #require(SystemFile.text("/proc/self/smaps"))
    #expect(text.utf8.count > 16_384 && text.hasSuffix("\n"))
    #expect(SystemFile.text("/proc/self/none") == nil)
  }

  @Test(arguments: [PortFacts.Transport.tcp, .udp])
  func `a port that a process has is in use, and free once it is closed`(
    transport: PortFacts.Transport
  ) throws {
    let (descriptor, port) = Self.openPort(transport)
    let state = PortFacts.state(of: port, bind: "127.0.0.1")
    close(descriptor)
    guard case .inUse(let holder) = state else {
      Issue.record("\(state)")
      return
    }
    #expect(holder?.name.isEmpty == false)
    // Another process may take one of them at once.
    let isFree = (0..<20).contains { _ in
      let (descriptor, port) = Self.openPort(transport)
      close(descriptor)
      return PortFacts.state(of: port, bind: "127.0.0.1") == .free
    }
    #expect(isFree)
    // TEST-NET-1, RFC 5737.
    #expect(PortFacts.state(of: port, bind: "192.0.2.7") == .noAddress)
  }

  /// Opens a port of the loopback address that the system chooses.
  static func openPort(_ transport: PortFacts.Transport) -> (descriptor: Int32, port: PortFacts.Port) {
    let kind = (transport == .tcp ? SOCK_STREAM : SOCK_DGRAM).rawValue | SOCK_CLOEXEC.rawValue
    let descriptor = socket(AF_INET, Int32(kind), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
      }
    }
    #expect(isOpen && (transport == .udp || listen(descriptor, 1) == 0))
    let port = PortFacts.Port(
      service: "a", option: "b", number: Int(address.sin_port.bigEndian), isGiven: true, transport: transport)
    return (descriptor, port)
  }
  #endif

  private static let lan = AddressFacts.Address(text: "192.168.2.67", interface: "eth0", reach: .localNetwork)

  @Test(
    arguments: [
      ("192.168.2.67", "eth0", false, .localNetwork), ("172.31.0.1", "eth0", false, .localNetwork),
      ("172.32.0.1", "eth0", false, .internet), ("203.0.113.9", "ens3", false, .internet),
      ("2001:db8::1", "eth0", false, .internet), ("fd00::1", "eth0", false, .localNetwork),
      ("10.8.0.2", "tun0", true, .tunnel), ("100.101.1.1", "tailscale0", false, .tunnel),
      ("172.17.0.1", "docker0", true, .containers), ("169.254.7.7", "eth0", false, .link),
      ("127.0.0.1", "lo", false, .machine),
    ] as [(String, String, Bool, AddressFacts.Reach)])
  func `an address is reached from where its number and interface say`(
    text: String, interface: String, isInward: Bool, reach: AddressFacts.Reach
  ) {
    #expect(AddressFacts.reach(of: text, interface: interface, isInward: isInward) == reach)
  }

  @Test func `addresses are all right, with the one that the QR code shows`() {
    let docker = AddressFacts.Address(text: "172.17.0.1", interface: "docker0", reach: .containers)
    let findings = AddressFacts(addresses: [Self.lan, docker], shownHost: "192.168.2.67").findings
    #expect(
      findings == [
        .ok("address 192.168.2.67", "eth0, reached by machines of the local network; the QR code shows it")
      ])
    let loopback = AddressFacts(bind: "127.0.0.1", addresses: [Self.lan], shownHost: "127.0.0.1").findings
    #expect(loopback == [.ok("address 127.0.0.1", "reached by this machine only")])
    #expect(AddressFacts(bind: "::", addresses: [Self.lan], shownHost: "").findings.map(\.verdict) == [.ok])
  }

  @Test func `a machine without a network, or with containers only, is a fault`() {
    let none = AddressFacts(addresses: [], shownHost: "127.0.0.1").findings
    #expect(none.map(\.verdict) == [.fault] && none[0].meaning == "this machine has no network")
    let docker = AddressFacts.Address(text: "172.17.0.1", interface: "docker0", reach: .containers)
    let inward = AddressFacts(addresses: [docker], shownHost: "172.17.0.1").findings
    #expect(inward.map(\.verdict) == [.fault] && inward[0].meaning.contains("172.17.0.1 of docker0"))
  }

  @Test func `an address that no DHCP server has given is a warning`() {
    let link = AddressFacts.Address(text: "169.254.7.7", interface: "eth0", reach: .link)
    let findings = AddressFacts(addresses: [link], shownHost: "127.0.0.1").findings
    #expect(findings.map(\.verdict) == [.warning] && findings[0].meaning.contains("no DHCP server"))
  }

  @Test func `a container behind a bridge is a warning, and so is WebRTC without the host's address`() {
    var facts = AddressFacts(addresses: [Self.lan], shownHost: "192.168.2.67", isBehindBridge: true)
    #expect(facts.findings.map(\.subject) == ["container", "WebRTC"])
    #expect(facts.findings.allSatisfy { $0.verdict == .warning })
    facts.hasForwardedAddress = true
    #expect(facts.findings.map(\.subject) == ["container"])
  }

  private static let served = [
    PortFacts.Port(service: "HTTP", option: "--http-port", number: 8080, isGiven: true),
    PortFacts.Port(service: "WebRTC", option: "--webrtc-port", number: 8189, isGiven: true, transport: .udp),
  ]

  private static let ruleset = """
    table inet filter {
    \tchain input {
    \t\ttype filter hook input priority 0; policy drop;
    \t\tiifname "lo" accept
    \t\tct state established,related accept
    \t\ttcp dport { 22, 8000-8100 } accept
    \t\tip saddr 10.0.0.1 udp dport 53 accept
    \t}
    \tchain forward {
    \t\ttype filter hook forward priority 0; policy accept;
    \t\tiifname "docker0" accept
    \t}
    }
    """

  @Test func `a port that the firewall drops is a fault, with the command that opens it`() {
    let facts = FirewallFacts(ports: Self.served, rules: FirewallRules(nft: Self.ruleset))
    #expect(facts.findings.map(\.verdict) == [.fault])
    #expect(facts.findings[0].meaning.contains("WebRTC port 8189 (UDP)"))
    #expect(facts.findings[0].remedy == .command("sudo nft insert rule inet filter input udp dport 8189 accept"))
    let text = Self.ruleset.replacing("inet filter", with: "ip own").replacing("chain input", with: "chain IN")
    let other = FirewallFacts(ports: Self.served, rules: FirewallRules(nft: text)).findings
    #expect("\(other)".contains("sudo nft insert rule ip own IN udp dport 8189 accept"))
    let iptables = Self.ruleset.replacing("inet filter", with: "ip filter").replacing(
      "chain input", with: "chain INPUT")
    let own = FirewallFacts(ports: Self.served, rules: FirewallRules(nft: iptables), hasIPTables: true).findings[0]
    #expect(own.remedy == .command("sudo iptables-nft -I INPUT -p udp --dport 8189 -j ACCEPT"))
    #expect(own.meaning.hasSuffix("WebRTC port 8189 (UDP) over IPv4"))
    let firewalld = FirewallFacts(ports: Self.served, keeper: .firewalld, rules: facts.rules)
    #expect("\(firewalld.findings)".contains("--add-port=8189/udp"))
  }

  @Test(arguments: [
    "udp dport 8189 accept", "udp dport @allowed accept", "ip saddr 192.168.2.0/24 accept",
    "iifname \"eth0\" counter packets 0 bytes 0 accept", "counter packets 1 bytes 60 accept",
    "udp dport vmap { 53 : accept, 8189 : jump own }", "udp dport != 53 accept",
    "meta l4proto udp xt match \"multiport\" counter packets 0 bytes 0 accept",
    "udp dport 8189 limit rate 10/second burst 20 packets accept", "limit rate 1 mbytes/second burst 3 kbytes accept",
    "udp dport 8189 limit rate 400/minute counter packets 0 bytes 0 accept", "counter name \"web\" accept",
    "udp dport 8189 ct count over 20 reject\n\t\tudp dport 8189 accept", "meta nfproto 2 accept",
    "meta l4proto { 6, 17 } accept", "meta l4proto @allowed accept", "meta l4proto != 6 accept",
  ])
  func `a rule that lets the port through is seen`(rule: String) {
    let text = Self.ruleset.replacing("ct state", with: "\(rule)\n\t\tct state")
    let facts = FirewallFacts(ports: Self.served, rules: FirewallRules(nft: text))
    #expect(facts.findings.map(\.verdict) == [.ok], "\(facts.findings)")
  }

  @Test(arguments: [
    "meta nfproto 2 drop", "meta nfproto { 2, 10 } drop", "meta nfproto != 10 drop", "meta protocol 0x0800 drop",
    "meta nfproto vmap { 2 : drop, 10 : accept }", "meta l4proto { 1, 6 } drop", "meta l4proto != { 1, 17 } drop",
    "ip protocol != 17 drop", "ct state 0x8 drop", "ct state != { 0x2, 0x4 } drop", "ct state ! 0x2,0x4 drop",
    "iifname != { \"lo\", \"docker0\" } drop", "counter name \"dropped\" drop", "counter packets 7 bytes 420 drop",
  ])
  func `a condition that all new connections to a port meet is none`(rule: String) {
    #expect(Self.rules(rule).blocks(8080, .tcp))
  }

  @Test(arguments: [
    "meta nfproto 10 drop", "meta nfproto != 2 drop", "meta protocol 0x86dd drop", "meta protocol != 0x0800 drop",
    "meta nfproto vmap { 2 : accept, 10 : drop }", "ip6 nexthdr 6 drop", "meta l4proto != { 1, 6, 17 } drop",
    "meta l4proto { 1, 58 } drop", "ip protocol != 6 drop", "meta l4proto @others drop", "meta l4proto 7-16 drop",
    "ct state != 0x8 drop", "ct state ! 0x8 drop", "ct state { 0x1, 0x2 } drop", "iifname != \"eth0\" drop",
    "limit rate over 10/second burst 20 packets drop", "tcp dport 8080 limit rate 10/second burst 20 packets drop",
    "limit name \"few\" drop", "ct bytes > 1000 drop",
  ])
  func `a condition that connections to a port do not meet, or not all of them, drops none`(rule: String) {
    #expect(!Self.rules(rule).blocks(8080, .tcp))
  }

  @Test func `a rule that accepts other packets than those of a port does not open it`() {
    for rule in [
      "meta nfproto 10 accept", "meta l4proto { 1, 58 } accept", "ct state != 0x8 accept", "ip6 nexthdr 6 accept",
      "limit rate over 10/second accept",
    ] {
      #expect(Self.rules(rule, "drop").blocks(8080, .tcp), "\(rule)")
    }
  }

  @Test(arguments: [("ip", true), ("ip6", true), ("inet", true), ("arp", false), ("bridge", false), ("netdev", false)])
  func `chains are those of IP, in tables that are not dormant`(family: String, isSeen: Bool) {
    let chain = "\tchain in {\n\t\ttype filter hook input priority 0; policy drop;\n\t}\n}\n"
    let table = "table \(family) t {\n"
    #expect(FirewallRules(nft: table + chain).blocks(8080, .tcp) == isSeen)
    let dormant = "table \(family) off {\n\tflags dormant\n\n\(chain)"
    #expect(!FirewallRules(nft: dormant).blocks(8080, .tcp))
    let both = FirewallRules(nft: dormant + table + chain).chains(blocking: 8080, .tcp)
    #expect(both.map(\.table) == (isSeen ? ["t"] : []))
  }

  @Test func `rules are those of the input chain, and a last rule without a condition is its policy`() {
    let open = Self.ruleset.replacing("policy drop", with: "policy accept")
    #expect(!FirewallRules(nft: open).blocks(8189, .udp))
    let last = open.replacing("\t\tip saddr", with: "\t\tcounter packets 0 bytes 0 drop\n\t\tip saddr")
    #expect(FirewallRules(nft: last).blocks(8189, .udp) && !FirewallRules(nft: last).blocks(8080, .tcp))
    #expect(Self.rules("tcp dport 8080 drop").blocks(8080, .tcp))
    // One of fail2ban, and a chain of what goes out.
    #expect(!Self.rules("tcp dport { 80, 8080 } ip saddr @banned reject").blocks(8080, .tcp))
    let outward =
      "table inet t {\n\tchain output {\n\t\ttype filter hook output priority 0; policy drop;\n\t\ttcp dport 8080 drop\n\t}"
    #expect(!FirewallRules(nft: outward).blocks(8080, .tcp))
    #expect(!FirewallRules(nft: "").blocks(8080, .tcp))
  }

  /// Rules of a chain `in` of what comes in, which accepts others, and of chains that it may lead to.
  private static func rules(_ rules: String..., chains: [String: String] = [:]) -> FirewallRules {
    let others = chains.map { name, rules in "\tchain \(name) {\n\t\t\(rules)\n\t}\n" }.joined()
    let text = rules.map { "\t\t\($0)\n" }.joined()
    return FirewallRules(
      nft: "table inet t {\n\tset s {\n\t\ttype inet_service\n\t\telements = { 8080 }\n\t}\n\(others)\tchain in {\n"
        + "\t\ttype filter hook input priority 0; policy accept;\n\(text)\t}\n}")
  }

  @Test(arguments: [
    "jump own", "counter packets 0 bytes 0 jump own", "ct state 0x8 jump own", "meta nfproto 2 goto own",
    "tcp dport { 80, 8080 } jump own", "tcp dport vmap { 22 : accept, 8080 : jump own }",
    "meta l4proto vmap { 6 : jump own, 17 : accept }", "iifname != \"lo\" jump own", "tcp dport 8000-8100 jump own",
    "log prefix \"accept drop \" jump own",
  ])
  func `a rule that leads to a chain that drops is followed`(rule: String) {
    let rules = Self.rules(rule, chains: ["own": "drop"])
    #expect(rules.chains(blocking: 8080, .tcp).map(\.name) == ["in"])
  }

  @Test(arguments: [
    "iifname \"docker0\" jump own", "ip saddr @banned jump own", "ct state 0x2,0x4 jump own", "udp dport 8080 jump own",
    "ct state vmap { 0x1 : jump own, 0x2 : accept }", "tcp dport 22 jump own", "meta l4proto 1 jump own",
    "tcp dport vmap { 22 : jump own }", "ip ttl 1 jump own", "counter packets 0 bytes 0 comment \"jump own\"",
  ])
  func `a chain for other packets, or for those of some machines, drops none of a port`(rule: String) {
    #expect(!Self.rules(rule, chains: ["own": "drop"]).blocks(8080, .tcp))
  }

  @Test
  func `a chain that is left goes on behind the rule that leads to it, and one that nothing leads to is not followed`()
  {
    #expect(Self.rules("jump own", "drop", chains: ["own": "tcp dport 8080 return"]).blocks(8080, .tcp))
    #expect(!Self.rules("jump own", "drop", chains: ["own": "tcp dport 8080 accept"]).blocks(8080, .tcp))
    #expect(!Self.rules("tcp dport 22 accept", chains: ["own": "tcp dport 8080 drop"]).blocks(8080, .tcp))
    // The chain ufw-not-local of ufw, and an echo request.
    let local = "fib daddr type 2 counter packets 0 bytes 0 return\n\t\tcounter packets 0 bytes 0 drop"
    #expect(!Self.rules("counter packets 0 bytes 0 jump own", chains: ["own": local]).blocks(8080, .tcp))
    #expect(Self.rules("icmp type 8 return", "drop").blocks(8080, .tcp))
    #expect(Self.rules("jump own", chains: ["own": "jump own"]).chains(blocking: 8080, .tcp).isEmpty)
  }

  @Test func `a chain that a rule has gone to does not come back`() {
    let other = "tcp dport 22 accept"
    // A chain of the hook ends with its policy, and another one goes on behind the rule that has led to it.
    #expect(!Self.rules("goto own", "drop", chains: ["own": other]).blocks(8080, .tcp))
    #expect(Self.rules("jump own", "drop", chains: ["own": other]).blocks(8080, .tcp))
    let zones = ["zones": "goto own\n\t\taccept", "own": other]
    #expect(Self.rules("jump zones", "drop", chains: zones).blocks(8080, .tcp))
    let jumping = ["zones": "jump own\n\t\taccept", "own": other]
    #expect(!Self.rules("jump zones", "drop", chains: jumping).blocks(8080, .tcp))
    // A zone of firewalld for one interface, and one for all others.
    let zone = "tcp dport 22 accept\n\t\tmeta l4proto { 1, 58 } accept\n\t\treject"
    let own = "iifname \"eth0\" goto own\n\t\tgoto own"
    #expect(Self.rules("jump zones", "accept", chains: ["zones": own, "own": zone]).blocks(8080, .tcp))
    #expect(!Self.rules("jump zones", "accept", chains: ["zones": own, "own": zone]).blocks(22, .tcp))
    // A rule behind one by which some machines may have left drops none, while one that accepts still does.
    #expect(!Self.rules("ip saddr @home goto own", "drop", chains: ["own": other]).blocks(8080, .tcp))
    let left = ["zones": "ip saddr @home goto own\n\t\ttcp dport 8080 accept", "own": other]
    #expect(!Self.rules("jump zones", "drop", chains: left).blocks(8080, .tcp))
    let returning = ["zones": "ip saddr @home return\n\t\taccept"]
    #expect(!Self.rules("jump zones", "drop", chains: returning).blocks(8080, .tcp))
  }

  @Test(.timeLimit(.minutes(5)))
  func `chains that lead to each other many times are each read once`() {
    // Followed by each of its ways, the last one would be read a thousand million times.
    var chains = ["a16": "tcp dport 22 accept"]
    for index in 1...15 {
      let jumps = Array(repeating: "jump a\(index + 1)", count: 4)
      chains["a\(index)"] = jumps.joined(separator: "\n\t\t")
    }
    #expect(Self.rules("jump a1", "drop", chains: chains).blocks(8080, .tcp))
    #expect(!Self.rules("jump a1", "drop", chains: chains).blocks(22, .tcp))
  }

  @Test func `each chain that drops a port is opened, in its own table`() {
    let text = """
      table ip filter {
      \tchain INPUT {
      \t\ttype filter hook input priority 0; policy drop;
      \t}
      }
      table ip6 filter {
      \tchain INPUT {
      \t\ttype filter hook input priority 0; policy drop;
      \t}
      }
      table inet own {
      \tchain web {
      \t\ttcp dport 8080 drop
      \t}
      \tchain incoming {
      \t\ttype filter hook input priority 10; policy accept;
      \t\tjump web
      \t}
      }
      """
    let ports = [Self.served[0]]
    let facts = FirewallFacts(ports: ports, rules: FirewallRules(nft: text), hasIPTables: true)
    #expect(
      facts.findings.map(\.remedy) == [
        .command(
          "sudo iptables-nft -I INPUT -p tcp --dport 8080 -j ACCEPT && sudo ip6tables-nft -I INPUT -p tcp --dport 8080 -j ACCEPT"
            + " && sudo nft insert rule inet own incoming tcp dport 8080 accept")
      ])
    let without = FirewallFacts(ports: ports, rules: FirewallRules(nft: text)).findings
    #expect("\(without)".contains("sudo nft insert rule ip6 filter INPUT tcp dport 8080 accept && "))
  }

  @Test func `a port that ufw does not let through is a fault, with the command of ufw`() {
    let text = """
      ### RULES ###

      ### tuple ### allow tcp 8080 0.0.0.0/0 any 0.0.0.0/0 in
      -A ufw-user-input -p tcp --dport 8080 -j ACCEPT
      ### tuple ### deny any 9000:9100 0.0.0.0/0 any 0.0.0.0/0 in
      """
    let facts = FirewallFacts(ports: Self.served, keeper: .ufw, rules: FirewallRules(ufw: text))
    #expect(facts.findings.map(\.remedy) == [.command("sudo ufw allow 8189/udp")])
    #expect(FirewallRules(ufw: text).blocks(9050, .tcp) && !FirewallRules(ufw: text).blocks(8080, .tcp))
    // Neither what goes out or through, nor what one machine sends; an action may log.
    let others = """
      ### tuple ### deny any any 0.0.0.0/0 any 0.0.0.0/0 out
      ### tuple ### route:allow any any 0.0.0.0/0 any 0.0.0.0/0 in_eth0!out_eth1
      ### tuple ### reject any any 0.0.0.0/0 any 192.0.2.7 in
      ### tuple ### allow_log any any 0.0.0.0/0 any 0.0.0.0/0 in_eth0
      """
    #expect(FirewallRules(ufw: others).chains.map(\.rules) == [[.init(action: .accept)]])
    let open = FirewallRules(ufw: "", defaults: "IPV6=yes\nDEFAULT_INPUT_POLICY=\"ACCEPT\"\n")
    #expect(!open.blocks(8080, .tcp) && FirewallRules(ufw: "", defaults: "IPV6=yes").blocks(8080, .tcp))
  }

  @Test func `a firewall whose rules only root reads is a warning, and one that may not be there is none`() {
    #expect(FirewallFacts(ports: Self.served, keeper: .ufw).findings[0].remedy == .command("sudo ufw status verbose"))
    let firewalld = FirewallFacts(ports: Self.served, keeper: .firewalld).findings[0]
    #expect(firewalld.verdict == .warning && firewalld.remedy == .command("sudo firewall-cmd --list-all"))
    for hasFilter in [true, false] {
      #expect(FirewallFacts(ports: Self.served, hasFilter: hasFilter).findings.map(\.verdict) == [.ok])
    }
  }
}
