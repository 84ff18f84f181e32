import Inference
import Media
import TestSupport
import Testing

@Suite("Inference plans")
struct InferencePlanTests {
  /// The error of planning a changed model; nil for none.
  private static func error(_ change: (inout TFLiteModel) -> Void) -> ParsingError? {
    var model = TFLiteModelTests.chain()
    change(&model)
    do {
      _ = try InferencePlan(model)
      return nil
    } catch { return error }
  }

  @Test func `each shape, index and number of operands is checked`() {
    #expect(Self.error { _ in } == nil)
    for operand in [-1, 0, 1000] {
      for index in 0..<TFLiteModelTests.chain().operators.count {
        #expect(Self.error { $0.operators[index].outputs = [operand] } != nil)
        #expect(Self.error { $0.operators[index].outputs = [] } != nil)
        #expect(Self.error { $0.operators[index].inputs = [] } != nil)
        // The first operator may read the input.
        if operand != 0 || index > 0 {
          #expect(Self.error { $0.operators[index].inputs[1] = operand } != nil)
        }
      }
    }
    let count = TFLiteModelTests.chain().tensors.count
    for tensor in 0..<count {
      for shape in [[], [1], [1, 9, 9, 9], [2, 4, 4, 2], [1, 4, 4, 1 << 40], [0, 4, 4, 5]] {
        #expect(Self.error { $0.tensors[tensor].shape = shape } != nil, "\(tensor) \(shape)")
      }
    }
    #expect(Self.error { $0.inputs = [1000] } != nil)
    #expect(Self.error { $0.inputs = [] } != nil)
    #expect(Self.error { $0.inputs = [0, 0] } != nil)
    #expect(Self.error { $0.outputs = [-1] } != nil)
    #expect(Self.error { $0.operators.swapAt(0, 1) } != nil)
    #expect(Self.error { $0.operators += $0.operators } != nil)
  }

  @Test func `an unsupported option is reported with its operator`() {
    let error = Self.error {
      $0.operators[0].kind = .convolution(.init(.same, strideY: 0), .none)
    }
    #expect(error == ParsingError(.invalid, field: "operators[0] CONV_2D stride"))
    #expect(error?.description == "operators[0] CONV_2D stride: the value is not allowed")
    let window = Self.error { $0.operators[0].kind = .maxPool(.init(.same), height: 17, width: 2, .none) }
    #expect(window?.field == "operators[0] MAX_POOL_2D channels")
  }

  @Test func `a plan reports inputs, outputs and cost`() throws {
    let plan = try InferencePlan(TFLiteModelTests.chain())
    #expect(plan.inputs.map(\.name) == ["input"])
    #expect(plan.inputs.map(\.shape) == [[1, 4, 4, 2]])
    #expect(plan.outputs.map(\.count) == [80])
    // 2 × 2 × 2, 3 × 3, and 5 factors for each of 80 values.
    #expect(plan.multiplicationCount == 80 * (8 + 9 + 5))
    #expect(plan.instructionSet == InstructionSet.fastest)
    #expect(plan.executorSize < 8192)
  }

  @Test func `executors of one plan are independent, on any thread`() async throws {
    let plan = try InferencePlan(TFLiteModelTests.chain())
    let alone = Self.run(plan, seed: 1)
    let together = await withTaskGroup(of: (Int, [Float]).self) { group in
      for index in 0..<8 {
        group.addTask { (index, (0..<50).map { _ in Self.run(plan, seed: UInt64(index % 2)) }.last ?? []) }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for index in 0..<8 { #expect((together[index] == alone) == (index % 2 == 1)) }
  }

  private static func run(_ plan: InferencePlan, seed: UInt64) -> [Float] {
    var random = SplitMix(seed: seed)
    var executor = InferenceExecutor(plan)
    executor.withInput(0) { input in
      for index in input.indices { input[index] = Float.random(in: -1...1, using: &random) }
    }
    executor.run()
    return executor.withOutput(0) { Array($0) }
  }
}
