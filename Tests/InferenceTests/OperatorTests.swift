import Inference
import Testing

@Suite("Operators against their definitions, with every instruction set")
struct OperatorTests {
  /// The channel counts of the models, and those around the widths of registers.
  static let channelCounts = [1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 28, 31, 32, 33, 36, 42, 64, 67]

  /// The maximum difference between the plan's and the reference's results; infinity when the sizes differ.
  static func error(_ maker: ModelMaker, _ outputs: Int...) throws -> Double {
    var maker = maker
    var model = maker.model
    model.outputs = outputs
    let inputs = maker.inputs()
    var naive = NaiveExecutor(model)
    let expected = naive.run(inputs)
    var largest = 0.0
    for set in InstructionSet.available {
      var executor = InferenceExecutor(try InferencePlan(model, instructionSet: set))
      for (index, input) in inputs.enumerated() {
        executor.withInput(index) { buffer in for (place, value) in input.enumerated() { buffer[place] = value } }
      }
      // Runs twice: the first run's state must not affect the second.
      executor.run()
      executor.run()
      for (index, values) in expected.enumerated() {
        let computed = executor.withOutput(index) { Array($0) }
        guard computed.count == values.count else { return .infinity }
        for (one, other) in zip(computed, values) {
          guard one.isFinite else { return .infinity }
          largest = max(largest, abs(Double(one) - other))
        }
      }
    }
    return largest
  }

  @Test(arguments: channelCounts)
  func `a 1 × 1 convolution, from and to any number of channels`(channels: Int) throws {

    for (index, size) in [(1, 1), (1, 5), (3, 7), (2, 12)].enumerated() {
      var maker = ModelMaker(seed: UInt64(channels * 10 + index))
      let input = maker.input(1, size.0, size.1, maker.number(1...40))
      let activation = [TFLiteActivation.none, .relu, .relu6][index % 3]
      let output = maker.convolution(input, channels: channels, .init(.valid), activation, hasBias: index != 1)
      #expect(try Self.error(maker, output) < 1e-4)
    }
  }

  @Test(arguments: [TFLiteOperator.Window.Padding.same, .valid], [1, 2, 3])
  func `a convolution with any window over any image`(padding: TFLiteOperator.Window.Padding, stride: Int) throws {

    for seed in 0..<24 {
      var maker = ModelMaker(seed: UInt64(seed * 8 + stride))
      let size = (maker.number(1...5), maker.number(1...5))
      let input = maker.input(1, maker.number(size.0...12), maker.number(size.1...14), maker.number(1...9))
      let window = TFLiteOperator.Window(padding, strideY: stride, strideX: maker.number(1...3))
      let output = maker.convolution(input, channels: maker.number(1...36), size: size, window)
      #expect(try Self.error(maker, output) < 1e-4)
    }
  }

  @Test(arguments: channelCounts)
  func `a depthwise convolution with any window and any number of channels`(channels: Int) throws {

    for seed in 0..<12 {
      var maker = ModelMaker(seed: UInt64(channels * 100 + seed))
      let side = seed < 6 ? 3 : maker.number(1...5)
      let padding = seed % 2 == 0 ? TFLiteOperator.Window.Padding.same : .valid
      let input = maker.input(1, maker.number(side...9), maker.number(side...11), channels)
      let window = TFLiteOperator.Window(padding, strideY: maker.number(1...2), strideX: maker.number(1...2))
      let activation = [TFLiteActivation.none, .relu, .relu6][seed % 3]
      let output = maker.depthwise(input, size: (side, side), window, activation)
      #expect(try Self.error(maker, output) < 1e-4)
    }
  }

  @Test(arguments: channelCounts)
  func `the maximum of each window`(channels: Int) throws {

    for seed in 0..<8 {
      var maker = ModelMaker(seed: UInt64(channels * 100 + seed))
      let size = (maker.number(1...3), maker.number(1...3))
      let input = maker.input(1, maker.number(3...9), maker.number(3...9), channels)
      let padding = seed % 2 == 0 ? TFLiteOperator.Window.Padding.same : .valid
      let window = TFLiteOperator.Window(padding, strideY: maker.number(1...3), strideX: maker.number(1...3))
      let output = maker.maxPool(input, size: size, window)
      #expect(try Self.error(maker, output) == 0)
    }
  }

  @Test(arguments: channelCounts)
  func `sums and activations on their own`(channels: Int) throws {

    var maker = ModelMaker(seed: UInt64(channels))
    let (first, second) = (maker.input(1, 3, 5, channels), maker.input(1, 3, 5, channels))
    let sum = maker.add(first, second)
    let outputs = [
      sum, maker.add(sum, sum, .relu), maker.add(first, first, .relu6), maker.prelu(sum),
      maker.apply(.activation(.relu), [first], shape: [1, 3, 5, channels]),
      maker.apply(.activation(.relu6), [second], shape: [1, 3, 5, channels]),
      maker.apply(.logistic, [sum], shape: [1, 3, 5, channels]),
    ]
    for output in outputs { #expect(try Self.error(maker, output) < 1e-6) }
  }

  @Test func `zero padding on any side of rows, columns and channels`() throws {
    for seed in 0..<20 {
      var maker = ModelMaker(seed: UInt64(seed))
      let input = maker.input(1, maker.number(1...5), maker.number(1...5), maker.number(1...9))
      let padded = maker.pad(input, (0..<6).map { _ in Int32(maker.number(0...3)) })
      #expect(try Self.error(maker, padded) == 0)
    }
  }

  @Test func `windows over explicit padding`() throws {
    for seed in 0..<30 {
      var maker = ModelMaker(seed: UInt64(seed))
      let input = maker.input(1, maker.number(1...6), maker.number(1...6), maker.number(1...9))
      // Some paddings are wider than the window, and some are on channels, which cannot be fused.
      let channels: [Int32] = seed % 5 == 0 ? [1, 2] : [0, 0]
      let padded = maker.pad(input, (0..<4).map { _ in Int32(maker.number(1...4)) } + channels)
      let padding = seed % 3 == 0 ? TFLiteOperator.Window.Padding.same : .valid
      let window = TFLiteOperator.Window(padding, strideY: maker.number(1...2), strideX: maker.number(1...2))
      let outputs = [
        maker.depthwise(padded, size: (3, 3), window), maker.maxPool(padded, size: (2, 2), window),
        maker.convolution(padded, channels: 18, size: (3, 2), window, .relu),
      ]
      for output in outputs { #expect(try Self.error(maker, output) < 1e-4) }
      #expect(try Self.error(maker, outputs[0], outputs[1], outputs[2], padded) < 1e-4)
    }
  }

  @Test(arguments: [(false, false), (false, true), (true, false)])
  func `images are resized`(alignsCorners: Bool, hasHalfPixelCenters: Bool) throws {

    for seed in 0..<12 {
      var maker = ModelMaker(seed: UInt64(seed))
      let channels = maker.number(1...20)
      let input = maker.input(1, maker.number(1...6), maker.number(1...6), channels)
      let output = maker.apply(
        .resizeBilinear(alignsCorners: alignsCorners, hasHalfPixelCenters: hasHalfPixelCenters), [input],
        shape: [1, maker.number(1...12), maker.number(1...12), channels])
      #expect(try Self.error(maker, output) < 1e-5)
    }
  }

  @Test(arguments: [1, 2, 3]) func `depth to space`(size: Int) throws {
    var maker = ModelMaker(seed: 1)
    let input = maker.input(1, 2, 3, 5 * size * size)
    let output = maker.apply(.depthToSpace(blockSize: size), [input], shape: [1, 2 * size, 3 * size, 5])
    #expect(try Self.error(maker, output) == 0)
  }

  @Test(arguments: [0, 1, 2, -1]) func `concatenated tensors, reshaped before and after`(axis: Int) throws {
    var maker = ModelMaker(seed: 1)
    let first = maker.apply(.reshape, [maker.input(1, 2, 3, 4)], shape: [2, 3, 4])
    var shape = [2, 3, 4]
    shape[axis < 0 ? axis + 3 : axis] = 5
    let second = maker.apply(.reshape, [maker.input(shape.reduce(1, *))], shape: shape)
    var joined = [2, 3, 4]
    joined[axis < 0 ? axis + 3 : axis] = 5 + 2 * maker.shape(first)[axis < 0 ? axis + 3 : axis]
    let output = maker.apply(.concatenation(axis: axis, .none), [first, second, first], shape: joined)
    let flat = maker.apply(.reshape, [output], shape: [joined.reduce(1, *)])
    #expect(try Self.error(maker, flat) == 0)
    #expect(try Self.error(maker, output, flat, first) == 0)
  }
}
