import Foundation
import Inference
import Media
import Testing

@Suite("TensorFlow Lite models")
struct TFLiteModelTests {
  /// Models with each operator, small enough to be fuzzed.
  static let samples: KeyValuePairs<String, [UInt8]> = [
    "chain": TFLiteWriter.write(Self.chain()),
    "halves": TFLiteWriter.write(Self.rounded(Self.single()), weights: .halves),
    "sparse": TFLiteWriter.write(Self.thinned(Self.single()), weights: .sparse(indexSize: 1)),
    "images": TFLiteWriter.write(Self.images()),
  ]

  /// A convolution.
  static func single() -> TFLiteModel {
    var maker = ModelMaker(seed: 3)
    let input = maker.input(1, 2, 3, 4)
    let output = maker.convolution(input, channels: 3)
    return maker.finish(output)
  }

  /// A convolution, a depthwise convolution, a sum and an activation.
  static func chain() -> TFLiteModel {
    var maker = ModelMaker(seed: 1)
    let input = maker.input(1, 4, 4, 2)
    let convolved = maker.convolution(input, channels: 5, size: (2, 2), .init(.same), .relu6)
    let depthwise = maker.depthwise(convolved)
    let pointwise = maker.convolution(depthwise, channels: 5)
    let sum = maker.add(convolved, pointwise)
    let output = maker.prelu(sum)
    return maker.finish(output)
  }

  /// Operators that change the size of images.
  static func images() -> TFLiteModel {
    var maker = ModelMaker(seed: 2)
    let input = maker.input(1, 4, 4, 4)
    let pooled = maker.maxPool(input, size: (2, 2), .init(.valid, strideY: 2, strideX: 2))
    let resized = maker.apply(
      .resizeBilinear(alignsCorners: false, hasHalfPixelCenters: true), [pooled], shape: [1, 3, 3, 4])
    let padded = maker.pad(resized, [1, 0, 0, 1, 0, 0])
    let square = maker.apply(.depthToSpace(blockSize: 2), [padded], shape: [1, 8, 8, 1])
    let flat = maker.apply(.reshape, [square], shape: [1, 64])
    let relu = maker.apply(.activation(.relu), [flat], shape: [1, 64])
    let joined = maker.apply(.concatenation(axis: -1, .none), [flat, relu], shape: [1, 128])
    let output = maker.apply(.logistic, [joined], shape: [1, 128])
    return maker.finish(output, flat)
  }

  private static func map(_ model: TFLiteModel, _ change: (Float) -> Float) -> TFLiteModel {
    var model = model
    for index in model.tensors.indices {
      if case .floats(let floats) = model.tensors[index].constant {
        model.tensors[index].constant = .floats(floats.map(change))
      }
    }
    return model
  }

  /// The model with weights that are exact in 16 bits.
  static func rounded(_ model: TFLiteModel) -> TFLiteModel {
    Self.map(model) { ($0 * 64).rounded() / 64 }
  }

  /// The model with mostly zero weights.
  static func thinned(_ model: TFLiteModel) -> TFLiteModel {
    Self.map(Self.rounded(model)) { abs($0) < 0.5 ? 0 : $0 }
  }

  /// Constants of a model as it is executed: unused and packed ones are removed.
  private static func constants(_ model: TFLiteModel) -> [TFLiteTensor.Constant] {
    model.operators.flatMap { $0.inputs.compactMap { $0.flatMap { model.tensors[$0].constant } } }
  }

  @Test func `a written model is read back, whatever its weights are stored as`() throws {
    let cases: [(TFLiteModel, TFLiteWriter.Weights)] = [
      (Self.chain(), .floats), (Self.images(), .floats), (Self.rounded(Self.chain()), .halves),
      (Self.thinned(Self.chain()), .sparse(indexSize: 1)), (Self.thinned(Self.chain()), .sparse(indexSize: 2)),
      (Self.thinned(Self.chain()), .sparse(indexSize: 4)),
    ]
    for (model, weights) in cases {
      let read = try TFLiteModel(parsing: TFLiteWriter.write(model, weights: weights))
      #expect(read.operators.map(\.kind) == model.operators.map(\.kind))
      #expect(Self.constants(read) == Self.constants(model))
      #expect(read.inputs.map { read.tensors[$0].shape } == model.inputs.map { model.tensors[$0].shape })
      #expect(read.outputs.map { read.tensors[$0].shape } == model.outputs.map { model.tensors[$0].shape })
      #expect(read.inputs.map { read.tensors[$0].name } == ["input"])
    }
  }

  @Test func `every 16-bit float becomes the same number`() throws {
    // Signs, exponents of zero, of subnormal numbers, of one, of the maximum, infinity.
    let bits: [UInt16] = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC01, 0x7BFF, 0x7C00, 0xFC00]
    let expected: [Float] = [
      0, -0.0, 0x1p-24, -0x1.FF8p-15, 0x1p-14, 1, -1.0009765625, 65504, .infinity, -.infinity,
    ]
    var model = Self.chain()
    model.tensors.append(TFLiteTensor(shape: [10], constant: .floats([Float](repeating: 1, count: 10))))
    model.operators.append(TFLiteOperator(.prelu, inputs: [0, model.tensors.count - 1], outputs: [0]))
    var bytes = TFLiteWriter.write(Self.rounded(model), weights: .halves)
    let ones = [UInt8](repeating: 0, count: 20).indices.map { UInt8($0 % 2 == 0 ? 0x00 : 0x3C) }
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: ones) })
    bytes.replaceSubrange(place..<place + 20, with: bits.flatMap(FlatBufferWriter.bytes))
    let read = try TFLiteModel(parsing: bytes)
    let slopes = try #require(read.operators.last?.inputs[1].flatMap { read.tensors[$0].constant })
    guard case .floats(let floats) = slopes else {
      Issue.record("no floats")
      return
    }
    #expect(floats.map(\.bitPattern) == expected.map(\.bitPattern))
  }

  @Test func `each prefix is an error`() {
    for (_, bytes) in Self.samples {
      for length in bytes.indices {
        #expect(throws: ParsingError.self) { try TFLiteModel(parsing: Array(bytes[..<length])) }
      }
    }
  }

  @Test func `a file of another kind is reported`() {
    let bytes = FlatBufferWriter.write(.table([]), identifier: "TFL2")
    #expect(throws: ParsingError(.invalid, field: "file_identifier", offset: 4)) {
      try TFLiteModel(parsing: bytes)
    }
    #expect(throws: ParsingError(.truncated, field: "file_identifier", offset: 4)) { try TFLiteModel(parsing: []) }
  }

  @Test(arguments: [
    (1, "AVERAGE_POOL_2D"), (25, "SOFTMAX"), (126, "operator with code 126"), (200, "operator with code 200"),
  ])
  func `an unknown operator is named`(code: Int, name: String) {

    let bytes = TFLiteWriter.write(Self.chain()) { fields in
      let codes = (0..<5).map { _ in FlatBufferWriter.Value.table([.byte(min(code, 127)), nil, nil, .int(code)]) }
      // Older files store the code in the first field only.
      let old = (0..<5).map { _ in FlatBufferWriter.Value.table([.byte(code)]) }
      fields[1] = .tables(code < 127 ? old : codes)
    }
    #expect(throws: ParsingError(.unsupported, field: "operators[0] \(name)")) { try TFLiteModel(parsing: bytes) }
  }

  @Test func `an unknown version, no graph and two graphs are errors`() {
    func parse(_ change: (inout [FlatBufferWriter.Value?]) -> Void) throws {
      _ = try TFLiteModel(parsing: TFLiteWriter.write(Self.chain(), change: change))
    }
    #expect(throws: ParsingError.self) { try parse { $0[0] = .int(2) } }
    #expect(throws: ParsingError.self) { try parse { $0[2] = nil } }
    #expect(throws: ParsingError.self) { try parse { $0[2] = .tables([.table([]), .table([])]) } }
    #expect(throws: ParsingError.self) { try parse { $0[4] = nil } }
    #expect(throws: ParsingError.self) { try parse { $0[1] = .tables((0..<300).map { _ in .table([]) }) } }
  }

  @Test func `excessive sizes are errors, and allocate nothing`() {
    for shape in [[1 << 30, 1 << 30, 1 << 30], [1 << 24, 2], [0], [-1, 4], [1, 1, 1, 1, 1, 1, 1]] {
      let model = TFLiteModel(tensors: [TFLiteTensor(shape: shape)], operators: [], inputs: [0], outputs: [0])
      #expect(throws: ParsingError.self) { try TFLiteModel(parsing: TFLiteWriter.write(model)) }
    }
    // Many tensors with the maximum shape: each is valid, all together are too large.
    var maker = ModelMaker(seed: 1)
    var value = maker.input(1, 1 << 12, 1 << 11, 1)
    let start = value
    for _ in 0..<20 { value = maker.add(value, start) }
    for _ in 0..<20 { value = maker.apply(.logistic, [value], shape: [1, 1 << 12, 1 << 11, 1]) }
    #expect(throws: Never.self) { try InferencePlan(maker.finish(value)) }
    let all = Array(maker.model.tensors.indices)
    var model = maker.model
    model.outputs = all
    #expect(throws: ParsingError(.tooLarge, field: "memory of all values")) { try InferencePlan(model) }
  }

  @Test func `the fuzzer's seeds are these models`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "FuzzTesting/Seeds/FuzzTFLite")
    let isWriting = ProcessInfo.processInfo.environment["VIDICON_WRITE_SEEDS"] != nil
    for (name, bytes) in Self.samples {
      if isWriting { try Data(bytes).write(to: folder.appending(path: name)) }
      #expect(try [UInt8](Data(contentsOf: folder.appending(path: name))) == bytes)
    }
  }
}
