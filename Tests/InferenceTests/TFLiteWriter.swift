import Inference

/// Writes models as `.tflite` files.
struct TFLiteWriter {
  /// Storage of weights.
  enum Weights {
    case floats
    /// 16-bit floats before `DEQUANTIZE`; the values must be exact.
    case halves
    /// Non-zero 16-bit floats before `DENSIFY` and `DEQUANTIZE`; their indices have 8, 16 or 32 bits.
    case sparse(indexSize: Int)
  }

  typealias Value = FlatBufferWriter.Value

  private var tensors: [Value] = []
  private var buffers: [Value] = [.table([])]
  private var operators: [Value] = []
  /// Codes of the operators, each once.
  private var codes: [Int] = []

  /// - Parameter change: May replace the fields of the model's table.
  static func write(
    _ model: TFLiteModel, weights: Weights = .floats, change: (inout [Value?]) -> Void = { _ in }
  ) -> [UInt8] {
    var writer = TFLiteWriter()
    // Index of each tensor in the file: packed weights add tensors before it.
    var places: [Int] = []
    for tensor in model.tensors { places.append(writer.add(tensor, weights)) }
    for step in model.operators {
      writer.add(
        Self.code(step.kind), inputs: step.inputs.map { $0.map { places[$0] } ?? -1 },
        outputs: step.outputs.map { places[$0] }, options: Self.options(step.kind))
    }
    let graph = Value.table([
      .tables(writer.tensors), .ints(model.inputs.map { places[$0] }), .ints(model.outputs.map { places[$0] }),
      .tables(writer.operators),
    ])
    let codes = writer.codes.map { Value.table([.byte(min($0, 127)), nil, nil, .int($0)]) }
    var fields: [Value?] = [.int(3), .tables(codes), .tables([graph]), nil, .tables(writer.buffers)]
    change(&fields)
    return FlatBufferWriter.write(.table(fields), identifier: "TFL3")
  }

  private mutating func add(_ code: Int, inputs: [Int], outputs: [Int], options: Value?) {
    let index = self.codes.firstIndex(of: code) ?? self.codes.count
    if index == self.codes.count { self.codes.append(code) }
    self.operators.append(.table([.int(index), .ints(inputs), .ints(outputs), options.map { _ in .byte(1) }, options]))
  }

  private mutating func add(_ tensor: TFLiteTensor, _ weights: Weights) -> Int {
    switch (tensor.constant, weights) {
    case (nil, _): return self.add(tensor.name, tensor.shape, type: 0, data: nil)
    case (.integers(let values), _):
      return self.add(tensor.name, tensor.shape, type: 2, data: values.flatMap(FlatBufferWriter.bytes))
    case (.floats(let values), .floats):
      let data = values.flatMap { FlatBufferWriter.bytes($0.bitPattern) }
      return self.add(tensor.name, tensor.shape, type: 0, data: data)
    case (.floats(let values), .halves):
      let packed = self.add("", tensor.shape, type: 1, data: values.flatMap(Self.half))
      return self.unpack(packed, tensor, type: 0, code: 6)
    case (.floats(let values), .sparse(let indexSize)):
      let width = tensor.shape[tensor.shape.count - 1]
      let kept = values.indices.filter { values[$0] != 0 }
      let ends = stride(from: 0, through: values.count, by: width).map { end in kept.count { $0 < end } }
      let dense = tensor.shape.dropLast().map { Value.table([.byte(0), .int($0)]) }
      let type = indexSize == 4 ? 1 : indexSize == 2 ? 2 : 3
      let last = Value.table([
        .byte(1), nil, .byte(type), Self.indices(ends, indexSize), .byte(type),
        Self.indices(kept.map { $0 % width }, indexSize),
      ])
      let sparsity = Value.table([.ints(Array(tensor.shape.indices)), nil, .tables(dense + [last])])
      let data = kept.flatMap { Self.half(values[$0]) }
      let packed = self.add("", tensor.shape, type: 1, data: data, sparsity: sparsity)
      let dequantized = self.unpack(packed, tensor, type: 1, code: 124)
      return self.unpack(dequantized, tensor, type: 0, code: 6)
    }
  }

  private mutating func unpack(_ packed: Int, _ tensor: TFLiteTensor, type: Int, code: Int) -> Int {
    let place = self.add(tensor.name, tensor.shape, type: type, data: nil)
    self.add(code, inputs: [packed], outputs: [place], options: nil)
    return place
  }

  private mutating func add(
    _ name: String, _ shape: [Int], type: Int, data: [UInt8]?, sparsity: Value? = nil
  ) -> Int {
    if let data { self.buffers.append(.table([.vector(count: data.count, data)])) }
    let buffer = data == nil ? 0 : self.buffers.count - 1
    self.tensors.append(.table([.ints(shape), .byte(type), .int(buffer), .text(name), nil, nil, sparsity]))
    return self.tensors.count - 1
  }

  private static func indices(_ values: [Int], _ size: Int) -> Value {
    let bytes = values.flatMap { FlatBufferWriter.bytes(UInt32($0)).prefix(size) }
    return .table([.vector(count: values.count, bytes)])
  }

  /// The bits of the half-precision float of an exactly representable number.
  static func half(_ value: Float) -> [UInt8] {
    guard value != 0 else { return [0, 0] }
    let sign: UInt16 = value.sign == .minus ? 0x8000 : 0
    let exponent = UInt16(value.exponent + 15) << 10
    return FlatBufferWriter.bytes(sign | exponent | UInt16(value.significandBitPattern >> 13))
  }

  static func code(_ kind: TFLiteOperator.Kind) -> Int {
    switch kind {
    case .add: 0
    case .concatenation: 2
    case .convolution: 3
    case .depthwiseConvolution: 4
    case .depthToSpace: 5
    case .logistic: 14
    case .maxPool: 17
    case .activation(.relu6): 21
    case .activation: 19
    case .reshape: 22
    case .resizeBilinear: 23
    case .pad: 34
    case .prelu: 54
    }
  }

  private static func options(_ kind: TFLiteOperator.Kind) -> Value? {
    func code(_ activation: TFLiteActivation) -> Value {
      .byte([TFLiteActivation.none: 0, .relu: 1, .relu6: 3][activation] ?? 0)
    }
    func window(_ window: TFLiteOperator.Window) -> [Value?] {
      [.byte(window.padding == .same ? 0 : 1), .int(window.strideX), .int(window.strideY)]
    }
    return switch kind {
    case .convolution(let place, let activation): .table(window(place) + [code(activation)])
    case .depthwiseConvolution(let place, let activation): .table(window(place) + [.int(1), code(activation)])
    case .maxPool(let place, let height, let width, let activation):
      .table(window(place) + [.int(width), .int(height), code(activation)])
    case .add(let activation): .table([code(activation)])
    case .concatenation(let axis, let activation): .table([.int(axis), code(activation)])
    case .depthToSpace(let size): .table([.int(size)])
    case .resizeBilinear(let alignsCorners, let hasHalfPixelCenters):
      .table([nil, nil, .byte(alignsCorners ? 1 : 0), .byte(hasHalfPixelCenters ? 1 : 0)])
    case .activation, .logistic, .pad, .prelu, .reshape: nil
    }
  }
}
