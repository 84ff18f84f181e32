/// An operator of a model: what it does, to which tensors.
public struct TFLiteOperator: Hashable, Sendable {
  /// What the operator does.
  public var kind: Kind
  /// The indices of the tensors that it reads; nil for an optional one that is absent.
  public var inputs: [Int?]
  /// The indices of the tensors that it computes.
  public var outputs: [Int]

  /// An operator.
  public init(_ kind: Kind, inputs: [Int?], outputs: [Int]) {
    self.kind = kind
    self.inputs = inputs
    self.outputs = outputs
  }

  /// What an operator does. The tensors it reads are named in their order.
  public enum Kind: Hashable, Sendable {
    /// `CONV_2D`: image, weights (outputs, rows, columns, inputs), and one bias for each output, which may be absent.
    case convolution(Window, TFLiteActivation)
    /// `DEPTHWISE_CONV_2D`: image, weights (1, rows, columns, channels), bias.
    case depthwiseConvolution(Window, TFLiteActivation)
    /// `MAX_POOL_2D`: image. The size is that of the window.
    case maxPool(Window, height: Int, width: Int, TFLiteActivation)
    /// `ADD`: two tensors of the same shape.
    case add(TFLiteActivation)
    /// `RELU`, `RELU6`: a tensor.
    case activation(TFLiteActivation)
    /// `PRELU`: a tensor, and a slope for each of its channels.
    case prelu
    /// `LOGISTIC`: a tensor, of which 1 / (1 + exp(-x)) is taken.
    case logistic
    /// `PAD`: a tensor, and pairs of counts of zeros before and behind each dimension.
    case pad
    /// `RESHAPE`: a tensor; the new shape is that of the output.
    case reshape
    /// `CONCATENATION`: tensors, one behind the other in a dimension; a negative one counts from the last.
    case concatenation(axis: Int, TFLiteActivation)
    /// `RESIZE_BILINEAR`: image; the new size is that of the output.
    case resizeBilinear(alignsCorners: Bool, hasHalfPixelCenters: Bool)
    /// `DEPTH_TO_SPACE`: image, each pixel of which becomes a square with this side.
    case depthToSpace(blockSize: Int)

    /// The name in TensorFlow Lite's schema.
    public var name: String {
      switch self {
      case .convolution: "CONV_2D"
      case .depthwiseConvolution: "DEPTHWISE_CONV_2D"
      case .maxPool: "MAX_POOL_2D"
      case .add: "ADD"
      case .activation(.relu6): "RELU6"
      case .activation: "RELU"
      case .prelu: "PRELU"
      case .logistic: "LOGISTIC"
      case .pad: "PAD"
      case .reshape: "RESHAPE"
      case .concatenation: "CONCATENATION"
      case .resizeBilinear: "RESIZE_BILINEAR"
      case .depthToSpace: "DEPTH_TO_SPACE"
      }
    }
  }

  /// How a window moves over a image.
  public struct Window: Hashable, Sendable {
    /// What is seen beyond the image's sides.
    public enum Padding: Hashable, Sendable {
      /// Zeros on all sides, so that each stride's pixel is the window's centre.
      case same
      /// Nothing: the window stays within the image.
      case valid
    }

    /// What is seen beyond the image's sides.
    public var padding: Padding
    /// Rows from one window to the next; at least 1.
    public var strideY: Int
    /// Columns from one window to the next; at least 1.
    public var strideX: Int

    /// A window's way.
    public init(_ padding: Padding, strideY: Int = 1, strideX: Int = 1) {
      self.padding = padding
      self.strideY = strideY
      self.strideX = strideX
    }
  }
}

/// What is done to each value last, `ActivationFunctionType`.
public enum TFLiteActivation: Hashable, Sendable {
  /// Nothing.
  case none
  /// Negative values become 0.
  case relu
  /// As before, and values above 6 become 6.
  case relu6
}
