import Foundation

/// A blocking TCP connection that sends and receives arbitrary bytes.
///
/// Calls block their thread, up to their time limit.
final class RawConnection: Sendable {
  /// A failed system call.
  struct Failure: Error {
    var what: String
    var errno: Int32
  }

  private let descriptor: Int32

  /// Connects to a port of the loopback address.
  ///
  /// - Parameter receiveBuffer: Size of the kernel's receive buffer (`SO_RCVBUF`), in bytes; nil for the default.
  init(port: Int, receiveBuffer: Int32? = nil) throws {
    self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard self.descriptor >= 0 else { throw Failure(what: "socket", errno: errno) }
    if var size = receiveBuffer {
      setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout.size(ofValue: size)))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let connected = withUnsafeBytes(of: address) { bytes in
      connect(
        self.descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
        socklen_t(MemoryLayout<sockaddr_in>.size))
    }
    guard connected == 0 else {
      let number = errno
      close(self.descriptor)
      throw Failure(what: "connect", errno: number)
    }
  }

  deinit {
    close(self.descriptor)
  }

  /// Makes `deinit` reset the connection (RST) instead of closing it in order.
  func resetsAtEnd() {
    var linger = Foundation.linger(l_onoff: 1, l_linger: 0)
    setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  /// Sends all bytes.
  ///
  /// - Returns: False when the peer has closed the connection.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Foundation.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { self.send(Array(text.utf8)) }

  /// Result of a read.
  enum Received: Equatable {
    case bytes([UInt8])
    case closed
    case nothing
  }

  /// Receives available bytes, or waits for some.
  func receive(atMost count: Int = 65_536, within limit: Duration) -> Received {
    var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
    let milliseconds = limit.components.seconds * 1_000 + limit.components.attoseconds / 1_000_000_000_000_000
    guard poll(&request, 1, Int32(clamping: milliseconds)) > 0 else { return .nothing }
    var room = [UInt8](repeating: 0, count: count)
    let received = recv(self.descriptor, &room, count, 0)
    return received > 0 ? .bytes(Array(room[..<received])) : .closed
  }

  /// Discards received bytes until the peer closes.
  ///
  /// - Returns: Whether the peer closed within the limit.
  func isClosed(within limit: Duration) -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
      if self.receive(within: end - .now) == .closed { return true }
    }
    return false
  }
}

/// Runs a blocking function on a dedicated thread, off the cooperative pool.
func waiting<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread { continuation.resume(with: Swift.Result { try body() }) }.start()
  }
}
