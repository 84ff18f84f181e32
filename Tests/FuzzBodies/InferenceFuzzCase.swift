internal import Inference
internal import NIOCore

/// Checks of models: any bytes are parsed or refused, and a parsed model is planned and executed.
struct InferenceFuzzCase {
  private let input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  func run() {
    guard let model = try? TFLiteModel(parsing: Array(self.input.readableBytesView)) else { return }
    // One instruction set per input, so that a fuzzer covers all of them.
    let set = InstructionSet.available[self.input.readableBytes % InstructionSet.available.count]
    guard let plan = try? InferencePlan(model, instructionSet: set) else { return }
    // Larger models are valid too, but take too long.
    guard plan.executorSize < 1 << 20, plan.multiplicationCount < 1 << 22 else { return }
    var executor = InferenceExecutor(plan)
    for (index, port) in plan.inputs.enumerated() {
      executor.withInput(index) { values in
        precondition(values.count == port.count)
        for place in values.indices { values[place] = Float(place % 7) - 3 }
      }
    }
    executor.run()
    let first = plan.outputs.indices.map { index in executor.withOutput(index) { $0.map(\.bitPattern) } }
    executor.run()
    let second = plan.outputs.indices.map { index in executor.withOutput(index) { $0.map(\.bitPattern) } }
    precondition(first == second, "a run leaves nothing behind")
  }
}
