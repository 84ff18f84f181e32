internal import Foundation

/// A TCP port on loopback at which nothing is accepted: the system completes connections until its queue is full, and answers
/// none after that. Or one at which nothing listens, which no other socket gets meanwhile.
package final class SilentListener {
  /// A call to the system has failed.
  package struct Failure: Error {
    var call: String
    var code: CInt
  }

  /// Number of the port, which the system has chosen.
  package let port: UInt16
  private var sockets: [CInt] = []
  private let address: sockaddr_in

  #if canImport(Darwin)
  private static let stream = SOCK_STREAM
  #else
  private static let stream = CInt(SOCK_STREAM.rawValue)
  #endif

  /// Opens the port.
  ///
  /// - Parameters:
  ///   - listens: Whether connections are completed; otherwise they are refused.
  ///   - isFull: Whether the queue is full, so that no connection is completed.
  package init(listens: Bool = true, isFull: Bool = false) throws {
    let listener = socket(AF_INET, Self.stream, 0)
    guard listener >= 0 else { throw Failure(call: "socket", code: errno) }
    self.sockets = [listener]
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && (!listens || listen(listener, isFull ? 0 : 16) == 0)
          && getsockname(listener, $0, &length) == 0
      }
    }
    (self.address, self.port) = (address, UInt16(bigEndian: address.sin_port))
    guard result else { throw Failure(call: "bind", code: errno) }
    if isFull { try self.fill() }
  }

  /// Fills the queue of connections, which has room for one or two.
  private func fill() throws {
    for _ in 0..<4 {
      let client = socket(AF_INET, Self.stream, 0)
      guard client >= 0, fcntl(client, F_SETFL, O_NONBLOCK) == 0 else { throw Failure(call: "socket", code: errno) }
      self.sockets.append(client)
      let result = withUnsafePointer(to: self.address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 || errno == EINPROGRESS else { throw Failure(call: "connect", code: errno) }
    }
  }

  /// Closes the port, and the connections that fill its queue.
  package func close() {
    for socket in self.sockets { _ = Foundation.close(socket) }
    self.sockets = []
  }
}
