import Foundation
import Libc

extension FirewallFacts {
  /// Reads the rules where this user is root, and otherwise what is readable for all users.
  init(_ configuration: ServeConfiguration) {
    self.init(ports: PortFacts.ports(of: configuration).filter { $0.number != 0 })
    #if os(Linux)
    let settings = try? String(contentsOfFile: "/etc/ufw/ufw.conf", encoding: .utf8)
    if settings?.split(separator: "\n").contains("ENABLED=yes") == true {
      self.keeper = .ufw
      self.rules = (try? String(contentsOfFile: "/etc/ufw/user.rules", encoding: .utf8)).map { FirewallRules(ufw: $0) }
    } else if FileManager.default.fileExists(atPath: "/run/firewalld") {
      self.keeper = .firewalld
    }
    if self.rules == nil, geteuid() == 0 {
      self.rules = SystemCommand("nft", "-n", "list", "ruleset").output().map { FirewallRules(nft: $0) }
    }
    let modules = (try? String(contentsOfFile: "/proc/modules", encoding: .utf8)) ?? ""
    self.hasFilter = modules.split(separator: "\n").contains { line in
      ["nf_tables ", "ip_tables "].contains { line.hasPrefix($0) }
    }
    #endif
  }
}
