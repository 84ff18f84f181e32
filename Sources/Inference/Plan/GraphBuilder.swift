internal import Media

/// Turns a model's operators into a graph, and checks each against the shapes that the model tells.
struct GraphBuilder {
  let model: TFLiteModel
  var graph = Graph()
  /// The value of each tensor that is computed so far.
  var values: [Int?]
  /// Values that are others with zeros around.
  var paddings: [Int: Padding] = [:]

  /// What a value has around another.
  struct Padding {
    var source: Int
    var sourcePicture: Graph.Picture
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

  /// The graph of a model, and the values that have zeros around others.
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
      let pictures = try check.pictures()
      guard pictures.input.channels == pictures.output.channels else { throw check.error("channels") }
      let placed = try check.place(
        window, height: height, width: width, over: pictures.input, giving: pictures.output, padding: nil)
      self.append(.maxPool(placed), input, result, pictures, Graph.Activation(activation))
    case .add(let activation):
      let second = try self.value(check.input(1), check)
      let pictures = try check.samePictures(check.step.inputs.count)
      self.append(.add, input, result, pictures, Graph.Activation(activation), second: second)
    case .activation(let activation):
      self.append(.activate, input, result, try check.samePictures(1), Graph.Activation(activation))
    case .prelu:
      let pictures = try check.samePictures(1)
      let slopes = try check.floats(1)
      guard slopes.values.count == pictures.output.channels, slopes.shape.last == slopes.values.count else {
        throw check.error("slopes")
      }
      self.append(.activate, input, result, pictures, .prelu(slopes.values))
    case .logistic: self.append(.logistic, input, result, try check.samePictures(1), .none)
    case .pad: try self.addPadding(check, input: input, output: result)
    case .concatenation(let axis, let activation):
      guard activation == .none else { throw check.error(.unsupported, "fused_activation_function") }
      try self.addConcatenation(check, axis: axis, output: result)
    case .resizeBilinear(let alignsCorners, let hasHalfPixelCenters):
      let pictures = try check.pictures()
      guard pictures.input.channels == pictures.output.channels else { throw check.error("channels") }
      let operation = Graph.Operation.resizeBilinear(
        alignsCorners: alignsCorners, hasHalfPixelCenters: hasHalfPixelCenters)
      self.append(operation, input, result, pictures, .none)
    case .depthToSpace(let size):
      let pictures = try check.pictures()
      let (from, to) = (pictures.input, pictures.output)
      guard (1...4096).contains(size), to.height == from.height * size, to.width == from.width * size,
        to.channels * size * size == from.channels
      else { throw check.error("block_size") }
      self.append(.depthToSpace(blockSize: size), input, result, pictures, .none)
    }
    self.values[output.tensor] = result
  }

  /// The value of a tensor that has been computed.
  func value(_ tensor: Int, _ check: OperatorCheck) throws(ParsingError) -> Int {
    guard let value = self.values[tensor] else {
      let isConstant = self.model.tensors[tensor].constant != nil
      throw check.error(isConstant ? .unsupported : .invalid, isConstant ? "of a constant" : "order")
    }
    return value
  }

  mutating func append(
    _ operation: Graph.Operation, _ input: Int, _ output: Int, _ pictures: OperatorCheck.Pictures,
    _ activation: Graph.Activation, second: Int? = nil
  ) {
    self.graph.nodes.append(
      Graph.Node(
        operation: operation, input: input, second: second,
        secondChannels: second == nil ? 0 : pictures.output.channels, output: output, inputPicture: pictures.input,
        outputPicture: pictures.output, activation: activation))
  }
}
