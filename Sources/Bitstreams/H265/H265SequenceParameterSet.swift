package import Media
internal import NIOCore

/// Sequence parameter set of HEVC, ITU-T H.265 §7.3.2.2, as far as the structure of its access units.
package struct H265SequenceParameterSet: Hashable, Sendable {
  /// `field_seq_flag`: each access unit is a field, so that frames have twice the height.
  package let isFieldCoded: Bool

  /// `nal_unit_type` of sequence parameter sets, table 7-1.
  private static let nalUnitType: UInt8 = 33

  /// Parses a NAL unit with its header of two bytes, without start code.
  ///
  /// - Throws: `.invalid` for another NAL unit type or a value out of range, `.truncated`.
  package init(parsing nalUnit: [UInt8]) throws(ParsingError) {
    guard let first = nalUnit.first else { throw ParsingError(.truncated, field: "nal_unit_type", offset: 0) }
    guard first >> 1 & 0b11_1111 == Self.nalUnitType else {
      throw ParsingError(.invalid, field: "nal_unit_type", offset: 0)
    }
    // The second byte of the header stands where H.264 has its only one.
    var reader = BitReader(H264EmulationPrevention.rawByteSequencePayload(of: Array(nalUnit.dropFirst())))
    _ = try reader.bits(4, "sps_video_parameter_set_id")
    let subLayers = Int(try reader.bits(3, "sps_max_sub_layers_minus1"))
    _ = try reader.flag("sps_temporal_id_nesting_flag")
    try Self.skipProfileTierLevel(&reader, subLayers: subLayers)
    _ = try reader.exponentialGolomb("sps_seq_parameter_set_id", upTo: 15)
    if try reader.exponentialGolomb("chroma_format_idc", upTo: 3) == 3 {
      _ = try reader.flag("separate_colour_plane_flag")
    }
    try Self.skip(2, "pic_width_in_luma_samples", &reader)
    if try reader.flag("conformance_window_flag") { try Self.skip(4, "conf_win_left_offset", &reader) }
    try Self.skip(2, "bit_depth_luma_minus8", &reader)
    let counterBits = 4 + Int(try reader.exponentialGolomb("log2_max_pic_order_cnt_lsb_minus4", upTo: 12))
    let isEachOrdered = try reader.flag("sps_sub_layer_ordering_info_present_flag")
    for _ in 0...(isEachOrdered ? subLayers : 0) { try Self.skip(3, "sps_max_dec_pic_buffering_minus1", &reader) }
    try Self.skip(6, "log2_min_luma_coding_block_size_minus3", &reader)
    if try reader.flag("scaling_list_enabled_flag"), try reader.flag("sps_scaling_list_data_present_flag") {
      try Self.skipScalingLists(&reader)
    }
    _ = try reader.bits(2, "amp_enabled_flag")
    if try reader.flag("pcm_enabled_flag") {
      _ = try reader.bits(8, "pcm_sample_bit_depth_luma_minus1")
      try Self.skip(2, "log2_min_pcm_luma_coding_block_size_minus3", &reader)
      _ = try reader.flag("pcm_loop_filter_disabled_flag")
    }
    try Self.skipReferenceFrameSets(&reader)
    if try reader.flag("long_term_ref_pics_present_flag") {
      for _ in 0..<(try reader.exponentialGolomb("num_long_term_ref_pics_sps", upTo: 32)) {
        _ = try reader.bits(counterBits + 1, "lt_ref_pic_poc_lsb_sps")
      }
    }
    _ = try reader.bits(2, "sps_temporal_mvp_enabled_flag")
    self.isFieldCoded = try reader.flag("vui_parameters_present_flag") ? Self.fieldSequence(&reader) : false
  }

  /// The first sequence parameter set in a track's configuration; nil without one.
  ///
  /// - Parameter configuration: NAL units with start codes, or the content of an `hvcC` box, ISO/IEC 14496-15 §8.3.3.1.2.
  package static func first(in configuration: [UInt8]) -> H265SequenceParameterSet? {
    // An `hvcC` begins with its version, 1, a byte stream with zeros.
    let units =
      configuration.first == 1
      ? self.units(ofRecord: configuration)
      : AnnexBNALUnits(ByteBuffer(bytes: configuration)).map { Array($0.readableBytesView) }
    return units.lazy.compactMap { try? H265SequenceParameterSet(parsing: $0) }.first
  }

  /// NAL units of an `hvcC` box, up to the first that is cut off: 22 bytes, the number of arrays, and in each of them a byte with its type,
  /// the number of NAL units, and these behind their lengths.
  private static func units(ofRecord record: [UInt8]) -> [[UInt8]] {
    var rest = ByteBuffer(bytes: record)
    guard rest.readSlice(length: 22) != nil, let arrayCount = rest.readInteger(as: UInt8.self) else { return [] }
    var units: [[UInt8]] = []
    for _ in 0..<arrayCount {
      guard rest.readInteger(as: UInt8.self) != nil, let count = rest.readInteger(as: UInt16.self) else { return units }
      for _ in 0..<count {
        guard let length = rest.readInteger(as: UInt16.self), let unit = rest.readBytes(length: Int(length)) else {
          return units
        }
        units.append(unit)
      }
    }
    return units
  }

  /// `field_seq_flag` of the video usability information, §E.2.1.
  private static func fieldSequence(_ reader: inout BitReader) throws(ParsingError) -> Bool {
    if try reader.flag("aspect_ratio_info_present_flag"), try reader.bits(8, "aspect_ratio_idc") == 255 {
      _ = try reader.bits(32, "sar_width")
    }
    if try reader.flag("overscan_info_present_flag") { _ = try reader.flag("overscan_appropriate_flag") }
    if try reader.flag("video_signal_type_present_flag") {
      _ = try reader.bits(4, "video_format")
      if try reader.flag("colour_description_present_flag") { _ = try reader.bits(24, "colour_primaries") }
    }
    if try reader.flag("chroma_loc_info_present_flag") { try self.skip(2, "chroma_sample_loc_type_top_field", &reader) }
    _ = try reader.flag("neutral_chroma_indication_flag")
    return try reader.flag("field_seq_flag")
  }

  /// Skips unsigned Exp-Golomb numbers.
  private static func skip(_ count: Int, _ field: String, _ reader: inout BitReader) throws(ParsingError) {
    for _ in 0..<count { _ = try reader.exponentialGolomb(field) }
  }

  /// §7.3.3: 88 bits of a profile and 8 of a level, of the whole stream and of sub-layers.
  private static func skipProfileTierLevel(_ reader: inout BitReader, subLayers: Int) throws(ParsingError) {
    func skip(_ count: Int) throws(ParsingError) {
      for _ in 0..<count / 8 { _ = try reader.bits(8, "profile_tier_level") }
    }
    try skip(96)
    var lengths = 0
    for _ in 0..<subLayers {
      lengths += try reader.flag("sub_layer_profile_present_flag") ? 88 : 0
      lengths += try reader.flag("sub_layer_level_present_flag") ? 8 : 0
    }
    if subLayers > 0 { for _ in subLayers..<8 { _ = try reader.bits(2, "reserved_zero_2bits") } }
    try skip(lengths)
  }

  /// §7.3.4.
  private static func skipScalingLists(_ reader: inout BitReader) throws(ParsingError) {
    for size in 0..<4 {
      for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
        guard try reader.flag("scaling_list_pred_mode_flag") else {
          try self.skip(1, "scaling_list_pred_matrix_id_delta", &reader)
          continue
        }
        if size > 1 { _ = try reader.signedExponentialGolomb("scaling_list_dc_coef_minus8") }
        for _ in 0..<min(64, 1 << (4 + 2 * size)) { _ = try reader.signedExponentialGolomb("scaling_list_delta_coef") }
      }
    }
  }

  /// §7.3.7: sets of short-term reference frames, which may be predicted from the one before.
  private static func skipReferenceFrameSets(_ reader: inout BitReader) throws(ParsingError) {
    var deltaCount = 0
    for index in 0..<(try reader.exponentialGolomb("num_short_term_ref_pic_sets", upTo: 64)) {
      if index > 0, try reader.flag("inter_ref_pic_set_prediction_flag") {
        _ = try reader.flag("delta_rps_sign")
        try self.skip(1, "abs_delta_rps_minus1", &reader)
        var count = 0
        for _ in 0...deltaCount {
          let isUsed = try reader.flag("used_by_curr_pic_flag")
          count += try isUsed ? 1 : reader.bits(1, "use_delta_flag") == 1 ? 1 : 0
        }
        guard count <= 16 else {
          throw ParsingError(.invalid, field: "num_short_term_ref_pic_sets", offset: reader.offset)
        }
        deltaCount = count
      } else {
        let negative = try reader.exponentialGolomb("num_negative_pics", upTo: 16)
        let positive = try reader.exponentialGolomb("num_positive_pics", upTo: 16)
        deltaCount = Int(negative + positive)
        for _ in 0..<deltaCount {
          try self.skip(1, "delta_poc_minus1", &reader)
          _ = try reader.flag("used_by_curr_pic_flag")
        }
      }
    }
  }
}
