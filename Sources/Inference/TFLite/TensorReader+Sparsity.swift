internal import Media

extension TensorReader {
  /// Expands weights that are stored without zeros, `SparsityParameters`: all dimensions but the last are dense, and
  /// each row of the last dimension has the indices of its stored elements.
  static func densify(
    _ values: [Float], shape: [Int], count: Int, _ table: FlatBuffer.Table
  ) throws(ParsingError) -> [Float] {
    func error(_ code: ParsingError.Code, _ field: String) -> ParsingError {
      ParsingError(code, field: field, offset: table.start)
    }
    let order = try table.integers(0, "traversal_order", maximum: 2 * TFLiteModel.maximumRank)
    guard order == Array(shape.indices) else { throw error(.unsupported, "traversal_order") }
    guard try table.integers(1, "block_map", maximum: TFLiteModel.maximumRank).isEmpty else {
      throw error(.unsupported, "block_map")
    }
    let dimensions = try table.tables(2, "dim_metadata", maximum: TFLiteModel.maximumRank)
    guard dimensions.count == shape.count, let width = shape.last, let last = dimensions.last else {
      throw error(.invalid, "dim_metadata")
    }
    for (dimension, size) in zip(dimensions, shape).dropLast() {
      guard try dimension.number(0, "format", default: Int8(0)) == 0 else { throw error(.unsupported, "format") }
      guard try dimension.number(1, "dense_size", default: Int32(0)) == Int32(size) else {
        throw error(.invalid, "dense_size")
      }
    }
    guard try last.number(0, "format", default: Int8(0)) == 1 else { throw error(.unsupported, "format") }
    let rowCount = count / width
    let segments = try last.sparseIndices(2, "array_segments", maximum: rowCount + 1)
    let indices = try last.sparseIndices(4, "array_indices", maximum: count)
    guard segments.count == rowCount + 1, segments.first == 0, segments.last == indices.count,
      indices.count == values.count
    else { throw error(.invalid, "array_segments") }

    var dense = [Float](repeating: 0, count: count)
    for row in 0..<rowCount {
      guard segments[row] <= segments[row + 1] else { throw error(.invalid, "array_segments") }
      for place in segments[row]..<segments[row + 1] {
        // Segments are in ascending order, and the last one ends with the indices.
        guard place < indices.count, indices[place] >= 0, indices[place] < width else {
          throw error(.invalid, "array_indices")
        }
        dense[row * width + indices[place]] = values[place]
      }
    }
    return dense
  }
}

extension FlatBuffer.Table {
  /// Reads a `SparseIndexVector`: a field with the element type, followed by a field with the vector.
  fileprivate func sparseIndices(_ index: Int, _ field: String, maximum: Int) throws(ParsingError) -> [Int] {
    let type = try self.number(index, field, default: UInt8(0))
    guard let table = try self.table(index + 1, field), (1...3).contains(type) else {
      throw ParsingError(.invalid, field: field, offset: self.start)
    }
    if type == 1 { return try table.integers(0, field, maximum: maximum) }
    let size = type == 2 ? 2 : 1
    guard let vector = try table.vector(0, field, elementSize: size) else { return [] }
    try vector.check(maximum: maximum)
    var indices: [Int] = []
    indices.reserveCapacity(vector.count)
    for place in stride(from: vector.start, to: vector.start + size * vector.count, by: size) {
      indices.append(
        size == 2
          ? Int(try self.buffer.load(UInt16.self, at: place, field))
          : Int(try self.buffer.load(UInt8.self, at: place, field)))
    }
    return indices
  }
}
