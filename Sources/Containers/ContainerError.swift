/// Why bytes are not the container's structure that they should be.
public struct ContainerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// The bytes end before the structure does.
    case truncated
    /// A field has a value that the specification forbids.
    case invalidValue
    /// A field has a valid value that this implementation does not handle.
    case unsupported
    /// Something is longer, deeper or more numerous than this implementation allows.
    case tooLong
    /// A structure that is needed is not there.
    case missing
  }

  /// What kind of failure it is.
  public var code: Code
  /// The field or box, named as in the specification.
  public var field: String
  /// The byte in which it starts, counted from the start of what was parsed; 0 where there is no such place.
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
