import Foundation
import TestSupport
import Testing

@Suite("Servers of tests", .timeLimit(.minutes(5)))
struct LocalServerTests {
  /// Connects to a port of this machine; nil where nothing listens.
  private static func connect(to port: Int) -> Int32? {
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if status == 0 { return client }
    close(client)
    return nil
  }

  /// The number of a connection's socket belongs to another one as soon as it is closed, as to the listener of the next server.
  @Test func `a server that ends together with its connections ends no other one`() async throws {
    try await withThrowingTaskGroup(of: Int.self) { tasks in
      for _ in 0..<4 {
        tasks.addTask {
          var refusals = 0
          for _ in 0..<500 {
            var server: LocalServer? = try LocalServer { $0.waitForEnd() }
            let port = try #require(server?.port)
            let clients = (0..<16).map { _ in Self.connect(to: port) }
            for client in clients {
              if let client { close(client) } else { refusals += 1 }
            }
            server = nil
          }
          return refusals
        }
      }
      for try await refusals in tasks { #expect(refusals == 0) }
    }
  }
}
