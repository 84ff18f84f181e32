internal import CSystemCalls
package import NIOCore
internal import Synchronization
internal import Threading

/// Reports when sockets whose send buffer was full can be written to again, for datagrams that are sent past their channels: these
/// report it for their own writes only.
///
/// One thread waits for all of them.
package final class SocketWritability: Sendable {
  /// The program's.
  package static let shared = SocketWritability()

  private struct Waiter {
    var eventLoop: any EventLoop
    var body: @Sendable () -> Void
  }

  private let queue = vidicon_writability_open()
  /// By socket; nil without the thread.
  private let waiters = Mutex<[Int32: [Waiter]]?>([:])

  /// Time after which is tried what cannot wait for the socket.
  private static let delay = TimeAmount.milliseconds(1)

  private init() {
    let isStarted = self.queue >= 0 && WorkerThread.startDetached(named: "writability") { self.run() }
    if !isStarted { self.waiters.withLock { $0 = nil } }
  }

  /// Calls a body on an event loop, once: as soon as the socket is writable, or has an error.
  ///
  /// - Parameter socket: Its descriptor, which ``forget(_:)`` is called for before it is closed.
  package func whenWritable(_ socket: Int32, on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Void) {
    let waits = self.waiters.withLock { waiters in
      // With other waiters it was asked for already.
      guard waiters != nil, waiters?[socket] != nil || vidicon_writability_request(self.queue, socket) else {
        return false
      }
      waiters?[socket, default: []].append(Waiter(eventLoop: eventLoop, body: body))
      return true
    }
    if !waits { self.afterDelay(on: eventLoop, body) }
  }

  /// Calls a body on an event loop in a millisecond, for a lack that no socket reports the end of: memory, a full network interface.
  package func afterDelay(on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Void) {
    eventLoop.scheduleTask(in: Self.delay, body)
  }

  /// Drops the bodies that wait for a socket: none is called afterwards.
  package func forget(_ socket: Int32) {
    _ = self.waiters.withLock { $0?.removeValue(forKey: socket) }
  }

  private func run() {
    var sockets = [Int32](repeating: -1, count: 64)
    while true {
      let count = vidicon_writability_wait(self.queue, &sockets, Int32(sockets.count))
      guard count > 0 else { break }
      self.waiters.withLock { waiters in
        for socket in sockets.prefix(Int(count)) {
          for waiter in waiters?.removeValue(forKey: socket) ?? [] { waiter.eventLoop.execute(waiter.body) }
        }
      }
    }
    self.waiters.withLock { waiters in
      for waiter in (waiters ?? [:]).values.joined() { waiter.eventLoop.execute(waiter.body) }
      waiters = nil
    }
  }
}
