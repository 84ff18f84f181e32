import Authentication
import CaptureDevices
import Foundation
import Libc

extension FirewallFacts {
  /// Reads the rules where this user is root, and otherwise what is readable for all users.
  init(_ configuration: ServeConfiguration) {
    self.init(ports: configuration.isLocal ? [] : PortFacts.ports(of: configuration).filter { $0.number != 0 })
    #if os(Linux)
    guard !self.ports.isEmpty else { return }
    let settings = Self.text("/etc/ufw/ufw.conf") ?? ""
    // The settings stay where the package was removed.
    if settings.split(separator: "\n").contains("ENABLED=yes"), access("/usr/sbin/ufw", F_OK) == 0 {
      self.keeper = .ufw
      let defaults = Self.text("/etc/default/ufw")
      self.rules = Self.text("/etc/ufw/user.rules").map { FirewallRules(ufw: $0, defaults: defaults) }
    } else if DeviceHolder.findOther(name: "firewalld") != nil {
      self.keeper = .firewalld
    }
    if self.rules == nil, geteuid() == 0 {
      self.rules = SystemCommand("nft", "-n", "list", "ruleset").output().map { FirewallRules(nft: $0) }
    }
    // Not "iptables", which may be the older one, whose rules nft does not list.
    self.hasIPTables = ["iptables", "ip6tables"].allSatisfy { access("/usr/sbin/\($0)-nft", X_OK) == 0 }
    let modules = SystemFile.text("/proc/modules") ?? ""
    self.hasFilter = modules.split(separator: "\n").contains { line in
      ["nf_tables ", "ip_tables "].contains { line.hasPrefix($0) }
    }
    #endif
  }

  private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
