internal import CInference
package import Media

extension TFLiteModel {
  /// Parses the content of a `.tflite` file.
  ///
  /// - Throws: A ``ParsingError`` for bytes that are not a model, and for a model beyond the limits of this type, with
  ///   unsupported operators or options (which the error names), or with element types other than floats.
  package init(parsing bytes: [UInt8]) throws(ParsingError) {
    let buffer = FlatBuffer(bytes: bytes)
    guard try buffer.load(UInt32.self, at: 4, "file_identifier") == Self.fileIdentifier else {
      throw ParsingError(.invalid, field: "file_identifier", offset: 4)
    }
    let model = try buffer.table(at: 0, "Model")
    guard try model.number(0, "version", default: UInt32(0)) == 3 else {
      throw ParsingError(.unsupported, field: "version", offset: model.start)
    }
    var codes: [OperatorCode] = []
    for code in try model.tables(1, "operator_codes", maximum: 256) { codes.append(try OperatorCode(parsing: code)) }
    let graphs = try model.tables(2, "subgraphs", maximum: 16)
    guard let graph = graphs.first, graphs.count == 1 else {
      throw ParsingError(.unsupported, field: "subgraphs", offset: model.start)
    }
    // At most one buffer per tensor, and the empty buffer 0.
    let buffers = try model.tables(4, "buffers", maximum: 2 * Self.maximumTensorCount)
    var tensors = TensorReader(buffers: buffers)
    for table in try graph.tables(0, "tensors", maximum: Self.maximumTensorCount) { try tensors.read(table) }

    var operators: [TFLiteOperator] = []
    for (index, table) in try graph.tables(3, "operators", maximum: Self.maximumOperatorCount).enumerated() {
      let codeIndex = Int(try table.number(0, "opcode_index", default: UInt32(0)))
      guard codeIndex < codes.count else {
        throw ParsingError(.invalid, field: "operators[\(index)] opcode_index")
      }
      let code = codes[codeIndex]
      let inputs = try table.integers(1, "inputs", maximum: Self.maximumOperandCount)
      let outputs = try table.integers(2, "outputs", maximum: Self.maximumOperandCount)
      guard inputs.allSatisfy({ $0 < tensors.count && $0 >= -1 }),
        outputs.allSatisfy({ $0 < tensors.count && $0 >= 0 })
      else { throw ParsingError(.invalid, field: "operators[\(index)] \(code.name) tensors") }
      if code.value == OperatorCode.dequantize || code.value == OperatorCode.densify {
        guard inputs.count == 1, outputs.count == 1, try tensors.unpack(inputs[0], into: outputs[0]) else {
          throw ParsingError(.unsupported, field: "operators[\(index)] \(code.name) of what is no constant")
        }
        continue
      }
      let kind = try TFLiteOperator.Kind(parsing: table, code: code, index: index)
      operators.append(TFLiteOperator(kind, inputs: inputs.map { $0 < 0 ? nil : $0 }, outputs: outputs))
    }
    let inputs = try graph.integers(1, "inputs", maximum: Self.maximumOperandCount)
    let outputs = try graph.integers(2, "outputs", maximum: Self.maximumOperandCount)
    guard (inputs + outputs).allSatisfy({ $0 >= 0 && $0 < tensors.count }) else {
      throw ParsingError(.invalid, field: "inputs and outputs", offset: graph.start)
    }
    let needed = Set(operators.flatMap { $0.inputs.compactMap { $0 } + $0.outputs } + inputs + outputs)
    self.init(tensors: try tensors.finish(needed: needed), operators: operators, inputs: inputs, outputs: outputs)
  }

  /// `file_identifier` of the schema: "TFL3", first character in the lowest byte.
  private static let fileIdentifier: UInt32 = 0x334C_4654
}
