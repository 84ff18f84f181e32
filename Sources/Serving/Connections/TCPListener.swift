internal import Authentication
package import Media
package import NIOCore
package import NIOPosix
package import NIOSSL

/// Opens the TCP ports of one server, whose connections are counted and limited with those of all others.
package struct TCPListener: Sendable {
  /// Maximum number of connections that the system queues until they are accepted.
  private static let backlog: Int32 = 1024

  private let group: MultiThreadedEventLoopGroup
  private let registry: ConnectionRegistry
  /// The address of the user; nil for all addresses of the machine.
  private let address: String?
  private let waterMark: ChannelOptions.Types.WriteBufferWaterMark
  /// The options that choose the ports, for errors.
  private let options: String
  private let unprivilegedPort: Int
  private let sockets: ListeningSockets
  private let roles: Roles

  /// The ports of a server among those whose sockets outlive the process; nil for one that does not.
  package struct Roles: Sendable {
    /// Port of plain TCP.
    var plain: ListeningSockets.Role?
    /// Port of TLS.
    var secure: ListeningSockets.Role?

    /// Creates the roles of a server's ports.
    package init(plain: ListeningSockets.Role? = nil, secure: ListeningSockets.Role? = nil) {
      self.plain = plain
      self.secure = secure
    }
  }

  /// - Parameters:
  ///   - address: The numeric address to listen on; nil for all IPv4 and IPv6 addresses.
  ///   - waterMark: Marks of each connection's write buffer.
  ///   - options: The options that choose the ports, such as `--rtsp-port or --rtsps-port`.
  ///   - unprivilegedPort: A usual port of the server, from 1024 on.
  ///   - sockets: Sockets in place of ones that are opened.
  ///   - roles: Those of the server's ports.
  package init(
    group: MultiThreadedEventLoopGroup, registry: ConnectionRegistry, address: String?,
    waterMark: ChannelOptions.Types.WriteBufferWaterMark, options: String, unprivilegedPort: Int,
    sockets: ListeningSockets = ListeningSockets(), roles: Roles = Roles()
  ) {
    self.group = group
    self.registry = registry
    self.address = address
    self.waterMark = waterMark
    self.options = options
    self.unprivilegedPort = unprivilegedPort
    self.sockets = sockets
    self.roles = roles
  }

  /// The address that is bound: the user's; else ``anyAddress(of:)`` for the addresses of this machine.
  package static func boundAddress(_ address: String?) -> String {
    address ?? Self.anyAddress(of: ((try? System.enumerateDevices()) ?? []).compactMap(\.address))
  }

  /// "::" for IPv6 and IPv4, or "0.0.0.0" on a machine without IPv6: one whose only IPv6 address is that of its loopback interface, as
  /// in many containers, does not resolve "::" (RFC 3493 §6.1, `AI_ADDRCONFIG`).
  package static func anyAddress(of addresses: [SocketAddress]) -> String {
    addresses.contains { $0.protocol == .inet6 && $0.ipAddress != "::1" } ? "::" : "0.0.0.0"
  }

  /// Open ports of a server, each with its listening channel.
  package struct Listeners: Sendable {
    /// Listening channel without TLS; nil when no such port is open.
    package var plain: (any Channel)?
    /// Listening channel with TLS; nil when no such port is open.
    package var secure: (any Channel)?

    /// Creates a value without open ports.
    package init() {}

    /// Stops accepting connections: further ones wait in the system's queue.
    package func pause() async {
      for listener in [self.plain, self.secure] {
        // An error means that the listener is closed already.
        try? await listener?.setOption(.autoRead, value: false).get()
      }
    }

    /// Closes the ports; connections stay open.
    package func close() async {
      for listener in [self.plain, self.secure] {
        // An error means that the listener is closed already.
        try? await listener?.close()
      }
    }
  }

  /// Opens a port for plain TCP, one for TLS, or both; none stays open when one of them cannot be opened.
  ///
  /// - Parameters:
  ///   - port: 0 for any free one; nil for none.
  ///   - alternatives: Ports in place of `port` where that is in use.
  ///   - tls: Port and context of TLS; nil for none.
  ///   - configure: Adds the protocol's handler to a connection, behind TLS.
  /// - Throws: `VidiconError`: `.portInUse`, `.notPermitted` or `.notFound` (the address) when a port cannot be bound,
  ///   `.invalidSpecification` for a malformed address.
  package func listen(
    on port: Int?, alternatives: [Int] = [], tls: (port: Int, context: NIOSSLContext)?,
    configure: @escaping @Sendable (any Channel, ConnectionRegistry.Registration, _ isEncrypted: Bool) throws -> Void
  ) async throws(VidiconError) -> Listeners {
    var listeners = Listeners()
    if let port {
      listeners.plain = try await PortChoice(port, alternatives: alternatives).open { port throws(VidiconError) in
        try await self.listen(on: port, context: nil) { try configure($0, $1, false) }
      }
    }
    guard let tls else { return listeners }
    do throws(VidiconError) {
      listeners.secure = try await self.listen(on: tls.port, context: tls.context) { try configure($0, $1, true) }
    } catch {
      await listeners.close()
      throw error
    }
    return listeners
  }

  /// Opens a port for plain TCP, or for TLS with a context; takes an inherited socket, if there is one, in its place.
  package func listen(
    on port: Int, context: NIOSSLContext? = nil,
    configure: @escaping @Sendable (any Channel, ConnectionRegistry.Registration) throws -> Void
  ) async throws(VidiconError) -> any Channel {
    guard let socketAddress = try? SocketAddress(ipAddress: Self.boundAddress(self.address), port: port) else {
      throw VidiconError(
        .invalidSpecification, subject: "address", cause: "not an IPv4 or IPv6 address",
        nextStep: "give one of this machine's, such as 127.0.0.1, or none to listen on all")
    }
    let registry = self.registry
    let role = context == nil ? self.roles.plain : self.roles.secure
    do {
      let bootstrap = ServerBootstrap(group: self.group)
        .serverChannelOption(.backlog, value: Self.backlog)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandlers([
              AcceptLimitHandler(registry: registry), AcceptFailureHandler(registry: registry),
            ])
          }
        }
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(.writeBufferWaterMark, value: self.waterMark)
        .childChannelOption(
          .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 16_384)
        )
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let registration = registry.register(from: IPAddress.network(of: channel.remoteAddress)) {
              channel.close(promise: nil)
            }
            guard let registration else { throw ChannelError.eof }
            channel.closeFuture.whenComplete { _ in registration.remove() }
            if let context {
              try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
              try channel.pipeline.syncOperations.addHandler(TLSFailureCounter(refusals: registry.refusals))
            }
            try configure(channel, registration)
          }
        }
      if let descriptor = role.flatMap({ self.sockets.take($0) }) {
        let channel = try await bootstrap.withBoundSocket(descriptor).get()
        await ListeningSockets.setBacklog(Int(Self.backlog), of: channel)
        return channel
      }
      let channel = try await bootstrap.bind(to: socketAddress).get()
      if let role { await self.sockets.opened(role, channel) }
      return channel
    } catch {
      throw VidiconError(
        binding: error, address: self.address, port: port, options: self.options,
        unprivilegedPort: self.unprivilegedPort)
    }
  }
}
