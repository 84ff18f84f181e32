/// Why bytes are not the codec's structure that they should be.
public struct BitstreamError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// The bytes end before the structure does.
    case truncated
    /// A field has a value that the specification forbids.
    case invalidValue
    /// A field has a valid value that this implementation does not handle.
    case unsupported
  }

  /// What kind of failure it is.
  public var code: Code
  /// The field, named as in the specification.
  public var field: String
  /// The byte in which the field starts, counted from the start of the structure; emulation prevention bytes do not
  /// count.
  public var offset: Int

  /// An error.
  public init(_ code: Code, field: String, offset: Int) {
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
      }
    return "\(self.field) at byte \(self.offset): \(cause)"
  }
}
