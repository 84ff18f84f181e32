/// A neural network in the format of TensorFlow Lite (`.tflite`, schema version 3), as values.
///
/// Supports one graph with the operators of ``TFLiteOperator/Kind`` over 32-bit floats. Weights stored as 16-bit floats
/// (before a `DEQUANTIZE`) or sparsely (before a `DENSIFY`) are converted to dense 32-bit floats.
///
/// ```swift
/// let model = try TFLiteModel(parsing: bytes)
/// let plan = try InferencePlan(model)
/// ```
package struct TFLiteModel: Sendable {
  /// Maximum numbers of tensors, operators, dimensions of a tensor, and inputs of an operator.
  static let maximumTensorCount = 8192
  static let maximumOperatorCount = 2048
  static let maximumRank = 6
  static let maximumOperandCount = 64
  /// Maximum number of elements of a tensor, and of all constants together: 64 MB of floats.
  static let maximumElementCount = 1 << 24

  /// The tensors; operators refer to them by index.
  package var tensors: [TFLiteTensor]
  /// The operators in the order of their execution.
  package var operators: [TFLiteOperator]
  /// Indices of the tensors that are inputs of the model.
  package var inputs: [Int]
  /// Indices of the tensors that are outputs of the model.
  package var outputs: [Int]

  /// Creates a model from its parts, which ``InferencePlan`` checks.
  package init(tensors: [TFLiteTensor], operators: [TFLiteOperator], inputs: [Int], outputs: [Int]) {
    self.tensors = tensors
    self.operators = operators
    self.inputs = inputs
    self.outputs = outputs
  }
}
