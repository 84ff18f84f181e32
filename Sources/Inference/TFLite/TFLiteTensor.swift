/// A tensor of a model: a value that is computed, or a constant.
public struct TFLiteTensor: Hashable, Sendable {
  /// The name that the model's author has given it.
  public var name: String
  /// The number of elements in each dimension, the last of which lie side by side; each is at least 1.
  public var shape: [Int]
  /// The value of a constant; nil for a tensor that is computed.
  public var constant: Constant?

  /// The value of a constant, as many elements as the shape says.
  public enum Constant: Hashable, Sendable {
    /// Weights, whatever they were stored as.
    case floats([Float])
    /// Sizes and shapes.
    case integers([Int32])
  }

  /// A tensor.
  public init(name: String = "", shape: [Int], constant: Constant? = nil) {
    self.name = name
    self.shape = shape
    self.constant = constant
  }

  /// The number of elements; nil if it is more than the engine allows.
  var elementCount: Int? {
    var count = 1
    for size in self.shape {
      guard size > 0, size <= TFLiteModel.maximumElementCount else { return nil }
      // No overflow: two numbers of at most 24 bits.
      count *= size
      guard count <= TFLiteModel.maximumElementCount else { return nil }
    }
    return count
  }
}
