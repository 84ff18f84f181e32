import Inference
import TestSupport

/// Builds models operator by operator, with weights from a seed; output shapes are computed.
struct ModelMaker {
  private(set) var model = TFLiteModel(tensors: [], operators: [], inputs: [], outputs: [])
  private var random: SplitMix

  init(seed: UInt64) {
    self.random = SplitMix(seed: seed)
  }

  /// Returns the model with these outputs.
  func finish(_ outputs: Int...) -> TFLiteModel {
    var model = self.model
    model.outputs = outputs
    return model
  }

  /// A value between -1 and 1 for each element of the inputs.
  mutating func inputs() -> [[Float]] {
    self.model.inputs.map { self.floats(self.shape($0).reduce(1, *)) }
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.random) }

  mutating func floats(_ count: Int) -> [Float] {
    (0..<count).map { _ in Float.random(in: -1...1, using: &self.random) }
  }

  func shape(_ tensor: Int) -> [Int] { self.model.tensors[tensor].shape }

  mutating func input(_ shape: Int...) -> Int {
    self.model.inputs.append(self.add(TFLiteTensor(name: "input", shape: shape)))
    return self.model.inputs[self.model.inputs.count - 1]
  }

  mutating func constant(_ shape: Int...) -> Int {
    self.add(TFLiteTensor(shape: shape, constant: .floats(self.floats(shape.reduce(1, *)))))
  }

  mutating func integers(_ values: [Int32], shape: [Int]) -> Int {
    self.add(TFLiteTensor(shape: shape, constant: .integers(values)))
  }

  mutating func apply(_ kind: TFLiteOperator.Kind, _ inputs: [Int?], shape: [Int]) -> Int {
    let output = self.add(TFLiteTensor(shape: shape))
    self.model.operators.append(TFLiteOperator(kind, inputs: inputs, outputs: [output]))
    return output
  }

  mutating func convolution(
    _ input: Int, channels: Int, size: (Int, Int) = (1, 1), _ window: TFLiteOperator.Window = .init(.valid),
    _ activation: TFLiteActivation = .none, hasBias: Bool = true
  ) -> Int {
    let weights = self.constant(channels, size.0, size.1, self.shape(input)[3])
    let bias = hasBias ? self.constant(channels) : nil
    return self.apply(
      .convolution(window, activation), [input, weights, bias], shape: self.output(input, size, window, channels))
  }

  mutating func depthwise(
    _ input: Int, size: (Int, Int) = (3, 3), _ window: TFLiteOperator.Window = .init(.same),
    _ activation: TFLiteActivation = .none
  ) -> Int {
    let channels = self.shape(input)[3]
    let operands = [input, self.constant(1, size.0, size.1, channels), self.constant(channels)]
    return self.apply(
      .depthwiseConvolution(window, activation), operands, shape: self.output(input, size, window, channels))
  }

  mutating func maxPool(_ input: Int, size: (Int, Int), _ window: TFLiteOperator.Window) -> Int {
    self.apply(
      .maxPool(window, height: size.0, width: size.1, .none), [input],
      shape: self.output(input, size, window, self.shape(input)[3]))
  }

  mutating func add(_ first: Int, _ second: Int, _ activation: TFLiteActivation = .none) -> Int {
    self.apply(.add(activation), [first, second], shape: self.shape(first))
  }

  mutating func prelu(_ input: Int) -> Int {
    let slopes = self.constant(1, 1, self.shape(input)[3])
    return self.apply(.prelu, [input, slopes], shape: self.shape(input))
  }

  /// Zeros before and after rows, columns and channels.
  mutating func pad(_ input: Int, _ counts: [Int32]) -> Int {
    let shape = self.shape(input)
    let operands = [input, self.integers([0, 0] + counts, shape: [4, 2])]
    let padded = (0..<3).map { axis -> Int in
      let count = counts[2 * axis] + counts[2 * axis + 1]
      return shape[axis + 1] + Int(count)
    }
    return self.apply(.pad, operands, shape: [1] + padded)
  }

  private func output(_ input: Int, _ size: (Int, Int), _ window: TFLiteOperator.Window, _ channels: Int) -> [Int] {
    let shape = self.shape(input)
    switch window.padding {
    case .same:
      return [1, 1 + (shape[1] - 1) / window.strideY, 1 + (shape[2] - 1) / window.strideX, channels]
    case .valid:
      return [1, (shape[1] - size.0) / window.strideY + 1, (shape[2] - size.1) / window.strideX + 1, channels]
    }
  }

  private mutating func add(_ tensor: TFLiteTensor) -> Int {
    self.model.tensors.append(tensor)
    return self.model.tensors.count - 1
  }
}
