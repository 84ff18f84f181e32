import Authentication
import Serving

/// Assignment of sockets that a service manager passes to the servers of the program.
///
/// A socket that an earlier run has opened is taken where the configuration still asks for what it was opened for: the configuration
/// decides. Of a socket unit the socket decides: it is found by its name, one of ``ListeningSockets/Role``, or by the port.
struct SocketAssignment: Equatable {
  /// The sockets that servers take.
  private(set) var sockets: [ListeningSockets.Role: PassedSocket] = [:]
  /// Sockets that none takes, to be closed.
  private(set) var unused: [PassedSocket] = []
  /// Lines for the owner.
  private(set) var lines: [String] = []
  /// Whether the sockets that servers take are open to this machine alone.
  var isLocal: Bool { self.sockets.values.allSatisfy { $0.address.isLoopback } }

  /// - Parameters:
  ///   - passed: The sockets.
  ///   - choices: Ports of the configuration, by the servers that are on.
  ///   - addresses: Addresses that serve as the one of the configuration.
  ///   - isFree: Whether a server could open a port.
  init(
    _ passed: [PassedSocket], choices: [ListeningSockets.Role: PortChoice], addresses: [IPAddress],
    isFree: (ListeningSockets.Role, Int) -> Bool
  ) {
    for socket in passed {
      let isAssigned =
        if let kept = KeptDescriptor(name: socket.name) {
          self.assign(socket, kept: kept, choices: choices, addresses: addresses, isFree: isFree)
        } else {
          self.assign(socket, choices: choices, addresses: addresses)
        }
      if !isAssigned { self.unused.append(socket) }
    }
    // Clients of WebRTC get one number for both.
    if let stream = self.sockets[.webRTCOverTCP], stream.port != self.sockets[.webRTC]?.port {
      self.sockets[.webRTCOverTCP] = nil
      self.unused.append(stream)
      if KeptDescriptor(name: stream.name) == nil {
        self.lines.append("\(Self.text(stream)): WebRTC needs a socket of UDP with the same port; it is not used")
      }
    }
  }

  /// Assigns a socket of an earlier run, unless it is one in place of a port that can be opened now.
  private mutating func assign(
    _ socket: PassedSocket, kept: KeptDescriptor, choices: [ListeningSockets.Role: PortChoice],
    addresses: [IPAddress], isFree: (ListeningSockets.Role, Int) -> Bool
  ) -> Bool {
    guard case .socket(let role, let wantedPort) = kept, let choice = choices[role], choice.port == wantedPort,
      choice.contains(socket.port), socket.isDatagram == role.isDatagram, self.sockets[role] == nil,
      addresses.contains(socket.address)
    else { return false }
    let isAlternative = wantedPort != 0 && wantedPort != socket.port
    guard !isAlternative || !isFree(role, wantedPort) else { return false }
    self.sockets[role] = socket
    if isAlternative, role != .webRTCOverTCP {
      self.lines.append("\(role.title) stays on port \(socket.port), as before the restart")
    }
    return true
  }

  /// Assigns a socket of a socket unit. One with the name of a server is for that one alone.
  private mutating func assign(
    _ socket: PassedSocket, choices: [ListeningSockets.Role: PortChoice], addresses: [IPAddress]
  ) -> Bool {
    let roles = ListeningSockets.Role.allCases.filter { role in
      choices[role] != nil && role.isDatagram == socket.isDatagram && self.sockets[role] == nil
    }
    let named = ListeningSockets.Role(rawValue: socket.name)
    let found = roles.first { named == nil ? choices[$0]?.port == socket.port : $0 == named }
    guard let role = found, let choice = choices[role] else {
      let names = ListeningSockets.Role.allCases.map(\.rawValue).joined(separator: ", ")
      self.lines.append(
        "\(Self.text(socket)): no server of the configuration uses it; remove it, or name it with FileDescriptorName="
          + " as one of \(names)")
      return false
    }
    self.sockets[role] = socket
    if choice.port != 0, choice.port != socket.port {
      self.lines.append(
        "\(role.title) is served on port \(socket.port), that of the service manager's socket, and not on \(choice.port)"
      )
    }
    if !addresses.contains(socket.address), let wanted = addresses.first {
      self.lines.append(
        "\(role.title) is served at the address \(socket.address), that of the service manager's socket, and not at "
          + "\(wanted)")
    }
    return true
  }

  private static func text(_ socket: PassedSocket) -> String {
    "the socket \"\(socket.name)\" of the service manager, \(socket.isDatagram ? "UDP" : "TCP") port \(socket.port)"
  }
}

extension PortChoice {
  /// Whether a port is one that may be opened.
  fileprivate func contains(_ port: Int) -> Bool {
    ([self.port] + self.alternatives).contains { $0 == port || $0 == 0 }
  }
}

extension ListeningSockets.Role {
  /// Whether its socket is of UDP.
  fileprivate var isDatagram: Bool { self == .webRTC }

  /// Name of the server in lines for the owner.
  fileprivate var title: String {
    switch self {
    case .webRTC: "WebRTC"
    case .webRTCOverTCP: "WebRTC over TCP"
    default: self.rawValue.uppercased()
    }
  }
}
