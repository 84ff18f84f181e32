import Libc
import Serving
import Vidicon

/// Store of the service manager for the next run of the program: its listening sockets, so that clients wait and are not refused, and the
/// segments with which players of HLS go on.
struct ServiceStore {
  /// The sockets for the servers of this run.
  let sockets: ListeningSockets
  /// Segments that the last run has left for players of HLS; nil without any.
  let segments: [UInt8]?
  /// Lines for the owner about sockets.
  let lines: [String]
  private let manager: ServiceManager?

  /// Assigns descriptors; those that are not used are closed, and kept no longer.
  init(_ descriptors: ListenDescriptors, of manager: ServiceManager?, settings: CameraServerSettings, address: String?)
  {
    let choices = settings.portChoices
    var (passed, segments, lines) = ([PassedSocket](), [UInt8]?.none, [String]())
    for descriptor in descriptors.all {
      let kept = KeptDescriptor(name: descriptor.name)
      if kept != .segments, let socket = PassedSocket(descriptor) {
        passed.append(socket)
        continue
      }
      if kept == .segments { segments = MemoryFile.read(descriptor.number) }
      if kept == nil {
        lines.append("\"\(descriptor.name)\" of the service manager is no socket of TCP or UDP; it is not used")
      }
      Self.drop(descriptor.number, descriptor.name, manager)
    }
    let assignment = SocketAssignment(passed, choices: choices, address: address)
    for socket in assignment.unused { Self.drop(socket.descriptor, socket.name, manager) }
    // A name may have had two descriptors, of which one is used.
    for socket in assignment.sockets.values where assignment.unused.contains(where: { $0.name == socket.name }) {
      if KeptDescriptor(name: socket.name) != nil { manager?.keep(socket.descriptor, as: socket.name) }
    }
    let keeper = manager.flatMap { $0.keepsDescriptors ? $0 : nil }
    var keep: (@Sendable (ListeningSockets.Role, Int32) -> Void)?
    if let keeper {
      keep = { role, descriptor in
        guard let port = choices[role]?.port else { return }
        keeper.keep(descriptor, as: KeptDescriptor.socket(role, wantedPort: port).name)
      }
    }
    self.sockets = ListeningSockets(assignment.sockets.mapValues(\.descriptor), keep: keep)
    self.segments = segments
    self.lines = lines + assignment.lines
    self.manager = keeper
  }

  /// Whether the next run gets the segments of this one.
  var keepsSegments: Bool { self.manager != nil }

  /// Leaves segments for the next run; without effect where the system has no memory for them.
  func keep(segments: [UInt8]) {
    guard let manager, let file = MemoryFile.make(segments) else { return }
    manager.keep(file, as: KeptDescriptor.segments.name)
    close(file)
  }

  private static func drop(_ descriptor: Int32, _ name: String, _ manager: ServiceManager?) {
    close(descriptor)
    if KeptDescriptor(name: name) != nil { manager?.send(.forget(name: name)) }
  }
}
