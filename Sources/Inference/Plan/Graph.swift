/// A model as it is performed: its operators checked, shapes inferred, reshapes gone, and operators fused that follow one
/// another.
struct Graph {
  /// The number of elements of each value. A value is what is computed: tensors that are reshapes of one another are one.
  var valueSizes: [Int] = []
  /// What computes them, in order.
  var nodes: [Node] = []
  /// The values that the caller fills and gets, in the model's order, each with its tensor's shape.
  var inputs: [Port] = []
  var outputs: [Port] = []

  /// A value that the caller sees.
  struct Port {
    var value: Int
    var name: String
    var shape: [Int]
  }

  /// Height, width and channels of a image.
  struct ImageShape: Hashable {
    var height: Int
    var width: Int
    var channels: Int

    var count: Int { self.height * self.width * self.channels }
  }

  /// What computes a value.
  struct Node {
    var operation: Operation
    /// The value that is read.
    var input: Int
    /// A value that is added before the activation.
    var second: Int?
    /// The channels of `second`, where they are fewer than the output's.
    var secondChannels = 0
    var output: Int
    var inputShape: ImageShape
    var outputShape: ImageShape
    var activation = Activation.none

    var values: [Int] { [self.input, self.output] + (self.second.map { [$0] } ?? []) }
  }

  enum Operation {
    /// With constants of the model.
    case convolution(Window, weights: [Float], bias: [Float])
    case depthwiseConvolution(Window, weights: [Float], bias: [Float])
    case maxPool(Window)
    case add
    case activate
    case logistic
    case resizeBilinear(alignsCorners: Bool, hasHalfPixelCenters: Bool)
    case depthToSpace(blockSize: Int)
    /// Writes a part of the output.
    case copy(Copy)
    /// Writes zeros.
    case clear
  }

  struct Window: Hashable {
    var height: Int
    var width: Int
    var strideY: Int
    var strideX: Int
    /// How far the first window begins before the first pixel.
    var top: Int
    var left: Int
  }

  /// Runs of floats from one place to another.
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
    /// A slope for each channel.
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
