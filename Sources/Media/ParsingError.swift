/// Input bytes or text that do not follow their specification, thrown by every parser of the pure targets.
///
/// The caller decides the scope of the damage: a packet is dropped and counted, a connection is closed, a file is refused.
public struct ParsingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Kind of violation of the input's specification.
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

  /// Kind of violation of the input's specification.
  public var code: Code
  /// Name of the field in the specification, such as "csrc count" or "seq_parameter_set_id".
  public var field: String
  /// Position of the field in bytes (UTF-8 for text) from the start of the parsed input; nil where it is not known.
  ///
  /// For H.264 NAL units, emulation prevention bytes are not counted.
  public var offset: Int?

  /// Creates an error at a field.
  public init(_ code: Code, field: String, offset: Int? = nil) {
    self.code = code
    self.field = field
    self.offset = offset
  }

  /// One line for logs, such as "seq_parameter_set_id at byte 4: the data ends too early".
  public var description: String {
    let cause =
      switch self.code {
      case .truncated: "the data ends too early"
      case .invalid: "the value is not allowed"
      case .unsupported: "the value is not supported"
      case .tooLarge: "it is larger than the limit"
      case .missing: "it is missing"
      }
    let place = self.offset.map { " at byte \($0)" } ?? ""
    return "\(self.field)\(place): \(cause)"
  }
}
