internal import CInference
package import Media

/// An executable model: operators checked and fused, weights in the layout of the processor's kernels, and each value
/// assigned to an offset in the arena. Created once per model, in a few milliseconds, and shared by any number of
/// ``InferenceExecutor``s.
///
/// ```swift
/// let plan = try InferencePlan(TFLiteModel(parsing: bytes))
/// print(plan.inputs[0].shape)  // [1, 192, 192, 3]
/// var executor = InferenceExecutor(plan)
/// ```
package struct InferencePlan: Sendable {
  /// Maximum number of floats of an executor's arena, and of all constants together: 256 MB each.
  static let maximumFloatCount = 1 << 26

  /// An input or output of the model.
  package struct Port: Hashable, Sendable {
    /// Name of the tensor in the model.
    package var name: String
    /// Number of elements in each dimension, in row-major order: for an image 1, rows, columns, channels.
    package var shape: [Int]
    /// Offset in the arena, in floats.
    var place: Int

    /// Total number of elements, each a 32-bit float.
    package var count: Int { self.shape.reduce(1, *) }
  }

  /// The inputs that the caller fills before a run, in the model's order.
  package let inputs: [Port]
  /// The outputs that the caller reads after a run, in the model's order.
  package let outputs: [Port]
  /// The instruction set of the kernels.
  package let instructionSet: InstructionSet
  /// Number of multiplications of all convolutions in one run, an estimate of the running time.
  package let multiplicationCount: Int

  /// Size of an executor's arena, in bytes.
  package var executorSize: Int { 4 * self.arenaSize }

  let steps: [vidicon_step]
  let constants: ConstantStore
  let arenaSize: Int

  /// Plans the execution of a model.
  ///
  /// - Parameter instructionSet: Instruction set of the kernels; others than the fastest one are for tests and
  ///   measurements.
  /// - Throws: A ``ParsingError`` that names the operator where the model contradicts itself or uses an operator in an
  ///   unsupported way; `tooLarge` where it needs more than 256 MB of values or constants.
  package init(_ model: TFLiteModel, instructionSet: InstructionSet = .fastest) throws(ParsingError) {
    let graph = GraphFusion.fuse(try GraphBuilder.build(model))
    let layout = ArenaLayout(graph)
    guard layout.size <= Self.maximumFloatCount else { throw ParsingError(.tooLarge, field: "memory of all values") }
    var lowering = StepLowering(kernels: instructionSet.kernels, layout: layout)
    for node in graph.nodes { try lowering.lower(node) }
    self.steps = lowering.finish()
    self.constants = ConstantStore(lowering.constants)
    self.arenaSize = lowering.arenaSize
    self.multiplicationCount = lowering.multiplicationCount
    self.instructionSet = instructionSet
    self.inputs = graph.inputs.map { Port(name: $0.name, shape: $0.shape, place: layout.places[$0.value] ?? 0) }
    self.outputs = graph.outputs.map { Port(name: $0.name, shape: $0.shape, place: layout.places[$0.value] ?? 0) }
  }
}

/// SIMD instruction set of the kernels, such as AVX2. The last one of ``available`` exists on every machine. Results
/// differ between instruction sets only by the rounding of sums.
package struct InstructionSet: Hashable, Sendable, CustomStringConvertible {
  /// The instruction sets of this processor, fastest first.
  package static let available = (0..<vidicon_kernels_count()).map(InstructionSet.init)

  /// The fastest instruction set of this processor.
  package static var fastest: InstructionSet { Self(index: 0) }

  private let index: Int

  private init(index: Int) {
    self.index = index
  }

  /// Name of the instruction set, such as "AVX2".
  package var description: String { String(cString: self.kernels.name) }

  var kernels: vidicon_kernels {
    guard let kernels = vidicon_kernels_at(self.index) else { preconditionFailure("each index is that of kernels") }
    return kernels.pointee
  }
}

/// Immutable memory with the constants of a plan in the layout of the kernels, aligned for the widest registers.
// Safe because nothing is written after the initializer.
final class ConstantStore: @unchecked Sendable {
  let floats: UnsafePointer<Float>
  private let memory: UnsafeMutableRawPointer

  /// Copies constants to aligned memory.
  init(_ values: [Float]) {
    self.memory = .allocate(byteCount: max(1, values.count) * 4, alignment: 4 * ArenaLayout.alignment)
    let floats = self.memory.bindMemory(to: Float.self, capacity: values.count)
    values.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { floats.initialize(from: base, count: source.count) }
    }
    self.floats = UnsafePointer(floats)
  }

  deinit { self.memory.deallocate() }
}
