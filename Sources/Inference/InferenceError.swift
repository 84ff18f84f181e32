/// Why bytes are not a model, or a model is not one that this engine runs.
public struct InferenceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// The bytes end before the structure does.
    case truncated
    /// A field has a value that the format forbids, or that contradicts another field.
    case invalidValue
    /// The model uses an operator, an option or a type that this engine does not have.
    case unsupported
    /// Something is larger or more numerous than this engine allows.
    case tooLarge
  }

  /// What kind of failure it is.
  public var code: Code
  /// The field, operator or option, named as in TensorFlow Lite's schema.
  public var field: String
  /// Where it is: a byte of the file, or the number of an operator, counted from 0; nil where there is no such place.
  public var place: Place?

  /// Where something is in a model.
  public enum Place: Hashable, Sendable {
    /// A byte, counted from the start of the file.
    case byte(Int)
    /// An operator, counted from the first.
    case `operator`(Int)
  }

  /// An error.
  public init(_ code: Code, field: String, at place: Place? = nil) {
    self.code = code
    self.field = field
    self.place = place
  }

  /// One line with field, place and cause.
  public var description: String {
    let cause =
      switch self.code {
      case .truncated: "the model ends too early"
      case .invalidValue: "the value is not allowed"
      case .unsupported: "it is not supported"
      case .tooLarge: "it is too large"
      }
    return switch self.place {
    case .byte(let byte): "\(self.field) at byte \(byte): \(cause)"
    case .operator(let index): "\(self.field) in operator \(index): \(cause)"
    case nil: "\(self.field): \(cause)"
    }
  }
}
