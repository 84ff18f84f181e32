internal import Inference
internal import NIOCore

/// What is checked of models: any bytes are read or refused, and what is read is planned and performed.
struct InferenceFuzzCase {
  private let input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  func run() {
    guard let model = try? TFLiteModel(parsing: Array(self.input.readableBytesView)) else { return }
    // One instruction set for each input, so that a fuzzer comes to know all.
    let set = InstructionSet.available[self.input.readableBytes % InstructionSet.available.count]
    guard let plan = try? InferencePlan(model, instructionSet: set) else { return }
    // Others are right too, but take too long.
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
