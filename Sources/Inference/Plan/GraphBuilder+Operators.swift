internal import Media

extension GraphBuilder {
  mutating func addConvolution(
    _ check: OperatorCheck, _ window: TFLiteOperator.Window, _ activation: TFLiteActivation, isDepthwise: Bool,
    input: Int, output: Int
  ) throws(ParsingError) {
    var (input, shapes) = (input, try check.imageShapes())
    let weights = try check.floats(1)
    guard weights.shape.count == 4 else { throw check.error("weights") }
    let channels = shapes.output.channels
    let expected =
      isDepthwise
      ? weights.shape[0] == 1 && weights.shape[3] == channels && shapes.input.channels == channels
      : weights.shape[0] == channels && weights.shape[3] == shapes.input.channels
    guard expected else { throw check.error("weights") }
    var bias = [Float](repeating: 0, count: channels)
    if check.step.inputs.count > 2, check.step.inputs[2] != nil { bias = try check.floats(2).values }
    guard bias.count == channels else { throw check.error("bias") }

    // Explicit zero padding is folded into the convolution, whose window may begin outside of the image.
    var padding: Padding?
    if window.padding == .valid, let around = self.paddings[input], around.isSpatial {
      padding = around
      input = around.source
    }
    let placed = try check.place(
      window, height: weights.shape[1], width: weights.shape[2], over: shapes.input, giving: shapes.output,
      padding: padding)
    if let padding { shapes.input = padding.sourceShape }
    let operation =
      isDepthwise
      ? Graph.Operation.depthwiseConvolution(placed, weights: weights.values, bias: bias)
      : .convolution(placed, weights: weights.values, bias: bias)
    self.append(operation, input, output, shapes, Graph.Activation(activation))
  }

  mutating func addPadding(_ check: OperatorCheck, input: Int, output: Int) throws(ParsingError) {
    let shapes = try check.imageShapes()
    let (from, to) = (shapes.input, shapes.output)
    let counts = try check.integers(1)
    guard counts.values.count == 8, counts.shape == [4, 2], counts.values.allSatisfy({ (0...65_536).contains($0) }),
      counts.values[0] == 0, counts.values[1] == 0
    else { throw check.error("paddings") }
    let c = counts.values.map { Int($0) }
    let padding = Padding(
      source: input, sourceShape: from, top: c[2], left: c[4], bottom: c[3], right: c[5], channelsBefore: c[6],
      channelsBehind: c[7])
    guard to.height == from.height + c[2] + c[3], to.width == from.width + c[4] + c[5],
      to.channels == from.channels + c[6] + c[7]
    else { throw check.error("shape") }
    self.paddings[output] = padding
    self.append(.clear, input, output, shapes, .none)
    let copy = Graph.Copy(
      outputOffset: (padding.top * to.width + padding.left) * to.channels + padding.channelsBefore,
      groupCount: from.height, inputGroupStride: from.width * from.channels, outputGroupStride: to.width * to.channels,
      runCount: from.width, runLength: from.channels, inputRunStride: from.channels, outputRunStride: to.channels)
    self.append(.copy(copy), input, output, shapes, .none)
  }

  mutating func addConcatenation(_ check: OperatorCheck, axis: Int, output: Int) throws(ParsingError) {
    let shape = try check.output().shape
    let dimension = axis < 0 ? axis + shape.count : axis
    guard shape.indices.contains(dimension) else { throw check.error("axis") }
    let outer = shape[..<dimension].reduce(1, *)
    let inner = shape[(dimension + 1)...].reduce(1, *)
    var offset = 0
    for index in check.step.inputs.indices {
      let part = try check.input(index)
      let partShape = self.model.tensors[part].shape
      guard partShape.count == shape.count,
        partShape.indices.allSatisfy({ $0 == dimension || partShape[$0] == shape[$0] })
      else { throw check.error("shape") }
      let length = partShape[dimension] * inner
      let copy = Graph.Copy(
        outputOffset: offset, runCount: outer, runLength: length, inputRunStride: length,
        outputRunStride: shape[dimension] * inner)
      let value = try self.value(part, check)
      self.append(.copy(copy), value, output, check.flat(outer * length, shape.reduce(1, *)), .none)
      offset += length
    }
    guard offset == shape[dimension] * inner else { throw check.error("shape") }
  }
}
