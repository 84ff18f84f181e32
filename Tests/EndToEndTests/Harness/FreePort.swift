import Foundation
import Synchronization

/// TCP ports of this machine that a test must know before a program listens at them, or again after it has ended.
///
/// They lie below those that the kernel gives to programs that ask for any (`net.ipv4.ip_local_port_range`, from 32,768), and
/// each is given out once, so that no other test takes one between two uses.
enum FreePort {
  private static let range = 20_000..<32_000
  private static let next = Mutex(Int.random(in: range))

  /// A port at which nothing listens.
  static func take() throws -> Int {
    for _ in Self.range {
      let port = Self.next.withLock { next in
        next = next + 1 < Self.range.upperBound ? next + 1 : Self.range.lowerBound
        return next
      }
      if Self.isFree(port) { return port }
    }
    throw Tool.Missing(name: "free port")
  }

  private static func isFree(_ port: Int) -> Bool {
    let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    // Any address: a program may listen at all of them.
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
