/// Offset of each value in the arena of an executor. Values whose lifetimes do not overlap share memory, which keeps
/// the arena small enough for the processor's cache.
struct ArenaLayout {
  /// Alignment of offsets in floats: 64 bytes, the size of a cache line and of the widest register.
  static let alignment = 16

  /// Offset of each value, in floats; nil for a value that no node uses.
  private(set) var places: [Int?]
  /// Size of the arena, in floats.
  private(set) var size = 0

  /// Assigns offsets by descending size: each value gets the lowest offset that no value of an overlapping lifetime
  /// uses.
  init(_ graph: Graph) {
    let lifetimes = Self.lifetimes(graph)
    self.places = [Int?](repeating: nil, count: graph.valueSizes.count)
    let order = graph.valueSizes.indices.filter { lifetimes[$0] != nil }.sorted {
      (graph.valueSizes[$1], $0) < (graph.valueSizes[$0], $1)
    }
    // Sorted by offset.
    var placed: [(range: Range<Int>, lifetime: ClosedRange<Int>)] = []
    for value in order {
      guard let lifetime = lifetimes[value] else { continue }
      let length = Self.aligned(graph.valueSizes[value])
      var start = 0
      for other in placed where other.lifetime.overlaps(lifetime) {
        if other.range.lowerBound >= start + length { break }
        start = max(start, other.range.upperBound)
      }
      let index = placed.firstIndex { $0.range.lowerBound > start } ?? placed.count
      placed.insert((start..<start + length, lifetime), at: index)
      self.places[value] = start
      self.size = max(self.size, start + length)
    }
  }

  static func aligned(_ size: Int) -> Int { (size + Self.alignment - 1) / Self.alignment * Self.alignment }

  /// Lifetime of each value: the indices of the first and the last node that access it. Inputs live throughout, so that
  /// a run can be repeated.
  private static func lifetimes(_ graph: Graph) -> [ClosedRange<Int>?] {
    var lifetimes = [ClosedRange<Int>?](repeating: nil, count: graph.valueSizes.count)
    func extend(_ value: Int, to time: Int) {
      let now = lifetimes[value] ?? time...time
      lifetimes[value] = min(now.lowerBound, time)...max(now.upperBound, time)
    }
    for (index, node) in graph.nodes.enumerated() {
      for value in node.values { extend(value, to: index) }
    }
    for input in graph.inputs {
      extend(input.value, to: -1)
      extend(input.value, to: graph.nodes.count)
    }
    for output in graph.outputs { extend(output.value, to: graph.nodes.count) }
    return lifetimes
  }
}
