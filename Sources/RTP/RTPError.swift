/// Why bytes are not the packet or description that they should be, or media does not fit into packets.
///
/// An error of a packet concerns that packet only: it is dropped and counted, and the stream goes on.
public struct RTPError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// The bytes end before the structure does.
    case truncated
    /// A field has a value that the specification forbids.
    case invalidValue
    /// A field has a valid value that this implementation does not handle.
    case unsupported
    /// Something is longer than the protocol or this implementation allows.
    case tooLong
    /// A field that is needed is not there.
    case missing
  }

  /// What kind of failure it is.
  public var code: Code
  /// The field, named as in the specification.
  public var field: String
  /// The byte in which the field starts, counted from the start of what was parsed; 0 where there is no such place.
  public var offset: Int

  /// An error.
  public init(_ code: Code, field: String, offset: Int = 0) {
    self.code = code
    self.field = field
    self.offset = offset
  }

  /// One line with field, place and cause.
  public var description: String {
    let cause =
      switch self.code {
      case .truncated: "the data ends too early"
      case .invalidValue: "the value is not allowed"
      case .unsupported: "the value is not supported"
      case .tooLong: "it is too long"
      case .missing: "it is missing"
      }
    return "\(self.field) at byte \(self.offset): \(cause)"
  }
}
