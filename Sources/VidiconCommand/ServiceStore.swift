import Authentication
import Libc
import NIOCore
import Serving
import Vidicon

/// Store of the service manager for the next run of the program: its listening sockets, so that clients wait and are not refused, and the
/// segments with which players of HLS go on.
struct ServiceStore {
  /// Maximum time within which a service manager closes a released socket.
  private static let closingLimit = Duration.seconds(5)

  /// The sockets for the servers of this run.
  let sockets: ListeningSockets
  /// Lines for the owner about what the last run has left.
  let lines: [String]
  /// Whether the sockets that servers take are open to this machine alone.
  let areSocketsLocal: Bool
  /// Segments that the last run has left, until they are taken.
  private var segments: ByteBuffer?
  /// Whether the service manager has segments of the last run.
  private let hasSegments: Bool
  private let manager: ServiceManager?
  /// File for the segments of this run; nil where none can be left.
  private let file: Int32?

  /// Assigns descriptors; those of sockets that are not used are closed, and kept no longer.
  ///
  /// - Parameters:
  ///   - address: Address to listen on, in the configuration; nil for all.
  ///   - closingLimit: Maximum time that is waited until the ports of the others can be opened: a message to the service manager has no
  ///     answer.
  init(
    _ descriptors: [ListenDescriptors.Descriptor], of manager: ServiceManager?, settings: CameraServerSettings,
    address: String?, closingLimit: Duration = Self.closingLimit
  ) async {
    let choices = settings.portChoices
    var (passed, segments, lines) = ([PassedSocket](), [ByteBuffer?](), [String]())
    for descriptor in descriptors {
      let kept = KeptDescriptor(name: descriptor.name)
      if kept == .segments {
        segments.append(
          MemoryFile.read(descriptor.number, maximumLength: CameraServer.maximumSuspendedByteCount))
        close(descriptor.number)
      } else if let socket = PassedSocket(descriptor) {
        passed.append(socket)
      } else {
        if kept == nil {
          lines.append("\"\(descriptor.name)\" of the service manager is no port of TCP or UDP; it is not used")
        }
        Self.drop(descriptor.number, descriptor.name, manager)
      }
    }
    if segments.contains(nil) {
      lines.append("the segments that the last run has left cannot be read: players of HLS start again")
    }
    let bound = TCPListener.boundAddress(address)
    // A socket for all addresses of IPv6 has those of IPv4, also where the machine has none of IPv6 at the moment.
    let addresses = [bound] + (address == nil ? ["::"] : [])
    let assignment = SocketAssignment(
      passed, choices: choices, addresses: addresses.compactMap { IPAddress(parsing: $0) },
      isFree: { role, port in
        role.transports.allSatisfy { PortFacts.errorOfOpening(port, $0, address: bound) == 0 }
      })
    for socket in assignment.unused { Self.drop(socket.descriptor, socket.name, manager) }
    self.areSocketsLocal = assignment.isLocal
    let used = assignment.sockets.values
    // A name may have had two descriptors, of which one is used.
    for socket in used where assignment.unused.contains(where: { $0.name == socket.name }) {
      if KeptDescriptor(name: socket.name) != nil { _ = manager?.keep(socket.descriptor, as: socket.name) }
    }
    if manager != nil {
      let released = assignment.unused.filter { socket in
        KeptDescriptor(name: socket.name) != nil
          && !used.contains { $0.port == socket.port && $0.isDatagram == socket.isDatagram }
      }
      await Self.waitUntilFree(released, within: closingLimit)
    }
    let keeper = manager.flatMap { $0.maximumDescriptorCount > 0 ? $0 : nil }
    self.sockets = Self.sockets(assignment.sockets.mapValues(\.descriptor), choices: choices, keeper: keeper)
    // The socket of each port has its place too.
    let hasPlace = keeper.map { $0.maximumDescriptorCount > choices.count } ?? false
    if keeper != nil, !hasPlace {
      lines.append(
        "the service manager keeps too few descriptors: players of HLS start again after a restart;"
          + " FileDescriptorStoreMax= is to be \(choices.count + 1) or more")
    }
    self.file = hasPlace ? MemoryFile.make() : nil
    self.hasSegments = !segments.isEmpty
    self.segments = segments.compactMap { $0 }.first
    self.lines = lines + assignment.lines
    self.manager = manager
  }

  /// Removes and returns the segments that the last run has left; nil without any.
  mutating func takeSegments() -> ByteBuffer? { self.segments.take() }

  /// Lets the service manager forget the segments of the last run. A run that serves nothing leaves them to the next one.
  func forgetSegments() {
    if self.hasSegments { self.manager?.send(.forget(name: KeptDescriptor.segments.name)) }
  }

  /// Whether the next run gets the segments of this one.
  var keepsSegments: Bool { self.file != nil }

  /// Leaves segments for the next run.
  ///
  /// - Returns: false where the system has no memory for them, or the service manager is not there.
  func keep(segments: ByteBuffer) -> Bool {
    guard let manager, let file else { return false }
    return MemoryFile.write(segments, to: file) && manager.keep(file, as: KeptDescriptor.segments.name)
  }

  private static func sockets(
    _ inherited: [ListeningSockets.Role: Int32], choices: [ListeningSockets.Role: PortChoice], keeper: ServiceManager?
  ) -> ListeningSockets {
    guard let keeper else { return ListeningSockets(inherited) }
    let names = choices.reduce(into: [ListeningSockets.Role: String]()) { names, choice in
      names[choice.key] = KeptDescriptor.socket(choice.key, wantedPort: choice.value.port).name
    }
    return ListeningSockets(
      inherited,
      keep: { role, descriptor in
        guard let name = names[role], !keeper.keep(descriptor, as: name) else { return }
        Terminal.warn("the service manager does not get the socket of \(role.rawValue): a restart refuses its clients")
      },
      forget: { role in
        if let name = names[role] { keeper.send(.forget(name: name)) }
      })
  }

  private static func drop(_ descriptor: Int32, _ name: String, _ manager: ServiceManager?) {
    close(descriptor)
    if KeptDescriptor(name: name) != nil { manager?.send(.forget(name: name)) }
  }

  /// Waits until the service manager has closed sockets too.
  private static func waitUntilFree(_ sockets: [PassedSocket], within limit: Duration) async {
    let end = ContinuousClock.now + limit
    for socket in sockets {
      let transport = socket.isDatagram ? PortFacts.Transport.udp : .tcp
      while PortFacts.errorOfOpening(socket.port, transport, address: "\(socket.address)") == EADDRINUSE,
        ContinuousClock.now < end
      {
        // Fails in a cancelled task only.
        try? await Task.sleep(for: .milliseconds(10))
      }
    }
  }
}

extension ListeningSockets.Role {
  /// Transports whose port of the same number its server needs.
  fileprivate var transports: [PortFacts.Transport] {
    self == .webRTC || self == .webRTCOverTCP ? [.udp, .tcp] : [.tcp]
  }
}
