/// Input bytes or text that do not follow their specification: thrown by every parser of the pure targets.
///
/// The scope of the damage is up to the caller: a packet is dropped and counted, a connection is closed, a file is refused.
public struct ParsingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How the input is wrong.
  public enum Code: String, Hashable, Sendable, CaseIterable {
    /// The input ends before the field is complete.
    case truncated
    /// The field has a value that the specification forbids, or that is out of the supported range.
    case invalid
    /// The field is valid, but names a version, profile, type or option that is not supported.
    case unsupported
    /// The input, or one of its parts, is longer than the limit.
    case tooLarge
    /// A mandatory field is absent.
    case missing
  }

  /// How the input is wrong.
  public var code: Code
  /// The field, by its name in the specification, such as "csrc count" or "sps_id".
  public var field: String
  /// Position of the field: bytes from the start of the parsed input, characters for text; nil where it is not known.
  public var offset: Int?

  /// An error at a field.
  public init(_ code: Code, field: String, offset: Int? = nil) {
    self.code = code
    self.field = field
    self.offset = offset
  }

  /// One line for logs, such as "csrc count: truncated at 12".
  public var description: String {
    "\(self.field): \(self.code.rawValue)\(self.offset.map { " at \($0)" } ?? "")"
  }
}
