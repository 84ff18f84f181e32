internal import CInference
internal import Media

/// Checked access to the operands and results of an operator.
struct OperatorCheck {
  let step: TFLiteOperator
  let index: Int
  let model: TFLiteModel

  typealias ImageShapes = (input: Graph.ImageShape, output: Graph.ImageShape)

  init(_ step: TFLiteOperator, index: Int, model: TFLiteModel) {
    self.step = step
    self.index = index
    self.model = model
  }

  func error(_ code: ParsingError.Code = .invalid, _ what: String) -> ParsingError {
    ParsingError(code, field: "operators[\(self.index)] \(self.step.kind.name) \(what)")
  }

  func error(_ what: String) -> ParsingError { self.error(.invalid, what) }

  /// Index of the tensor of a required operand.
  func input(_ index: Int) throws(ParsingError) -> Int {
    guard self.step.inputs.indices.contains(index), let tensor = self.step.inputs[index],
      self.model.tensors.indices.contains(tensor)
    else { throw self.error("inputs") }
    // The size of a computed tensor was checked with its operator; that of a model input or constant is checked here.
    guard self.model.tensors[tensor].elementCount != nil else { throw self.error(.tooLarge, "shape") }
    return tensor
  }

  /// The tensor of the operator's single result.
  func output() throws(ParsingError) -> (tensor: Int, shape: [Int], count: Int) {
    guard self.step.outputs.count == 1, let tensor = self.step.outputs.first,
      self.model.tensors.indices.contains(tensor), self.model.tensors[tensor].constant == nil
    else { throw self.error("outputs") }
    guard let count = self.model.tensors[tensor].elementCount else { throw self.error(.tooLarge, "shape") }
    return (tensor, self.model.tensors[tensor].shape, count)
  }

  /// The constant floats of an operand.
  func floats(_ index: Int) throws(ParsingError) -> (shape: [Int], values: [Float]) {
    let tensor = self.model.tensors[try self.input(index)]
    guard case .floats(let values) = tensor.constant, values.count == tensor.elementCount else {
      throw self.error(.unsupported, "input \(index) that is no constant")
    }
    return (tensor.shape, values)
  }

  /// The constant integers of an operand.
  func integers(_ index: Int) throws(ParsingError) -> (shape: [Int], values: [Int32]) {
    let tensor = self.model.tensors[try self.input(index)]
    guard case .integers(let values) = tensor.constant, values.count == tensor.elementCount else {
      throw self.error(.unsupported, "input \(index) that is no constant")
    }
    return (tensor.shape, values)
  }

  /// Shapes of the first operand and the result, which must be single images.
  func imageShapes() throws(ParsingError) -> ImageShapes {
    (
      try self.imageShape(self.model.tensors[try self.input(0)].shape), try self.imageShape(try self.output().shape)
    )
  }

  private func imageShape(_ shape: [Int]) throws(ParsingError) -> Graph.ImageShape {
    guard shape.count == 4 else { throw self.error(.unsupported, "with \(shape.count) dimensions") }
    guard shape[0] == 1 else { throw self.error(.unsupported, "of \(shape[0]) images") }
    return Graph.ImageShape(height: shape[1], width: shape[2], channels: shape[3])
  }

  /// Shapes of operands and result, which must be equal; all dimensions but the last are combined to one row of pixels.
  func equalShapes(_ inputCount: Int) throws(ParsingError) -> ImageShapes {
    let shape = try self.output().shape
    guard self.step.inputs.count >= inputCount, inputCount <= 2 else { throw self.error("inputs") }
    for index in 0..<inputCount {
      guard self.model.tensors[try self.input(index)].shape == shape else {
        throw self.error(.unsupported, "of different shapes")
      }
    }
    let channels = shape.last ?? 1
    let rows = Graph.ImageShape(height: 1, width: shape.reduce(1, *) / channels, channels: channels)
    return (rows, rows)
  }

  func flat(_ input: Int, _ output: Int) -> ImageShapes {
    (
      Graph.ImageShape(height: 1, width: 1, channels: input), Graph.ImageShape(height: 1, width: 1, channels: output)
    )
  }

  /// Computes the position of the windows of a convolution or pooling.
  ///
  /// - Parameters:
  ///   - input: Shape of the operand, including explicit padding.
  ///   - padding: Explicit padding that is folded into the windows; nil for none.
  func place(
    _ window: TFLiteOperator.Window, height: Int, width: Int, over input: Graph.ImageShape,
    giving output: Graph.ImageShape, padding: GraphBuilder.Padding?
  ) throws(ParsingError) -> Graph.Window {
    guard (1...Int(vidicon_maximum_kernel_rows)).contains(height), (1...4096).contains(width) else {
      throw self.error(.unsupported, "window of \(width) × \(height)")
    }
    guard (1...4096).contains(window.strideY), (1...4096).contains(window.strideX) else { throw self.error("stride") }
    let rows = Self.positions(input.height, height, window.strideY, window.padding)
    let columns = Self.positions(input.width, width, window.strideX, window.padding)
    guard rows.count == output.height, columns.count == output.width else { throw self.error("shape") }
    return Graph.Window(
      height: height, width: width, strideY: window.strideY, strideX: window.strideX, top: padding?.top ?? rows.before,
      left: padding?.left ?? columns.before)
  }

  /// Number of windows along a side, and number of padding elements before the first element.
  private static func positions(
    _ size: Int, _ window: Int, _ stride: Int, _ padding: TFLiteOperator.Window.Padding
  ) -> (count: Int, before: Int) {
    switch padding {
    case .valid: return (size < window ? 0 : (size - window) / stride + 1, 0)
    case .same:
      let count = (size + stride - 1) / stride
      return (count, max(0, (count - 1) * stride + window - size) / 2)
    }
  }
}
