import Foundation
import Inference

/// Reference implementation: executes a model operator by operator and element by element, as the operators are
/// defined. Models must be valid; images have rank 4.
struct NaiveExecutor {
  let model: TFLiteModel
  private var values: [Int: [Double]] = [:]

  init(_ model: TFLiteModel) {
    self.model = model
  }

  mutating func run(_ inputs: [[Float]]) -> [[Double]] {
    for (tensor, input) in zip(self.model.inputs, inputs) { self.values[tensor] = input.map(Double.init) }
    for step in self.model.operators { self.values[step.outputs[0]] = self.compute(step) }
    return self.model.outputs.map { self.values[$0] ?? [] }
  }

  private func tensor(_ step: TFLiteOperator, _ index: Int) -> [Double] {
    guard step.inputs.indices.contains(index), let tensor = step.inputs[index] else { return [] }
    switch self.model.tensors[tensor].constant {
    case .floats(let floats): return floats.map(Double.init)
    case .integers(let integers): return integers.map(Double.init)
    case nil: return self.values[tensor] ?? []
    }
  }

  private func shape(_ step: TFLiteOperator, _ index: Int) -> [Int] {
    self.model.tensors[step.inputs[index] ?? 0].shape
  }

  private func compute(_ step: TFLiteOperator) -> [Double] {
    let input = self.tensor(step, 0)
    let output = self.model.tensors[step.outputs[0]].shape
    switch step.kind {
    case .convolution(let window, let activation), .depthwiseConvolution(let window, let activation):
      let (from, weightShape) = (self.shape(step, 0), self.shape(step, 1))
      let (weights, bias) = (self.tensor(step, 1), self.tensor(step, 2))
      let isDepthwise = if case .depthwiseConvolution = step.kind { true } else { false }
      return self.pixels(output) { y, x, n in
        var sum = bias.isEmpty ? 0 : bias[n]
        Self.forWindow(window, weightShape[1], weightShape[2], from, y, x) { row, column, i, j in
          for c in isDepthwise ? n...n : 0...from[3] - 1 {
            let weight =
              isDepthwise
              ? weights[(i * weightShape[2] + j) * output[3] + n]
              : weights[((n * weightShape[1] + i) * weightShape[2] + j) * from[3] + c]
            sum += weight * input[(row * from[2] + column) * from[3] + c]
          }
        }
        return Self.activate(sum, activation)
      }
    case .maxPool(let window, let height, let width, let activation):
      let from = self.shape(step, 0)
      return self.pixels(output) { y, x, c in
        var largest = -Double.infinity
        Self.forWindow(window, height, width, from, y, x) { row, column, _, _ in
          largest = max(largest, input[(row * from[2] + column) * from[3] + c])
        }
        return Self.activate(largest, activation)
      }
    case .add(let activation): return zip(input, self.tensor(step, 1)).map { Self.activate($0 + $1, activation) }
    case .activation(let activation): return input.map { Self.activate($0, activation) }
    case .prelu:
      let slopes = self.tensor(step, 1)
      return input.enumerated().map { $1 < 0 ? $1 * slopes[$0 % slopes.count] : $1 }
    case .logistic: return input.map { 1 / (1 + exp(-$0)) }
    case .reshape: return input
    case .pad:
      let (from, counts) = (self.shape(step, 0), self.tensor(step, 1).map { Int($0) })
      return self.pixels(output) { y, x, c in
        let place = (y - counts[2], x - counts[4], c - counts[6])
        guard (0..<from[1]).contains(place.0), (0..<from[2]).contains(place.1), (0..<from[3]).contains(place.2) else {
          return 0
        }
        return input[(place.0 * from[2] + place.1) * from[3] + place.2]
      }
    case .concatenation(let axis, _):
      let axis = axis < 0 ? axis + output.count : axis
      let outer = output[..<axis].reduce(1, *)
      return (0..<outer).flatMap { run in
        step.inputs.indices.flatMap { index -> ArraySlice<Double> in
          let values = self.tensor(step, index)
          return values[run * (values.count / outer)..<(run + 1) * (values.count / outer)]
        }
      }
    case .resizeBilinear(let alignsCorners, let hasHalfPixelCenters):
      let from = self.shape(step, 0)
      func between(_ place: Int, _ size: Int, _ outputSize: Int) -> (Int, Int, Double) {
        let scale =
          alignsCorners && outputSize > 1
          ? Double(size - 1) / Double(outputSize - 1)
          : Double(size) / Double(outputSize)
        let exact = max(0, hasHalfPixelCenters ? (Double(place) + 0.5) * scale - 0.5 : Double(place) * scale)
        let low = min(Int(exact), size - 1)
        return (low, min(low + 1, size - 1), exact - Double(low))
      }
      return self.pixels(output) { y, x, c in
        let (top, bottom, down) = between(y, from[1], output[1])
        let (left, right, aside) = between(x, from[2], output[2])
        func at(_ row: Int, _ column: Int) -> Double { input[(row * from[2] + column) * from[3] + c] }
        return (at(top, left) * (1 - aside) + at(top, right) * aside) * (1 - down)
          + (at(bottom, left) * (1 - aside) + at(bottom, right) * aside) * down
      }
    case .depthToSpace(let size):
      let from = self.shape(step, 0)
      return self.pixels(output) { y, x, c in
        let channel = ((y % size) * size + x % size) * output[3] + c
        return input[((y / size) * from[2] + x / size) * from[3] + channel]
      }
    }
  }

  private func pixels(_ shape: [Int], _ value: (Int, Int, Int) -> Double) -> [Double] {
    var values: [Double] = []
    for y in 0..<shape[1] { for x in 0..<shape[2] { for c in 0..<shape[3] { values.append(value(y, x, c)) } } }
    return values
  }

  /// The input pixels within the window of an output pixel, with their positions in the window.
  private static func forWindow(
    _ window: TFLiteOperator.Window, _ height: Int, _ width: Int, _ image: [Int], _ y: Int, _ x: Int,
    _ body: (Int, Int, Int, Int) -> Void
  ) {
    func before(_ size: Int, _ length: Int, _ stride: Int) -> Int {
      window.padding == .valid ? 0 : max(0, ((size + stride - 1) / stride - 1) * stride + length - size) / 2
    }
    let top = y * window.strideY - before(image[1], height, window.strideY)
    let left = x * window.strideX - before(image[2], width, window.strideX)
    for i in 0..<height where (0..<image[1]).contains(top + i) {
      for j in 0..<width where (0..<image[2]).contains(left + j) { body(top + i, left + j, i, j) }
    }
  }

  private static func activate(_ value: Double, _ activation: TFLiteActivation) -> Double {
    switch activation {
    case .none: value
    case .relu: max(0, value)
    case .relu6: min(6, max(0, value))
    }
  }
}
