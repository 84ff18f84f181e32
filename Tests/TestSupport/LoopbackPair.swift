internal import Foundation

/// Both ends of a connection over loopback; neither reads by itself.
package final class LoopbackPair {
  package let client: Int32
  package let server: Int32

  /// An error of a system call.
  package struct Failure: Error {
    var code: Int32
  }

  /// - Throws: ``Failure`` when the system makes no connection.
  package init() throws(Failure) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    // The peer's buffer, which accepted connections inherit, is smaller than the client's.
    var size: Int32 = 64 << 10
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    self.client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let client = self.client
    size = 256 << 10
    setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
          && connect(client, $0, length) == 0
      }
    }
    WaitLimit.apply(to: listener)
    self.server = isConnected ? accept(listener, nil, nil) : -1
    guard self.server >= 0, fcntl(client, F_SETFL, O_NONBLOCK) == 0 else { throw Failure(code: errno) }
    WaitLimit.apply(to: self.server)
  }

  deinit {
    close(self.client)
    close(self.server)
  }

  /// Writes until the system takes no more; returns the number of bytes that it has taken.
  package func fill() -> Int {
    let bytes = [UInt8](repeating: 7, count: 1 << 16)
    var count = 0
    while true {
      let result = send(self.client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      guard result > 0 else { return count }
      count += result
    }
  }

  /// Reads a number of bytes at the other end.
  package func drain(_ count: Int) {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var rest = count
    while rest > 0 {
      let result = recv(self.server, &bytes, min(rest, bytes.count), 0)
      guard result > 0 else { return }
      rest -= result
    }
  }
}
