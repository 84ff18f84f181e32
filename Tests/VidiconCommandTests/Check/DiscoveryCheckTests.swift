import Foundation
import Testing

@testable import VidiconCommand

@Suite("Check of mDNS")
struct DiscoveryCheckTests {
  @Test func `an mDNS daemon that is missing or stopped is a warning, with the command for it`() {
    let missing = DiscoveryFacts(isAnnounced: true, daemon: .missing).findings[0]
    #expect(missing.verdict == .warning && missing.remedy == .command("sudo apt install avahi-daemon"))
    let stopped = DiscoveryFacts(isAnnounced: true, daemon: .stopped).findings[0]
    #expect(stopped.verdict == .warning && stopped.remedy == .command("sudo systemctl enable --now avahi-daemon"))
    #expect(DiscoveryFacts(isAnnounced: false, daemon: .missing).findings[0].verdict == .ok)
    let contained = DiscoveryFacts(isAnnounced: true, daemon: .missing, isInContainer: true).findings
    guard case .advice(let advice) = contained[0].remedy else {
      Issue.record("\(contained)")
      return
    }
    #expect(advice.contains("give the container the host's"))
  }

  @Test func `a program that has the port of mDNS and does not share it is a warning that names it`() {
    for daemon in [DiscoveryFacts.Daemon.stopped, .running] {
      var facts = DiscoveryFacts(isAnnounced: true, daemon: daemon, isPortTaken: true)
      facts.portHolder = PortHolder(process: 812, name: "bonjour")
      let finding = facts.findings[0]
      #expect(finding.verdict == .warning)
      #expect(finding.meaning.hasPrefix("bonjour (process 812) has UDP port 5353 and does not share it"))
      let advice = "end that program, then start the daemon again: sudo systemctl restart avahi-daemon"
      #expect(facts.findings.map(\.remedy) == [.advice(advice)])
      facts.portHolder = nil
      #expect(facts.findings.map(\.remedy) == [.command("sudo ss -lnpu 'sport = :5353'")])
      #expect(facts.findings[0].meaning.hasPrefix("a program of another user has UDP port 5353"))
      facts.isAnnounced = false
      #expect(facts.findings.map(\.verdict) == [.ok])
    }
    // The port would not be used.
    let missing = DiscoveryFacts(isAnnounced: true, daemon: .missing, isPortTaken: true).findings
    #expect(missing.map(\.remedy) == [.command("sudo apt install avahi-daemon")])
  }

  #if os(Linux)
  @Test func `a port of mDNS is kept by a program that does not share it, and by none that does`() {
    let (descriptor, port) = NetworkCheckTests.openPort(.udp)
    #expect(DiscoveryFacts.isKept(port: port.number))
    var option: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &option, socklen_t(MemoryLayout<Int32>.size))
    #expect(!DiscoveryFacts.isKept(port: port.number))
    close(descriptor)
  }

  @Test(arguments: [
    ("[server]\ndisallow-other-stacks=yes\n", true), (" disallow-other-stacks = true", true),
    ("#disallow-other-stacks=yes", false), ("disallow-other-stacks=no\n", false), ("disallow-other-stacks=", false),
    ("", false),
  ])
  func `a daemon that shares its port with no program is known by its configuration`(text: String, isExclusive: Bool) {
    #expect(DiscoveryFacts.isExclusive(configuration: text) == isExclusive)
  }
  #endif

  @Test func `another machine with this one's name is a warning`() {
    var facts = DiscoveryFacts(
      isAnnounced: true, daemon: .running, name: "pi.local", resolved: "192.168.2.9", addresses: ["192.168.2.67"])
    #expect(facts.findings[0].verdict == .warning && facts.findings[0].meaning.contains("pi.local, at 192.168.2.9"))
    facts.resolved = "192.168.2.67"
    #expect(facts.findings[0].verdict == .ok)
    facts.resolved = nil
    #expect(facts.findings[0].verdict == .ok)
  }
}
