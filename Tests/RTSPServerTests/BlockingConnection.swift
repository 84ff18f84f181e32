import Libc
import NIOCore
import TestSupport

/// A TCP connection to this machine with a receive buffer of a chosen size, for a thread that may block.
final class BlockingConnection {
  /// A system call failed, or the server closed the connection.
  struct Failure: Error {
    var call: String
    var code: Int32
  }

  private let descriptor: Int32

  init(port: Int, receiveBuffer: Int32) throws {
    self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var size = receiveBuffer
    setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout.size(ofValue: size)))
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
    let result = address.withSockAddr { connect(self.descriptor, $0, socklen_t($1)) }
    guard result == 0 else { throw Failure(call: "connect", code: errno) }
    WaitLimit.apply(to: self.descriptor)
  }

  deinit { close(self.descriptor) }

  func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard Glibc.send(self.descriptor, bytes, bytes.count, 0) == bytes.count else {
      throw Failure(call: "send", code: errno)
    }
  }

  /// Waits for bytes, for five minutes at most.
  func receive() throws -> ByteBuffer {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(self.descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { throw Failure(call: "recv", code: count == 0 ? 0 : errno) }
    return ByteBuffer(bytes: bytes.prefix(count))
  }
}
