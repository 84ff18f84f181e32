internal import Libc
package import NIOCore
internal import Synchronization

/// Listening sockets that outlive a process: those of the process before, or of a service manager, in place of which servers open none;
/// and those that servers open, which a service manager keeps for the next process.
///
/// `CameraServer` gives one to all its servers, which ask it while they open their ports:
///
/// ```swift
/// if let descriptor = sockets.take(.rtsp) { bootstrap.withBoundSocket(descriptor) } else { bootstrap.bind(to: address) }
/// ```
package final class ListeningSockets: Sendable {
  /// A port of a server; raw values are names of descriptors.
  package enum Role: String, CaseIterable, Sendable {
    case rtsp
    case rtsps
    case http
    case https
    case rtmp
    case rtmps
    /// The UDP port of WebRTC.
    case webRTC = "webrtc"
    /// The TCP port of WebRTC, with the number of the UDP port.
    case webRTCOverTCP = "webrtc-tcp"
  }

  private struct State {
    /// Inherited sockets that no server has taken yet.
    var waiting: [Role: Int32]
    var inheritedRoles: Set<Role>
  }

  private let state: Mutex<State>
  private let keep: (@Sendable (Role, Int32) -> Void)?
  private let forget: (@Sendable (Role) -> Void)?

  /// - Parameters:
  ///   - inherited: Descriptors of sockets that are bound, each taken by one server, which closes it.
  ///   - keep: Called with each socket that a server has opened, while it opens its ports; the descriptor is valid during the call. nil
  ///     where nothing keeps them.
  ///   - forget: Called for each inherited socket that no server could use, which is to be kept no longer.
  package init(
    _ inherited: [Role: Int32] = [:], keep: (@Sendable (Role, Int32) -> Void)? = nil,
    forget: (@Sendable (Role) -> Void)? = nil
  ) {
    self.state = Mutex(State(waiting: inherited, inheritedRoles: Set(inherited.keys)))
    self.keep = keep
    self.forget = forget
  }

  /// The ports whose sockets were inherited, but for those that no server could use.
  package var inheritedRoles: Set<Role> { self.state.withLock { $0.inheritedRoles } }

  /// The inherited socket of a port; nil where there is none, or it was taken before.
  package func take(_ role: Role) -> Int32? {
    self.state.withLock { $0.waiting.removeValue(forKey: role) }
  }

  /// Lets a socket be kept that a server has opened, in place of an inherited one that it could not use.
  package func opened(_ role: Role, _ descriptor: Int32) {
    self.discard(role)
    self.keep?(role, descriptor)
  }

  /// Lets the socket of a listening channel be kept that a server has opened, in place of an inherited one that it could not use.
  package func opened(_ role: Role, _ channel: any Channel) async {
    self.discard(role)
    guard self.keep != nil, let copy = await Self.copy(of: channel) else { return }
    self.keep?(role, copy)
    close(copy)
  }

  /// Closes the inherited sockets that no server has taken, once all have opened their ports: clients must not wait for an answer.
  package func closeUnused() {
    let unused = self.state.withLock { state in
      defer { state.waiting.removeAll() }
      return state.waiting
    }
    for (role, descriptor) in unused {
      close(descriptor)
      self.discard(role)
    }
  }

  private func discard(_ role: Role) {
    if self.state.withLock({ $0.inheritedRoles.remove(role) }) != nil { self.forget?(role) }
  }

  /// Sets the length of the accept queue of a channel with an inherited socket, for which NIO has chosen 128.
  package static func setBacklog(_ backlog: Int, of channel: any Channel) async {
    guard let copy = await Self.copy(of: channel) else { return }
    // Fails for no socket that listens already.
    _ = listen(copy, Int32(clamping: backlog))
    close(copy)
  }

  /// A copy of a channel's descriptor, which is used on the caller's thread; nil once the channel is closed.
  private static func copy(of channel: any Channel) async -> Int32? {
    let copy = try? await channel.eventLoop.submit { () throws -> Int32? in
      try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        fcntl($0, F_DUPFD_CLOEXEC, 0)
      }
    }.get()
    guard let copy, copy >= 0 else { return nil }
    return copy
  }
}
