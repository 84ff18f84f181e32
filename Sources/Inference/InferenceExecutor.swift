internal import CInference

/// Executes an ``InferencePlan``: owns the memory of its values, which one thread at a time fills, runs and reads.
/// Threads that infer at the same time use an executor each and share the plan.
///
/// A run allocates nothing, takes no lock and starts no thread.
///
/// ```swift
/// var executor = InferenceExecutor(plan)
/// executor.withInput(0) { pixels in
///   for index in pixels.indices { pixels[index] = … }  // red, green, blue, row by row
/// }
/// executor.run()
/// let score = executor.withOutput(1) { $0[0] }
/// ```
package struct InferenceExecutor: ~Copyable, @unchecked Sendable {  // Safe because its memory has one owner at a time.
  /// The plan that ``run()`` executes; other executors may share it.
  package let plan: InferencePlan
  private let arena: UnsafeMutablePointer<Float>

  /// Allocates ``InferencePlan/executorSize`` bytes; all inputs are zeros.
  package init(_ plan: InferencePlan) {
    self.plan = plan
    let memory = UnsafeMutableRawPointer.allocate(byteCount: plan.arenaSize * 4, alignment: 4 * ArenaLayout.alignment)
    self.arena = memory.initializeMemory(as: Float.self, repeating: 0, count: plan.arenaSize)
  }

  deinit { UnsafeMutableRawPointer(self.arena).deallocate() }

  /// Fills an input, which keeps its values for every run until it is filled again.
  ///
  /// - Parameters:
  ///   - index: Index in the plan's ``InferencePlan/inputs``.
  ///   - body: Receives the elements in row-major order; valid during the call only.
  package mutating func withInput<Result, Failure: Error>(
    _ index: Int, _ body: (UnsafeMutableBufferPointer<Float>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let port = self.plan.inputs[index]
    return try body(UnsafeMutableBufferPointer(start: self.arena + port.place, count: port.count))
  }

  /// Computes all outputs from the inputs, on the calling thread.
  package mutating func run() {
    self.plan.steps.withUnsafeBufferPointer { steps in
      guard let first = steps.baseAddress else { return }
      self.plan.instructionSet.kernels.run(first, steps.count, self.arena, self.plan.constants.floats)
    }
  }

  /// Reads an output of the last run.
  ///
  /// - Parameters:
  ///   - index: Index in the plan's ``InferencePlan/outputs``.
  ///   - body: Receives the elements in row-major order; valid during the call only.
  package borrowing func withOutput<Result, Failure: Error>(
    _ index: Int, _ body: (UnsafeBufferPointer<Float>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let port = self.plan.outputs[index]
    return try body(UnsafeBufferPointer(start: self.arena + port.place, count: port.count))
  }
}
