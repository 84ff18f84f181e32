/// Fuses consecutive nodes that a kernel can compute in one pass over the values:
///
/// ```
/// CONV_2D ─▶ ADD ─▶ PRELU          one convolution, with a second operand and an activation
///             ▲
/// MAX_POOL ─▶ PAD (channels)       the second operand has fewer channels
/// ```
///
/// Nodes without readers are removed.
struct GraphFusion {
  private var nodes: [Graph.Node?]
  private var readCounts: [Int]
  /// Index of the node that computes a value completely, by value.
  private var producers: [Int: Int] = [:]
  private let paddings: [Int: GraphBuilder.Padding]

  /// Fuses the nodes of a graph.
  static func fuse(_ built: GraphBuilder) -> Graph {
    var fusion = GraphFusion(built)
    for index in fusion.nodes.indices { fusion.visit(index) }
    var graph = built.graph
    graph.nodes = fusion.neededNodes(outputs: graph.outputs.map(\.value))
    return graph
  }

  private init(_ built: GraphBuilder) {
    self.nodes = built.graph.nodes
    self.readCounts = [Int](repeating: 0, count: built.graph.valueSizes.count)
    self.paddings = built.paddings
    for node in built.graph.nodes {
      self.readCounts[node.input] += 1
      if let second = node.second { self.readCounts[second] += 1 }
    }
    for output in built.graph.outputs { self.readCounts[output.value] += 1 }
  }

  private mutating func visit(_ index: Int) {
    guard let node = self.nodes[index] else { return }
    switch node.operation {
    case .copy, .clear: return
    case .add: self.fuseAddition(index, node)
    case .activate:
      guard let producer = self.producer(of: node.input), var before = self.nodes[producer] else { break }
      if case .logistic = before.operation { break }
      if case .resizeBilinear = before.operation { break }
      if case .depthToSpace = before.operation { break }
      before.activation = node.activation
      before.output = node.output
      self.replace([producer, index], by: before, at: producer)
      return
    default: break
    }
    if let node = self.nodes[index] { self.producers[node.output] = index }
  }

  /// Index of the node that computes a value; nil when the value has several readers or the node has an activation.
  private func producer(of value: Int) -> Int? {
    guard self.readCounts[value] == 1, let index = self.producers[value],
      self.nodes[index]?.activation == Graph.Activation.none
    else { return nil }
    return index
  }

  /// Fuses an addition into the convolution that computes one of its operands: the later one, since the other operand
  /// must exist when it runs.
  private mutating func fuseAddition(_ index: Int, _ sum: Graph.Node) {
    guard let second = sum.second, sum.input != second else { return }
    let candidates = [sum.input, second].compactMap { value -> (value: Int, node: Int)? in
      guard let producer = self.producer(of: value), case .convolution = self.nodes[producer]?.operation,
        self.nodes[producer]?.second == nil
      else { return nil }
      return (value, producer)
    }
    guard let chosen = candidates.max(by: { $0.node < $1.node }), var node = self.nodes[chosen.node] else { return }
    var other = chosen.value == second ? sum.input : second
    node.secondChannels = node.outputShape.channels
    if let padding = self.paddings[other], padding.isOfLastChannels {
      self.readCounts[other] -= 1
      other = padding.source
      self.readCounts[other] += 1
      node.secondChannels = padding.sourceShape.channels
    }
    node.second = other
    node.output = sum.output
    node.activation = sum.activation
    self.replace([chosen.node, index], by: node, at: index)
  }

  private mutating func replace(_ old: [Int], by node: Graph.Node, at place: Int) {
    for index in old { self.nodes[index] = nil }
    self.nodes[place] = node
    self.producers[node.output] = place
  }

  /// The nodes on which the outputs depend, in the order of their execution.
  private func neededNodes(outputs: [Int]) -> [Graph.Node] {
    var needed = Set(outputs)
    var kept: [Graph.Node] = []
    for node in self.nodes.reversed() {
      guard let node, needed.contains(node.output) else { continue }
      needed.insert(node.input)
      if let second = node.second { needed.insert(second) }
      kept.append(node)
    }
    return kept.reversed()
  }
}
