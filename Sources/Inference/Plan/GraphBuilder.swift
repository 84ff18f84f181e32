internal import Media

/// Builds the graph of a model, and checks each operator against the shapes that the model declares.
struct GraphBuilder {
  let model: TFLiteModel
  var graph = Graph()
  /// Index of the value of each tensor; nil for constants and tensors that are not computed yet.
  var values: [Int?]
  /// Values that are other values with zero padding, by index.
  var paddings: [Int: Padding] = [:]

  /// Zero padding of a value around its source.
  struct Padding {
    var source: Int
    var sourceShape: Graph.ImageShape
    var top: Int
    var left: Int
    var bottom: Int
    var right: Int
    var channelsBefore: Int
    var channelsBehind: Int

    var isSpatial: Bool { self.channelsBefore == 0 && self.channelsBehind == 0 }
    var isOfLastChannels: Bool {
      self.top == 0 && self.left == 0 && self.bottom == 0 && self.right == 0 && self.channelsBefore == 0
    }
  }

  /// Builds the unfused graph of a model.
  ///
  /// - Throws: A ``ParsingError`` that names the operator where the model contradicts itself or is not supported.
  static func build(_ model: TFLiteModel) throws(ParsingError) -> GraphBuilder {
    var builder = GraphBuilder(model: model, values: [Int?](repeating: nil, count: model.tensors.count))
    guard model.tensors.count <= TFLiteModel.maximumTensorCount,
      model.operators.count <= TFLiteModel.maximumOperatorCount
    else { throw ParsingError(.tooLarge, field: "Model") }
    for tensor in model.inputs { try builder.addInput(tensor) }
    for (index, step) in model.operators.enumerated() {
      try builder.add(OperatorCheck(step, index: index, model: model))
    }
    for tensor in model.outputs {
      guard model.tensors.indices.contains(tensor), let value = builder.values[tensor] else {
        throw ParsingError(.invalid, field: "outputs")
      }
      builder.graph.outputs.append(builder.port(tensor, value))
    }
    return builder
  }

  private mutating func addInput(_ tensor: Int) throws(ParsingError) {
    guard self.model.tensors.indices.contains(tensor), self.values[tensor] == nil,
      self.model.tensors[tensor].constant == nil, let count = self.model.tensors[tensor].elementCount
    else { throw ParsingError(.invalid, field: "inputs") }
    self.values[tensor] = self.newValue(count)
    self.graph.inputs.append(self.port(tensor, self.graph.valueSizes.count - 1))
  }

  private func port(_ tensor: Int, _ value: Int) -> Graph.Port {
    Graph.Port(value: value, name: self.model.tensors[tensor].name, shape: self.model.tensors[tensor].shape)
  }

  private mutating func newValue(_ count: Int) -> Int {
    self.graph.valueSizes.append(count)
    return self.graph.valueSizes.count - 1
  }

  private mutating func add(_ check: OperatorCheck) throws(ParsingError) {
    let output = try check.output()
    guard self.values[output.tensor] == nil else { throw check.error("output computed twice") }
    let input = try self.value(check.input(0), check)
    let result: Int
    if case .reshape = check.step.kind {
      guard output.count == self.graph.valueSizes[input] else { throw check.error("shape") }
      result = input
    } else {
      result = self.newValue(output.count)
    }

    switch check.step.kind {
    case .reshape: break
    case .convolution(let window, let activation):
      try self.addConvolution(check, window, activation, isDepthwise: false, input: input, output: result)
    case .depthwiseConvolution(let window, let activation):
      try self.addConvolution(check, window, activation, isDepthwise: true, input: input, output: result)
    case .maxPool(let window, let height, let width, let activation):
      let shapes = try check.imageShapes()
      guard shapes.input.channels == shapes.output.channels else { throw check.error("channels") }
      let placed = try check.place(
        window, height: height, width: width, over: shapes.input, giving: shapes.output, padding: nil)
      self.append(.maxPool(placed), input, result, shapes, Graph.Activation(activation))
    case .add(let activation):
      let second = try self.value(check.input(1), check)
      let shapes = try check.equalShapes(check.step.inputs.count)
      self.append(.add, input, result, shapes, Graph.Activation(activation), second: second)
    case .activation(let activation):
      self.append(.activate, input, result, try check.equalShapes(1), Graph.Activation(activation))
    case .prelu:
      let shapes = try check.equalShapes(1)
      let slopes = try check.floats(1)
      guard slopes.values.count == shapes.output.channels, slopes.shape.last == slopes.values.count else {
        throw check.error("slopes")
      }
      self.append(.activate, input, result, shapes, .prelu(slopes.values))
    case .logistic: self.append(.logistic, input, result, try check.equalShapes(1), .none)
    case .pad: try self.addPadding(check, input: input, output: result)
    case .concatenation(let axis, let activation):
      guard activation == .none else { throw check.error(.unsupported, "fused_activation_function") }
      try self.addConcatenation(check, axis: axis, output: result)
    case .resizeBilinear(let alignsCorners, let hasHalfPixelCenters):
      let shapes = try check.imageShapes()
      guard shapes.input.channels == shapes.output.channels else { throw check.error("channels") }
      let operation = Graph.Operation.resizeBilinear(
        alignsCorners: alignsCorners, hasHalfPixelCenters: hasHalfPixelCenters)
      self.append(operation, input, result, shapes, .none)
    case .depthToSpace(let size):
      let shapes = try check.imageShapes()
      let (from, to) = (shapes.input, shapes.output)
      guard (1...4096).contains(size), to.height == from.height * size, to.width == from.width * size,
        to.channels * size * size == from.channels
      else { throw check.error("block_size") }
      self.append(.depthToSpace(blockSize: size), input, result, shapes, .none)
    }
    self.values[output.tensor] = result
  }

  /// Index of the value of a tensor; throws when the tensor is a constant or not computed yet.
  func value(_ tensor: Int, _ check: OperatorCheck) throws(ParsingError) -> Int {
    guard let value = self.values[tensor] else {
      let isConstant = self.model.tensors[tensor].constant != nil
      throw check.error(isConstant ? .unsupported : .invalid, isConstant ? "of a constant" : "order")
    }
    return value
  }

  mutating func append(
    _ operation: Graph.Operation, _ input: Int, _ output: Int, _ shapes: OperatorCheck.ImageShapes,
    _ activation: Graph.Activation, second: Int? = nil
  ) {
    self.graph.nodes.append(
      Graph.Node(
        operation: operation, input: input, second: second,
        secondChannels: second == nil ? 0 : shapes.output.channels, output: output, inputShape: shapes.input,
        outputShape: shapes.output, activation: activation))
  }
}
