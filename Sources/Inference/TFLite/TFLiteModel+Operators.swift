internal import Media

/// Code of an operator, `BuiltinOperator` in the schema.
struct OperatorCode {
  static let dequantize = 6
  static let densify = 124
  /// Names for error messages: the supported operators, and others that are common in models of faces and hands.
  private static let names: [Int: String] = [
    0: "ADD", 1: "AVERAGE_POOL_2D", 2: "CONCATENATION", 3: "CONV_2D", 4: "DEPTHWISE_CONV_2D", 5: "DEPTH_TO_SPACE",
    6: "DEQUANTIZE", 9: "FULLY_CONNECTED", 14: "LOGISTIC", 17: "MAX_POOL_2D", 18: "MUL", 19: "RELU", 21: "RELU6",
    22: "RESHAPE", 23: "RESIZE_BILINEAR", 25: "SOFTMAX", 28: "TANH", 32: "CUSTOM", 34: "PAD", 39: "TRANSPOSE",
    40: "MEAN", 41: "SUB", 42: "DIV", 45: "STRIDED_SLICE", 49: "SPLIT", 54: "PRELU", 67: "TRANSPOSE_CONV",
    98: "LEAKY_RELU", 114: "QUANTIZE", 117: "HARD_SWISH", 124: "DENSIFY",
  ]

  let value: Int

  init(parsing table: FlatBuffer.Table) throws(ParsingError) {
    // Codes up to 127 are in the older field, larger ones in the newer field; the unused field is smaller.
    let older = Int(try table.number(0, "deprecated_builtin_code", default: Int8(0)))
    let newer = Int(try table.number(3, "builtin_code", default: Int32(0)))
    self.value = max(older, newer)
  }

  var name: String { Self.names[self.value] ?? "operator with code \(self.value)" }
}

extension TFLiteOperator.Kind {
  /// Parses the options of an operator; throws for unsupported operators and options.
  init(parsing table: FlatBuffer.Table, code: OperatorCode, index: Int) throws(ParsingError) {
    let options = OperatorOptions(table: try table.table(4, "builtin_options"), name: code.name, index: index)
    switch code.value {
    case 0: self = .add(try options.activation(0))
    case 2: self = .concatenation(axis: Int(try options.number(0, "axis")), try options.activation(1))
    case 3:
      try options.expectOne(4, "dilation_w_factor")
      try options.expectOne(5, "dilation_h_factor")
      self = .convolution(try options.window(), try options.activation(3))
    case 4:
      try options.expectOne(3, "depth_multiplier", default: 0)
      try options.expectOne(5, "dilation_w_factor")
      try options.expectOne(6, "dilation_h_factor")
      self = .depthwiseConvolution(try options.window(), try options.activation(4))
    case 5: self = .depthToSpace(blockSize: Int(try options.number(0, "block_size")))
    case 14: self = .logistic
    case 17:
      self = .maxPool(
        try options.window(), height: Int(try options.number(4, "filter_height")),
        width: Int(try options.number(3, "filter_width")), try options.activation(5))
    case 19: self = .activation(.relu)
    case 21: self = .activation(.relu6)
    case 22: self = .reshape
    case 23:
      self = .resizeBilinear(
        alignsCorners: try options.flag(2, "align_corners"),
        hasHalfPixelCenters: try options.flag(3, "half_pixel_centers"))
    case 34: self = .pad
    case 54: self = .prelu
    default: throw ParsingError(.unsupported, field: "operators[\(index)] \(code.name)")
    }
  }
}

/// Table with the options of an operator; an absent table stands for all defaults.
private struct OperatorOptions {
  let table: FlatBuffer.Table?
  let name: String
  let index: Int

  func number(_ index: Int, _ field: String, default absent: Int32 = 0) throws(ParsingError) -> Int32 {
    try self.table?.number(index, field, default: absent) ?? absent
  }

  func flag(_ index: Int, _ field: String) throws(ParsingError) -> Bool {
    (try self.table?.number(index, field, default: UInt8(0)) ?? 0) != 0
  }

  func expectOne(_ index: Int, _ field: String, default absent: Int32 = 1) throws(ParsingError) {
    guard try self.number(index, field, default: absent) == 1 else { throw self.unsupported(field) }
  }

  func activation(_ index: Int) throws(ParsingError) -> TFLiteActivation {
    let field = "fused_activation_function"
    switch try self.table?.number(index, field, default: Int8(0)) ?? 0 {
    case 0: return .none
    case 1: return .relu
    case 3: return .relu6
    default: throw self.unsupported(field)
    }
  }

  /// Padding and strides, the first options of convolutions and pooling.
  func window() throws(ParsingError) -> TFLiteOperator.Window {
    let padding = try self.table?.number(0, "padding", default: Int8(0)) ?? 0
    guard (0...1).contains(padding) else { throw self.unsupported("padding") }
    return TFLiteOperator.Window(
      padding == 0 ? .same : .valid, strideY: Int(try self.number(2, "stride_h")),
      strideX: Int(try self.number(1, "stride_w")))
  }

  private func unsupported(_ field: String) -> ParsingError {
    ParsingError(.unsupported, field: "operators[\(self.index)] \(self.name) \(field)")
  }
}
