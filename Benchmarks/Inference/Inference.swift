import Foundation
import Inference

/// Runs models for `measure.py`: each line of standard input is "INSTRUCTION-SET RUNS MODEL", or "- RUNS MODEL" for
/// the fastest instruction set; the response is the duration of each run in seconds. With 0 runs the response is the
/// outputs for the input pattern that `measure.py` also gives to LiteRT.
@main
struct InferenceBenchmark {
  private struct Prepared {
    var plan: InferencePlan
    var executor: Box
  }

  private final class Box {
    var executor: InferenceExecutor
    init(_ plan: InferencePlan) {
      self.executor = InferenceExecutor(plan)
      for index in plan.inputs.indices {
        self.executor.withInput(index) { input in
          for place in input.indices { input[place] = Self.pattern(place) }
        }
      }
      for _ in 0..<3 { self.executor.run() }
    }

    private static func pattern(_ index: Int) -> Float {
      Float(((UInt32(truncatingIfNeeded: index) &* 2_654_435_761) >> 16) & 0xFF) / 255
    }
  }

  static func main() throws {
    var prepared: [String: Prepared] = [:]
    while let line = readLine() {
      let words = line.split(separator: " ", maxSplits: 2).map(String.init)
      guard words.count == 3, let runs = Int(words[1]) else { continue }
      let key = "\(words[0]) \(words[2])"
      if prepared[key] == nil {
        let model = try TFLiteModel(parsing: [UInt8](Data(contentsOf: URL(filePath: words[2]))))
        let set = InstructionSet.available.first { $0.description == words[0] } ?? .fastest
        let plan = try InferencePlan(model, instructionSet: set)
        prepared[key] = Prepared(plan: plan, executor: Box(plan))
      }
      guard let network = prepared[key] else { continue }
      if runs == 0 {
        let outputs = network.plan.outputs.indices.map { index in
          network.executor.executor.withOutput(index) { $0.map { "\($0)" }.joined(separator: " ") }
        }
        self.answer(outputs)
      } else {
        let clock = ContinuousClock()
        let times = (0..<runs).map { _ in clock.measure { network.executor.executor.run() } / .seconds(1) }
        self.answer(times.map { "\($0)" })
      }
    }
  }

  /// Writes a line without buffering.
  private static func answer(_ words: [String]) {
    FileHandle.standardOutput.write(Data((words.joined(separator: " ") + "\n").utf8))
  }
}
