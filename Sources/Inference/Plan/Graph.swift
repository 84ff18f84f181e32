/// Intermediate representation of a model: checked operators with known shapes, without reshapes, and with consecutive
/// operators fused.
struct Graph {
  /// Number of elements of each value. Tensors that are reshapes of one another are the same value.
  var valueSizes: [Int] = []
  /// The operations in the order of their execution.
  var nodes: [Node] = []
  /// Inputs and outputs of the model, in its order, with the shapes of their tensors.
  var inputs: [Port] = []
  var outputs: [Port] = []

  /// An input or output of the model.
  struct Port {
    var value: Int
    var name: String
    var shape: [Int]
  }

  /// Height, width and number of channels of an image.
  struct ImageShape: Hashable {
    var height: Int
    var width: Int
    var channels: Int

    var count: Int { self.height * self.width * self.channels }
  }

  /// An operation that computes one value from one or two others.
  struct Node {
    var operation: Operation
    /// Index of the first operand in ``Graph/valueSizes``.
    var input: Int
    /// Index of a value that is added before the activation; nil for none.
    var second: Int?
    /// Number of channels of `second`, at most that of the output.
    var secondChannels = 0
    var output: Int
    var inputShape: ImageShape
    var outputShape: ImageShape
    var activation = Activation.none

    var values: [Int] { [self.input, self.output] + (self.second.map { [$0] } ?? []) }
  }

  enum Operation {
    /// `CONV_2D` with constant weights (outputs, rows, columns, inputs).
    case convolution(Window, weights: [Float], bias: [Float])
    case depthwiseConvolution(Window, weights: [Float], bias: [Float])
    case maxPool(Window)
    case add
    case activate
    case logistic
    case resizeBilinear(alignsCorners: Bool, hasHalfPixelCenters: Bool)
    case depthToSpace(blockSize: Int)
    /// Copies the input to a part of the output.
    case copy(Copy)
    /// Fills the output with zeros.
    case clear
  }

  struct Window: Hashable {
    var height: Int
    var width: Int
    var strideY: Int
    var strideX: Int
    /// Rows of zero padding above the first row, and columns left of the first column.
    var top: Int
    var left: Int
  }

  /// Strided copy of runs of floats, in groups; offsets, lengths and strides are in floats.
  struct Copy {
    var outputOffset: Int
    var groupCount = 1
    var inputGroupStride = 0
    var outputGroupStride = 0
    var runCount: Int
    var runLength: Int
    var inputRunStride: Int
    var outputRunStride: Int
  }

  enum Activation: Equatable {
    case none
    case relu
    case relu6
    /// One slope for each channel.
    case prelu([Float])

    init(_ activation: TFLiteActivation) {
      switch activation {
      case .none: self = .none
      case .relu: self = .relu
      case .relu6: self = .relu6
      }
    }
  }
}
