internal import CInference
public import Media

/// An executable model: its operators checked and fused, the weights laid out for the processor, and each value
/// assigned to an arena offset. Made once for a model, in a few milliseconds, and shared by any number of executors.
///
/// ```swift
/// let plan = try InferencePlan(TFLiteModel(parsing: bytes))
/// print(plan.inputs[0].shape)  // [1, 192, 192, 3]
/// var executor = InferenceExecutor(plan)
/// ```
public struct InferencePlan: Sendable {
  /// Maximum number of floats of an executor's memory, and of all weights together: 256 MB.
  static let maximumFloatCount = 1 << 26

  /// A value that the caller fills or gets.
  public struct Port: Hashable, Sendable {
    /// The name that the model's author has given it.
    public var name: String
    /// The number of elements in each dimension, the last of which lie side by side: for a image 1, rows, columns,
    /// channels.
    public var shape: [Int]
    /// Where it lies in the arena.
    var place: Int

    /// The number of floats.
    public var count: Int { self.shape.reduce(1, *) }
  }

  /// What the caller fills before each run, in the model's order.
  public let inputs: [Port]
  /// What the caller gets after each run, in the model's order.
  public let outputs: [Port]
  /// What the steps are performed with.
  public let instructionSet: InstructionSet
  /// The multiplications of convolutions in one run, by which the time can be guessed.
  public let multiplicationCount: Int

  /// The bytes of an executor's memory.
  public var executorSize: Int { 4 * self.arenaSize }

  let steps: [vidicon_step]
  let constants: ConstantStore
  let arenaSize: Int

  /// The plan of a model.
  ///
  /// - Parameter instructionSet: The fastest one, where nothing else is measured or tested.
  /// - Throws: A ``ParsingError`` where the model contradicts itself, where an operator is used in a way that is not
  ///   supported, or where it needs more memory than 256 MB.
  public init(_ model: TFLiteModel, instructionSet: InstructionSet = .fastest) throws(ParsingError) {
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
