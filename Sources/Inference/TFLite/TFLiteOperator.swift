/// An operator of a model with its operands and results.
package struct TFLiteOperator: Hashable, Sendable {
  /// Operation with its options, such as strides and the activation function.
  package var kind: Kind
  /// Indices of the tensors that the operator reads; nil for an absent optional operand.
  package var inputs: [Int?]
  /// Indices of the tensors that the operator computes.
  package var outputs: [Int]

  /// Creates an operator; indices refer to ``TFLiteModel/tensors``.
  package init(_ kind: Kind, inputs: [Int?], outputs: [Int]) {
    self.kind = kind
    self.inputs = inputs
    self.outputs = outputs
  }

  /// Operation with its options. Each case lists the operands in their order.
  package enum Kind: Hashable, Sendable {
    /// `CONV_2D`: image, weights (outputs, rows, columns, inputs), and one bias for each output, which may be absent.
    case convolution(Window, TFLiteActivation)
    /// `DEPTHWISE_CONV_2D`: image, weights (1, rows, columns, channels), bias.
    case depthwiseConvolution(Window, TFLiteActivation)
    /// `MAX_POOL_2D`: image. Height and width are those of the window, in pixels.
    case maxPool(Window, height: Int, width: Int, TFLiteActivation)
    /// `ADD`: two tensors of the same shape.
    case add(TFLiteActivation)
    /// `RELU`, `RELU6`: a tensor.
    case activation(TFLiteActivation)
    /// `PRELU`: a tensor, and a slope for each of its channels.
    case prelu
    /// `LOGISTIC`: a tensor; the result is 1 / (1 + exp(-x)) of each element.
    case logistic
    /// `PAD`: a tensor, and the numbers of zeros before and after each dimension.
    case pad
    /// `RESHAPE`: a tensor; the new shape is that of the output.
    case reshape
    /// `CONCATENATION`: tensors, joined along the dimension `axis`; a negative axis counts from the last dimension.
    case concatenation(axis: Int, TFLiteActivation)
    /// `RESIZE_BILINEAR`: image; the new size is that of the output.
    case resizeBilinear(alignsCorners: Bool, hasHalfPixelCenters: Bool)
    /// `DEPTH_TO_SPACE`: image; the channels of each pixel become a square of `blockSize` × `blockSize` pixels.
    case depthToSpace(blockSize: Int)

    /// Name of the operator in TensorFlow Lite's schema, such as `CONV_2D`.
    package var name: String {
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

  /// Movement of the window of a convolution or pooling over an image.
  package struct Window: Hashable, Sendable {
    /// Padding of the image, `Padding` in the schema.
    package enum Padding: Hashable, Sendable {
      /// `SAME`: zeros on all sides, so that the result has the size of the image divided by the stride, rounded up.
      case same
      /// `VALID`: none; the window stays within the image.
      case valid
    }

    /// Padding of the image, which determines the size of the result.
    package var padding: Padding
    /// Distance between two windows in rows, at least 1.
    package var strideY: Int
    /// Distance between two windows in columns, at least 1.
    package var strideX: Int

    /// Creates a movement, by default by one pixel.
    package init(_ padding: Padding, strideY: Int = 1, strideX: Int = 1) {
      self.padding = padding
      self.strideY = strideY
      self.strideX = strideX
    }
  }
}

/// Activation function that is applied to each element of an operator's result, `ActivationFunctionType`.
package enum TFLiteActivation: Hashable, Sendable {
  /// The identity: values stay as they are.
  case none
  /// `RELU`: negative values become 0.
  case relu
  /// `RELU6`: negative values become 0, values above 6 become 6.
  case relu6
}
