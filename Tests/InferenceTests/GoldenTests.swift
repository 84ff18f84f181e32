import Foundation
import Inference
import Testing

@Suite("Face models against LiteRT's outputs")
struct GoldenTests {
  /// A model, the side of its input image in pixels, and the number of its output values.
  struct Net: CustomTestStringConvertible, Sendable {
    var name: String
    var inputSide: Int
    var outputCounts: [Int]

    var testDescription: String { self.name }
  }

  static let nets = [
    Net(name: "face_detection_short_range", inputSide: 128, outputCounts: [896 * 16, 896]),
    Net(name: "face_detection_full_range", inputSide: 192, outputCounts: [2304 * 16, 2304]),
    Net(name: "face_detection_full_range_sparse", inputSide: 192, outputCounts: [2304 * 16, 2304]),
    Net(name: "face_landmark", inputSide: 192, outputCounts: [468 * 3, 1]),
    Net(name: "face_landmarks_detector", inputSide: 256, outputCounts: [478 * 3, 1, 1]),
    Net(name: "iris_landmark", inputSide: 64, outputCounts: [71 * 3, 5 * 3]),
  ]

  /// Inputs that a few lines compute in any language; `Goldens/make.py` has the same.
  enum Pattern: String, CaseIterable, Sendable {
    case noise
    case waves

    func fill(_ input: UnsafeMutableBufferPointer<Float>, width: Int) {
      var state: UInt32 = 1
      for index in input.indices {
        switch self {
        case .noise:
          state = state &* 1_664_525 &+ 1_013_904_223
          input[index] = Float(state >> 24) / 255
        case .waves:
          let (pixel, channel) = (index / 3, index % 3)
          input[index] = Float(abs(((5 * (pixel / width) + 3 * (pixel % width) + 40 * channel) & 511) - 256)) / 256
        }
      }
    }
  }

  @Test(arguments: Self.nets, Pattern.allCases)
  func `each output matches LiteRT's to a ten-thousandth of its range, with every instruction set`(
    net: Net, pattern: Pattern
  ) throws {
    let model = try TFLiteModel(parsing: Self.bytes(of: net))
    let golden = try Self.golden(net, pattern)
    for set in InstructionSet.available {
      var executor = InferenceExecutor(try InferencePlan(model, instructionSet: set))
      #expect(executor.plan.inputs.map(\.shape) == [[1, net.inputSide, net.inputSide, 3]])
      #expect(executor.plan.outputs.map(\.count) == net.outputCounts)
      executor.withInput(0) { input in
        pattern.fill(input, width: net.inputSide)
        if net.name.hasPrefix("face_detection") { for index in input.indices { input[index] = 2 * input[index] - 1 } }
      }
      executor.run()
      #expect(Self.largestError(of: executor, against: golden) <= 1e-4, "with \(set)")
    }
  }

  /// The maximum difference from the golden values (every seventh of each output), relative to the output's range.
  private static func largestError(of executor: borrowing InferenceExecutor, against golden: [Float]) -> Float {
    var golden = golden[...]
    var largest: Float = 0
    for index in executor.plan.outputs.indices {
      let values = executor.withOutput(index) { Array($0) }
      let computed = stride(from: 0, to: values.count, by: 7).map { values[$0] }
      let expected = golden.prefix(computed.count)
      golden = golden.dropFirst(computed.count)
      guard expected.count == computed.count else { return .infinity }
      let span = (values.max() ?? 0) - (values.min() ?? 0)
      // The range of a single number is its absolute value.
      let range = values.count == 1 ? max(abs(values[0]), 1e-3) : span
      largest = zip(computed, expected).reduce(largest) { max($0, abs($1.0 - $1.1) / range) }
    }
    return golden.isEmpty ? largest : .infinity
  }

  private static func bytes(of net: Net) throws -> [UInt8] {
    let environment = ProcessInfo.processInfo.environment
    let data = environment["XDG_DATA_HOME"] ?? "\(environment["HOME"] ?? "")/.local/share"
    let folder = environment["VIDICON_MODELS"] ?? "\(data)/vidicon/models"
    return try [UInt8](Data(contentsOf: URL(filePath: "\(folder)/\(net.name).tflite")))
  }

  private static func golden(_ net: Net, _ pattern: Pattern) throws -> [Float] {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Goldens/\(net.name).\(pattern.rawValue)")
    let bytes = try [UInt8](Data(contentsOf: file))
    return bytes.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: 4).map {
        Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self)))
      }
    }
  }
}
