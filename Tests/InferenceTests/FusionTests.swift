import Inference
import Testing

@Suite("Operators that are fused")
struct FusionTests {
  @Test(arguments: OperatorTests.channelCounts)
  func `a sum after a convolution, with every activation`(channels: Int) throws {

    for kind in 0..<4 {
      var maker = ModelMaker(seed: UInt64(channels * 4 + kind))
      let input = maker.input(1, 5, 7, channels)
      let convolved = maker.convolution(input, channels: channels)
      let sum = kind % 2 == 0 ? maker.add(input, convolved) : maker.add(convolved, input, .relu)
      let output = kind < 2 ? maker.prelu(sum) : sum
      #expect(try OperatorTests.error(maker, output) < 1e-4)
      // A tensor that is itself an output must remain.
      #expect(try OperatorTests.error(maker, output, sum, convolved) < 1e-4)
    }
  }

  @Test(arguments: [(24, 28), (28, 32), (32, 36), (36, 42), (48, 56), (1, 2), (3, 9), (16, 32), (31, 33), (5, 64)])
  func `a sum with a tensor of fewer channels`(channels: (Int, Int)) throws {
    var maker = ModelMaker(seed: UInt64(channels.0))
    let input = maker.input(1, 6, 6, channels.0)
    let small = maker.maxPool(input, size: (2, 2), .init(.same, strideY: 2, strideX: 2))
    let padded = maker.pad(small, [0, 0, 0, 0, 0, Int32(channels.1 - channels.0)])
    let deep = maker.depthwise(input, .init(.same, strideY: 2, strideX: 2))
    let output = maker.prelu(maker.add(padded, maker.convolution(deep, channels: channels.1)))
    #expect(try OperatorTests.error(maker, output) < 1e-4)
    #expect(try OperatorTests.error(maker, padded, output) < 1e-4)
  }

  @Test func `a sum of two convolutions, with the first one as the second operand`() throws {
    var maker = ModelMaker(seed: 3)
    let input = maker.input(1, 6, 6, 9)
    let (first, second) = (maker.convolution(input, channels: 20), maker.convolution(input, channels: 20))
    let sum = maker.add(second, first, .relu6)
    #expect(try OperatorTests.error(maker, sum) < 1e-4)
    var same = ModelMaker(seed: 4)
    let image = same.convolution(same.input(1, 6, 6, 9), channels: 20)
    let double = same.add(image, image)
    #expect(try OperatorTests.error(same, double) < 1e-4)
  }

  @Test func `an activation of the convolution itself is applied before the sum`() throws {
    var maker = ModelMaker(seed: 5)
    let input = maker.input(1, 6, 6, 9)
    let convolved = maker.convolution(input, channels: 9, .init(.valid), .relu6)
    let output = maker.prelu(maker.add(convolved, input, .relu))
    #expect(try OperatorTests.error(maker, output) < 1e-4)
  }

  @Test func `an activation after every operator`() throws {
    var maker = ModelMaker(seed: 6)
    let input = maker.input(1, 6, 6, 9)
    let window = TFLiteOperator.Window(.same, strideY: 2, strideX: 2)
    let resized = maker.apply(
      .resizeBilinear(alignsCorners: false, hasHalfPixelCenters: false), [input], shape: [1, 9, 9, 9])
    let before = [
      maker.depthwise(input), maker.maxPool(input, size: (2, 2), window), resized,
      maker.pad(input, [1, 1, 1, 1, 1, 1]),
      maker.apply(.logistic, [input], shape: [1, 6, 6, 9]), maker.prelu(input), maker.add(input, input),
    ]
    for value in before {
      let output = maker.prelu(value)
      #expect(try OperatorTests.error(maker, output) < 1e-4)
    }
  }

  @Test(arguments: 0..<40) func `random networks`(seed: Int) throws {
    var maker = ModelMaker(seed: UInt64(seed))
    let channels = maker.number(1...20)
    var values = [maker.input(1, 8, 8, channels)]
    for _ in 0..<12 {
      let value = values[maker.number(0...values.count - 1)]
      let other = values[maker.number(0...values.count - 1)]
      switch maker.number(0...5) {
      case 0: values.append(maker.convolution(value, channels: channels, size: (3, 3), .init(.same)))
      case 1: values.append(maker.depthwise(value))
      case 2: values.append(maker.prelu(value))
      case 3: values.append(maker.maxPool(value, size: (3, 3), .init(.same)))
      case 4:
        let pointwise = maker.convolution(value, channels: channels)
        values.append(maker.add(other, pointwise, .relu6))
      default:
        let padded = maker.pad(value, [1, 1, 1, 1, 0, 0])
        values.append(maker.convolution(padded, channels: channels, size: (3, 3), .init(.valid), .relu))
      }
    }
    // Sums grow with each layer.
    #expect(try OperatorTests.error(maker, values[values.count - 1]) < 0.1)
  }
}
