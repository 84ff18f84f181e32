/// Facts about the ports of a configuration: whether each can be opened, and by which program it is held.
struct PortFacts: Sendable {
  /// Transport of a port.
  enum Transport: String, Sendable {
    case tcp, udp
  }

  /// Result of an attempt to open a port.
  enum State: Equatable, Sendable {
    case free
    /// Served by this program.
    case served
    /// Another program has it.
    ///
    /// - Parameter holder: Nil where only root sees which.
    case inUse(by: PortHolder?)
    /// Below 1024, for a user without the right to it.
    case notPermitted
    /// The address to listen on is none of this machine.
    case noAddress
    /// Any other error of the system.
    case failed(String)
  }

  /// A port of the configuration.
  struct Port: Equatable, Sendable {
    /// Protocol that is served on it, such as `RTSP`.
    var service: String
    /// The option that chooses it, such as `--rtsp-port`.
    var option: String
    /// Number of the port; 0 for any free one.
    var number: Int
    /// Whether the number was given: another one does not replace it.
    var isGiven: Bool
    var transport = Transport.tcp
    var state = State.free
  }

  /// The address to listen on; nil for all.
  var bind: String?
  var ports: [Port]

  /// One finding for each port.
  var findings: [CheckFinding] { self.ports.map(self.finding) }

  private func finding(_ port: Port) -> CheckFinding {
    let subject =
      "\(port.service) port \(port.number)" + (port.transport == .udp ? " (UDP)" : "")
    if port.number == 0 { return .ok("\(port.service) port", "any free one, which is printed at the start") }
    switch port.state {
    case .free: return .ok(subject, "free")
    case .served: return .ok(subject, "this program serves on it")
    case .inUse(let holder?) where holder.isVidicon:
      let second = port.isGiven ? "does not start with it" : "takes another port"
      return .ok(subject, "vidicon (process \(holder.process)) serves on it; a second one \(second)")
    case .inUse(let holder):
      let cause = "in use by \(holder.map { "\($0)" } ?? "a program of another user")"
      let remedy = self.remedy(for: port, holder: holder)
      return port.isGiven
        ? .fault(subject, "\(cause), so that serve ends at the start", remedy)
        : .warning(subject, "\(cause); serve takes another port, which differs from what viewers know", remedy)
    case .notPermitted:
      return .fault(
        subject, "this user may not open ports below 1024",
        .advice("choose a port from 1024 on with \(port.option); for the service, docs/operate.md has the lines"))
    case .noAddress:
      return .fault(
        subject, "\(self.bind ?? "the address") is not an address of this machine",
        .advice("leave --bind out to listen on all addresses"))
    case .failed(let message):
      return .fault(subject, "it cannot be opened (\(message))", .advice("check --bind and \(port.option)"))
    }
  }

  private func remedy(for port: Port, holder: PortHolder?) -> CheckFinding.Remedy {
    guard holder != nil else {
      return .command("sudo ss -lnp\(port.transport == .udp ? "u" : "t") 'sport = :\(port.number)'")
    }
    return .advice("end that program, or choose another port with \(port.option)")
  }
}

/// A process that has a port.
struct PortHolder: Equatable, Sendable, CustomStringConvertible {
  /// Process ID.
  var process: Int32
  /// Name of the program, at most 15 bytes.
  var name: String

  /// Name of this program.
  static let ownName = "vidicon"

  /// Whether it is this program.
  var isVidicon: Bool { self.name == Self.ownName }

  /// Name and process ID for messages.
  var description: String { "\(self.name) (process \(self.process))" }
}
