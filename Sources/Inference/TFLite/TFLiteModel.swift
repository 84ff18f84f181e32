/// A neural network as TensorFlow Lite stores it (`.tflite`, schema version 3), read into values.
///
/// What is read is one graph with the operators of ``TFLiteOperator/Kind``, over 32-bit floats. Weights may be stored with
/// 16 bits (behind `DEQUANTIZE`) or sparsely (behind `DENSIFY`); both are turned into floats here.
///
/// ```swift
/// let model = try TFLiteModel(parsing: bytes)
/// let plan = try InferencePlan(model)
/// ```
public struct TFLiteModel: Sendable {
  /// Maximum numbers of tensors, operators, dimensions of a tensor, and inputs of an operator.
  static let maximumTensorCount = 8192
  static let maximumOperatorCount = 2048
  static let maximumRank = 6
  static let maximumOperandCount = 64
  /// Maximum number of elements of a tensor, and of all constants together: 64 MB of floats.
  static let maximumElementCount = 1 << 24

  /// The tensors; operators refer to them by index.
  public var tensors: [TFLiteTensor]
  /// The operators in the order in which they can be performed.
  public var operators: [TFLiteOperator]
  /// The indices of the tensors that the caller fills.
  public var inputs: [Int]
  /// The indices of the tensors that the caller gets.
  public var outputs: [Int]

  /// A model of one's own making.
  public init(tensors: [TFLiteTensor], operators: [TFLiteOperator], inputs: [Int], outputs: [Int]) {
    self.tensors = tensors
    self.operators = operators
    self.inputs = inputs
    self.outputs = outputs
  }
}
