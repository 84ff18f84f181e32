public import Media

/// Sequence parameter set, ITU-T H.264 §7.3.2.1.1: profile, level and frame format.
public struct H264SequenceParameterSet: Hashable, Sendable {
  /// `profile_idc`: 66 Baseline, 77 Main, 100 High, and others of annex A.
  public var profileIDC: UInt8
  /// Byte of constraint flags: `constraint_set0_flag` is the highest bit, the lowest two bits are reserved.
  public var constraintFlags: UInt8
  /// `level_idc`: level × 10, 31 for 3.1.
  public var levelIDC: UInt8
  /// `seq_parameter_set_id`, 0 to 31.
  public var id: UInt8
  /// `chroma_format_idc`: 0 gray, 1 4:2:0, 2 4:2:2, 3 4:4:4.
  public var chromaFormatIDC: UInt8
  /// Bits per luma sample, 8 to 14.
  public var bitDepthLuma: UInt8
  /// Bits per chroma sample, 8 to 14.
  public var bitDepthChroma: UInt8
  /// `max_num_ref_frames`, 0 to 16: maximum number of frames that the decoder keeps for prediction.
  public var maximumReferenceFrames: UInt8
  /// `frame_mbs_only_flag`: every frame is progressive.
  public var isProgressive: Bool
  /// Width in pixels after cropping, 1 to 16,880.
  public var width: Int
  /// Height in pixels after cropping, 1 to 33,760.
  public var height: Int
  /// Color, pixel shape and timing; nil when `vui_parameters_present_flag` is 0.
  public var vui: VUIParameters?

  /// Maximum width or height in macroblocks at level 6.2, annex A.3.1: √(8 × 139,264).
  static let maximumMacroblocks: UInt32 = 1055
  /// Maximum number of macroblocks of a frame at level 6.2, table A-1.
  static let maximumMacroblockCount: UInt32 = 139_264

  /// Nominal frame rate, if the video usability information has timing.
  public var frameRate: FrameRate? {
    self.vui?.frameRate
  }

  /// `profile-level-id` of RFC 6184 §8.1: profile, constraint flags and level as six hexadecimal digits, "42C01F".
  public var profileLevelID: String {
    Hexadecimal.encode([self.profileIDC, self.constraintFlags, self.levelIDC], uppercase: true)
  }

  /// Parses a NAL unit with header byte, without start code.
  ///
  /// - Throws: `.invalid` for another NAL unit type or a value outside the range of §7.4.2.1.1, `.truncated`.
  public init(parsing nalUnit: [UInt8]) throws(ParsingError) {
    guard let header = nalUnit.first else { throw ParsingError(.truncated, field: "nal_unit_type", offset: 0) }
    guard H264NALUnitType(rawValue: header) == .sequenceParameterSet else {
      throw ParsingError(.invalid, field: "nal_unit_type", offset: 0)
    }
    var reader = BitReader(H264EmulationPrevention.rawByteSequencePayload(of: nalUnit))
    self.profileIDC = UInt8(try reader.bits(8, "profile_idc"))
    self.constraintFlags = UInt8(try reader.bits(8, "constraint_set_flags"))
    self.levelIDC = UInt8(try reader.bits(8, "level_idc"))
    self.id = UInt8(try reader.exponentialGolomb("seq_parameter_set_id", upTo: 31))

    self.chromaFormatIDC = 1
    self.bitDepthLuma = 8
    self.bitDepthChroma = 8
    var hasSeparatePlanes = false
    if Self.isHighProfile(self.profileIDC) {
      self.chromaFormatIDC = UInt8(try reader.exponentialGolomb("chroma_format_idc", upTo: 3))
      if self.chromaFormatIDC == 3 {
        hasSeparatePlanes = try reader.flag("separate_colour_plane_flag")
      }
      self.bitDepthLuma = 8 + UInt8(try reader.exponentialGolomb("bit_depth_luma_minus8", upTo: 6))
      self.bitDepthChroma = 8 + UInt8(try reader.exponentialGolomb("bit_depth_chroma_minus8", upTo: 6))
      _ = try reader.flag("qpprime_y_zero_transform_bypass_flag")
      if try reader.flag("seq_scaling_matrix_present_flag") {
        try Self.skipScalingLists(count: self.chromaFormatIDC == 3 ? 12 : 8, &reader)
      }
    }

    _ = try reader.exponentialGolomb("log2_max_frame_num_minus4", upTo: 12)
    try Self.skipPictureOrderCount(&reader)
    self.maximumReferenceFrames = UInt8(try reader.exponentialGolomb("max_num_ref_frames", upTo: 16))
    _ = try reader.flag("gaps_in_frame_num_value_allowed_flag")

    let last = Self.maximumMacroblocks - 1
    let columns = 1 + Int(try reader.exponentialGolomb("pic_width_in_mbs_minus1", upTo: last))
    let mapUnits = 1 + Int(try reader.exponentialGolomb("pic_height_in_map_units_minus1", upTo: last))
    self.isProgressive = try reader.flag("frame_mbs_only_flag")
    if !self.isProgressive { _ = try reader.flag("mb_adaptive_frame_field_flag") }
    _ = try reader.flag("direct_8x8_inference_flag")
    let rowsOfUnit = self.isProgressive ? 1 : 2
    self.width = columns * 16
    self.height = mapUnits * 16 * rowsOfUnit
    if try reader.flag("frame_cropping_flag") {
      let subsamples = !hasSeparatePlanes && (self.chromaFormatIDC == 1 || self.chromaFormatIDC == 2)
      let unitX = subsamples ? 2 : 1
      let unitY = (!hasSeparatePlanes && self.chromaFormatIDC == 1 ? 2 : 1) * rowsOfUnit
      try Self.crop(&self.width, unit: unitX, "frame_crop_right_offset", &reader)
      try Self.crop(&self.height, unit: unitY, "frame_crop_bottom_offset", &reader)
    }
    if try reader.flag("vui_parameters_present_flag") {
      self.vui = try VUIParameters(&reader)
    }
  }

  /// Profiles whose parameter sets contain the chroma format, §7.3.2.1.1.
  private static func isHighProfile(_ profileIDC: UInt8) -> Bool {
    [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profileIDC)
  }

  /// Reads the crop offsets of two opposite sides and subtracts them from a length.
  private static func crop(
    _ length: inout Int, unit: Int, _ field: String, _ reader: inout BitReader
  ) throws(ParsingError) {
    let offset = reader.offset
    let first = Int(try reader.exponentialGolomb(field))
    let second = Int(try reader.exponentialGolomb(field))
    guard (first + second) * unit < length else { throw ParsingError(.invalid, field: field, offset: offset) }
    length -= (first + second) * unit
  }

  /// Skips six 4×4 lists, then 8×8 lists, §7.3.2.1.1.1.
  private static func skipScalingLists(count: Int, _ reader: inout BitReader) throws(ParsingError) {
    for list in 0..<count where try reader.flag("seq_scaling_list_present_flag") {
      var lastScale: Int32 = 8
      for _ in 0..<(list < 6 ? 16 : 64) {
        let offset = reader.offset
        let delta = try reader.signedExponentialGolomb("delta_scale")
        guard (-128...127).contains(delta) else {
          throw ParsingError(.invalid, field: "delta_scale", offset: offset)
        }
        lastScale = (lastScale + delta + 256) % 256
        // The rest of the list repeats the last value.
        if lastScale == 0 { break }
      }
    }
  }

  private static func skipPictureOrderCount(_ reader: inout BitReader) throws(ParsingError) {
    switch try reader.exponentialGolomb("pic_order_cnt_type", upTo: 2) {
    case 0:
      _ = try reader.exponentialGolomb("log2_max_pic_order_cnt_lsb_minus4", upTo: 12)
    case 1:
      _ = try reader.flag("delta_pic_order_always_zero_flag")
      _ = try reader.signedExponentialGolomb("offset_for_non_ref_pic")
      _ = try reader.signedExponentialGolomb("offset_for_top_to_bottom_field")
      for _ in 0..<(try reader.exponentialGolomb("num_ref_frames_in_pic_order_cnt_cycle", upTo: 255)) {
        _ = try reader.signedExponentialGolomb("offset_for_ref_frame")
      }
    default: break
    }
  }
}
