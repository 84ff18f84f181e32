internal import Foundation
internal import Synchronization

/// A TCP server on the loopback interface that runs a body on a thread per connection, until it is released. A
/// connection over which nothing comes or goes for five minutes is as if its client had closed it.
package final class LocalServer: Sendable {
  /// A connection, closed when the body returns.
  package struct Connection {
    package let socket: Int32

    /// Writes bytes; false when the peer has disconnected.
    @discardableResult
    package func write(_ bytes: some Sequence<UInt8>) -> Bool {
      let bytes = Array(bytes)
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes {
          send(self.socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }

    @discardableResult
    package func write(_ text: String) -> Bool { self.write(text.utf8) }

    /// Reads up to an empty line or the end of the connection.
    package func readHead() -> String {
      var head: [UInt8] = []
      var byte: UInt8 = 0
      while recv(self.socket, &byte, 1, 0) == 1 {
        head.append(byte)
        if head.suffix(4) == [13, 10, 13, 10] { break }
      }
      return String(decoding: head, as: UTF8.self)
    }

    /// Waits until the peer closes, or for a number of seconds.
    ///
    /// - Returns: Whether the peer has closed.
    package func waitForEnd(within seconds: Int32) -> Bool {
      var descriptor = pollfd(fd: self.socket, events: Int16(POLLIN), revents: 0)
      var byte: UInt8 = 0
      return poll(&descriptor, 1, seconds * 1000) > 0 && recv(self.socket, &byte, 1, 0) <= 0
    }

    /// Waits until the peer closes, or sends nothing for five minutes.
    package func waitForEnd() {
      var byte: UInt8 = 0
      while recv(self.socket, &byte, 1, 0) == 1 {}
    }
  }

  /// The sockets of a server. Their numbers belong to others once they are closed, so that each is closed, and shut down, under the lock.
  /// Threads hold it for longer than the server lives.
  private final class Sockets: Sendable {
    private struct State {
      /// Nil when nothing listens any more.
      var listener: Int32?
      var open: Set<Int32> = []
    }

    private let state: Mutex<State>

    init(listener: Int32) { self.state = Mutex(State(listener: listener)) }

    /// Whether a new connection is served; one that is not has to be closed.
    func insert(_ socket: Int32) -> Bool {
      self.state.withLock { $0.listener != nil && $0.open.insert(socket).inserted }
    }

    func close(_ socket: Int32) {
      self.state.withLock { state in
        state.open.remove(socket)
        _ = Foundation.close(socket)
      }
    }

    func stop() {
      self.state.withLock { state in
        // Its thread, which waits for connections, closes it.
        if let listener = state.listener.take() { shutdown(listener, Int32(SHUT_RDWR)) }
        for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
      }
    }
  }

  package let port: Int
  private let sockets: Sockets

  /// - Parameter port: The port; 0 for a free one.
  package init(port: Int = 0, _ body: @escaping @Sendable (Connection) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 16) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard status else { throw TestMedia.Failure(description: "no port to listen on: \(errno)") }
    let sockets = Sockets(listener: listener)
    self.sockets = sockets
    self.port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread {
      while true {
        // Safe because `stop` shuts the listener down, which ends the wait.
        let socket = accept(listener, nil, nil)
        guard socket >= 0 else {
          if errno == EINTR || errno == ECONNABORTED { continue }
          sockets.stop()
          close(listener)
          return
        }
        WaitLimit.apply(to: socket)
        guard sockets.insert(socket) else {
          close(socket)
          continue
        }
        Thread.detachNewThread {
          body(Connection(socket: socket))
          sockets.close(socket)
        }
      }
    }
  }

  deinit {
    self.stop()
  }

  /// Stops listening and shuts down open connections.
  package func stop() { self.sockets.stop() }

  /// An HTTP server for the files in a folder.
  package static func files(in folder: String, port: Int = 0) throws -> LocalServer {
    try LocalServer(port: port) { connection in
      while true {
        let head = connection.readHead()
        guard let path = head.split(separator: " ").dropFirst().first else { return }
        let name = path.dropFirst().prefix { $0 != "?" }
        guard let bytes = FileManager.default.contents(atPath: folder + "/" + name) else {
          connection.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
          continue
        }
        guard
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\nConnection: keep-alive\r\n\r\n"),
          connection.write(bytes)
        else { return }
      }
    }
  }
}
