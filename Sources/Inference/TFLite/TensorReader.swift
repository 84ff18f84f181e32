internal import CInference
internal import Media

/// Parses the tensors of a model, and unpacks the elements of constants.
///
/// A constant is unpacked only where an operator uses it. The total number of unpacked elements is limited, since
/// several tensors of a small file can refer to the same bytes.
struct TensorReader {
  /// Element types, `TensorType` in the schema.
  private enum ElementType: Int8 {
    case float32 = 0
    case float16 = 1
    case int32 = 2
  }

  private struct Entry {
    var tensor: TFLiteTensor
    var type: ElementType?
    var count: Int
    /// The bytes of a constant; nil for other tensors.
    var data: FlatBuffer.Vector?
    var sparsity: FlatBuffer.Table?
    var place: Int
  }

  private let buffers: [FlatBuffer.Table]
  private var entries: [Entry] = []
  private var unpackedCount = 0

  init(buffers: [FlatBuffer.Table]) {
    self.buffers = buffers
  }

  var count: Int { self.entries.count }

  /// Parses one tensor without unpacking it.
  mutating func read(_ table: FlatBuffer.Table) throws(ParsingError) {
    let shape = try table.integers(0, "shape", maximum: TFLiteModel.maximumRank)
    let tensor = TFLiteTensor(name: try table.text(3, "name", maximum: 1024), shape: shape)
    guard let count = tensor.elementCount else {
      let isNegative = shape.contains { $0 <= 0 }
      throw ParsingError(isNegative ? .invalid : .tooLarge, field: "shape", offset: table.start)
    }
    let bufferIndex = Int(try table.number(2, "buffer", default: UInt32(0)))
    guard bufferIndex < self.buffers.count else {
      throw ParsingError(.invalid, field: "buffer", offset: table.start)
    }
    let data = try self.buffers[bufferIndex].vector(0, "data", elementSize: 1)
    // Sparse weights that are all zeros have no bytes.
    let sparsity = try table.table(6, "sparsity")
    self.entries.append(
      Entry(
        tensor: tensor, type: ElementType(rawValue: try table.number(1, "type", default: 0)), count: count,
        data: data.flatMap { $0.count > 0 || sparsity != nil ? $0 : nil }, sparsity: sparsity, place: table.start))
  }

  /// Makes another tensor of the same shape refer to the bytes of a constant: the effect of `DEQUANTIZE` and `DENSIFY`.
  ///
  /// - Returns: False when the source is not a constant, or the target is one already.
  mutating func unpack(_ source: Int, into target: Int) throws(ParsingError) -> Bool {
    guard source >= 0, source != target, self.entries[source].data != nil, self.entries[target].data == nil else {
      return false
    }
    let entry = self.entries[source]
    guard entry.tensor.shape == self.entries[target].tensor.shape else {
      throw ParsingError(.invalid, field: "shape", offset: self.entries[target].place)
    }
    self.entries[target].data = entry.data
    self.entries[target].type = entry.type
    self.entries[target].sparsity = entry.sparsity
    return true
  }

  /// Returns all tensors, with the constants among `needed` unpacked.
  mutating func finish(needed: Set<Int>) throws(ParsingError) -> [TFLiteTensor] {
    var tensors: [TFLiteTensor] = []
    tensors.reserveCapacity(self.entries.count)
    for (index, entry) in self.entries.enumerated() {
      var tensor = entry.tensor
      if !needed.contains(index) {
        // Not used by any operator, such as the packed form of weights.
      } else if let data = entry.data {
        self.unpackedCount += entry.count
        guard self.unpackedCount <= TFLiteModel.maximumElementCount else {
          throw ParsingError(.tooLarge, field: "constants", offset: entry.place)
        }
        tensor.constant = try self.constant(entry, data)
      } else if entry.type != .float32 {
        throw ParsingError(.unsupported, field: "type", offset: entry.place)
      }
      tensors.append(tensor)
    }
    return tensors
  }

  private func constant(_ entry: Entry, _ data: FlatBuffer.Vector) throws(ParsingError) -> TFLiteTensor.Constant {
    let size = entry.type == .float16 ? 2 : 4
    guard data.count % size == 0, entry.sparsity != nil || data.count == entry.count * size else {
      throw ParsingError(.invalid, field: "data", offset: data.start)
    }
    let bytes = self.buffers[0].buffer.bytes
    let count = data.count / size
    switch entry.type {
    case .int32 where entry.sparsity == nil:
      return .integers(
        [Int32](unsafeUninitializedCapacity: count) { values, initialized in
          bytes.withUnsafeBytes { Self.copy($0, data, into: UnsafeMutableRawBufferPointer(values)) }
          initialized = count
        })
    case .float32, .float16:
      let floats = [Float](unsafeUninitializedCapacity: count) { values, initialized in
        bytes.withUnsafeBytes { bytes in
          if entry.type == .float32 {
            Self.copy(bytes, data, into: UnsafeMutableRawBufferPointer(values))
          } else if let target = values.baseAddress, let source = bytes.baseAddress {
            vidicon_halves_to_floats(target, source + data.start, count)
          }
        }
        initialized = count
      }
      guard let sparsity = entry.sparsity else { return .floats(floats) }
      return .floats(try Self.densify(floats, shape: entry.tensor.shape, count: entry.count, sparsity))
    case .int32, nil: throw ParsingError(.unsupported, field: "type", offset: entry.place)
    }
  }

  /// Copies elements unchanged: all supported processors are little-endian, as the file is.
  private static func copy(
    _ bytes: UnsafeRawBufferPointer, _ data: FlatBuffer.Vector, into target: UnsafeMutableRawBufferPointer
  ) {
    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[data.start..<data.start + data.count]))
  }
}
