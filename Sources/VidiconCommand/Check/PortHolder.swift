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
