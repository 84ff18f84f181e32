import Foundation
import Testing

/// The socket of a service manager, whose part a test plays.
final class PlayedServiceManager: Sendable {
  let path = NSTemporaryDirectory() + String(UUID().uuidString.prefix(8))
  private let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

  /// - Parameter isAbstract: Whether its name is of the abstract namespace, which has no files.
  init(isAbstract: Bool = false) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = (isAbstract ? [0] : []) + Array(self.path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let result = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.socket, $0, length) }
    }
    try #require(result == 0)
  }

  deinit {
    close(self.socket)
    unlink(self.path)
  }

  /// The next message, and the descriptor with it; nil where there is no message, or none with a descriptor.
  func messageWithDescriptor() -> (lines: [Substring], descriptor: Int32)? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    // A header of a control message is of 16 bytes, and a descriptor is padded to 8.
    var control = [UInt64](repeating: 0, count: 3)
    let socket = self.socket
    let (count, length) = bytes.withUnsafeMutableBytes { bytes in
      control.withUnsafeMutableBytes { control -> (Int, Int) in
        var data = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &data) { data -> (Int, Int) in
          var message = msghdr()
          message.msg_iov = data
          message.msg_iovlen = 1
          message.msg_control = control.baseAddress
          message.msg_controllen = control.count
          let count = recvmsg(socket, &message, Int32(MSG_DONTWAIT))
          return (count, Int(message.msg_controllen))
        }
      }
    }
    guard count > 0, length >= 20 else { return nil }
    let descriptor = Int32(truncatingIfNeeded: control[2])
    return (String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n"), descriptor)
  }

  /// The messages that have come, each with its lines.
  func messages() -> [[Substring]] {
    var messages: [[Substring]] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(self.socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      guard count > 0 else { return messages }
      messages.append(String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n"))
    }
  }
}
