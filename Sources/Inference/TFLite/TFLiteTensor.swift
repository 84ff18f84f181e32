/// A tensor of a model: a constant, or an input or result of operators.
package struct TFLiteTensor: Hashable, Sendable {
  /// Name of the tensor in the model, for messages.
  package var name: String
  /// Number of elements in each dimension, at least 1 each, in row-major order.
  package var shape: [Int]
  /// The elements of a constant; nil for other tensors.
  package var constant: Constant?

  /// The elements of a constant, in the number given by the shape.
  package enum Constant: Hashable, Sendable {
    /// Weights, converted from their stored form.
    case floats([Float])
    /// Operands such as paddings and shapes.
    case integers([Int32])
  }

  /// Creates a tensor; by default not a constant.
  package init(name: String = "", shape: [Int], constant: Constant? = nil) {
    self.name = name
    self.shape = shape
    self.constant = constant
  }

  /// Number of elements; nil when a dimension is not positive or the product exceeds the maximum.
  var elementCount: Int? {
    var count = 1
    for size in self.shape {
      guard size > 0, size <= TFLiteModel.maximumElementCount else { return nil }
      // No overflow: both factors have at most 24 bits.
      count *= size
      guard count <= TFLiteModel.maximumElementCount else { return nil }
    }
    return count
  }
}
