public import Media

/// Video usability information (VUI) of a sequence parameter set, ITU-T H.264 §E.1.1: color, pixel shape and timing.
public struct VUIParameters: Hashable, Sendable {
  /// Color code points, ITU-T H.273; in each of them 2 is "unspecified".
  public struct ColourDescription: Hashable, Sendable {
    /// `colour_primaries`, table E-3: 1 is BT.709, 5 and 6 are BT.601 with 625 and 525 lines.
    public var primaries: UInt8
    /// `transfer_characteristics`, table E-4: 1 is BT.709, 6 BT.601.
    public var transferCharacteristics: UInt8
    /// `matrix_coefficients`, table E-5: 1 is BT.709, 5 and 6 are BT.601.
    public var matrixCoefficients: UInt8

    /// Creates a description from three code points of ITU-T H.273.
    public init(primaries: UInt8, transferCharacteristics: UInt8, matrixCoefficients: UInt8) {
      self.primaries = primaries
      self.transferCharacteristics = transferCharacteristics
      self.matrixCoefficients = matrixCoefficients
    }
  }

  /// Clock of the frames, `timing_info`: a tick lasts ``unitsInTick`` ÷ ``timeScale`` seconds, a frame two ticks.
  public struct Timing: Hashable, Sendable {
    /// `num_units_in_tick`, at least 1 in a valid stream.
    public var unitsInTick: UInt32
    /// `time_scale`: units per second, at least 1 in a valid stream. A frame lasts two ticks.
    public var timeScale: UInt32
    /// `fixed_frame_rate_flag`: frames have a constant rate.
    public var isFixed: Bool

    /// Creates timing information; a frame lasts 2 × `unitsInTick` ÷ `timeScale` seconds.
    public init(unitsInTick: UInt32, timeScale: UInt32, isFixed: Bool) {
      self.unitsInTick = unitsInTick
      self.timeScale = timeScale
      self.isFixed = isFixed
    }
  }

  /// Ratio of width to height of a pixel, table E-1.
  public struct SampleAspectRatio: Hashable, Sendable {
    /// Width of a sample in some unit, at least 1.
    public var width: UInt16
    /// Height of a sample in the same unit, at least 1.
    public var height: UInt16

    /// Creates a ratio; both values at least 1.
    public init(width: UInt16, height: UInt16) {
      self.width = width
      self.height = height
    }
  }

  /// Ratio of a pixel's width to its height; nil when it is absent, unspecified or reserved.
  public var sampleAspectRatio: SampleAspectRatio?
  /// `video_full_range_flag`: luma is 0 to 255 instead of 16 to 235.
  public var isFullRange = false
  /// Code points of the colors; nil when `colour_description_present_flag` is 0 or absent.
  public var colourDescription: ColourDescription?
  /// Clock of the frames; nil when `timing_info_present_flag` is 0.
  public var timing: Timing?
  /// `max_num_reorder_frames`, if present, 0 to 16: 0 means output in decoding order.
  public var reorderFrames: UInt8?
  /// `max_dec_frame_buffering`, if present, 0 to 16.
  public var maximumDecoderFrameBuffering: UInt8?

  /// `time_scale / (2 × num_units_in_tick)` in lowest terms; nil when absent, zero, or out of ``/Media/FrameRate``'s range.
  public var frameRate: FrameRate? {
    guard let timing = self.timing, timing.unitsInTick > 0, timing.timeScale > 0 else { return nil }
    let numerator = UInt64(timing.timeScale)
    let denominator = 2 * UInt64(timing.unitsInTick)
    let divisor = Self.greatestCommonDivisor(numerator, denominator)
    guard
      let reducedNumerator = Int32(exactly: numerator / divisor),
      let reducedDenominator = Int32(exactly: denominator / divisor)
    else { return nil }
    return FrameRate(reducedNumerator, over: reducedDenominator)
  }

  init(_ reader: inout BitReader) throws(ParsingError) {
    if try reader.flag("aspect_ratio_info_present_flag") {
      let extended: UInt32 = 255
      let index = try reader.bits(8, "aspect_ratio_idc")
      var ratio = index < Self.aspectRatios.count ? Self.aspectRatios[Int(index)] : (0, 0)
      if index == extended {
        ratio.0 = UInt16(try reader.bits(16, "sar_width"))
        ratio.1 = UInt16(try reader.bits(16, "sar_height"))
      }
      if ratio.0 > 0, ratio.1 > 0 { self.sampleAspectRatio = SampleAspectRatio(width: ratio.0, height: ratio.1) }
    }
    if try reader.flag("overscan_info_present_flag") { _ = try reader.flag("overscan_appropriate_flag") }
    if try reader.flag("video_signal_type_present_flag") {
      _ = try reader.bits(3, "video_format")
      self.isFullRange = try reader.flag("video_full_range_flag")
      if try reader.flag("colour_description_present_flag") {
        self.colourDescription = ColourDescription(
          primaries: UInt8(try reader.bits(8, "colour_primaries")),
          transferCharacteristics: UInt8(try reader.bits(8, "transfer_characteristics")),
          matrixCoefficients: UInt8(try reader.bits(8, "matrix_coefficients")))
      }
    }
    if try reader.flag("chroma_loc_info_present_flag") {
      _ = try reader.exponentialGolomb("chroma_sample_loc_type_top_field", upTo: 5)
      _ = try reader.exponentialGolomb("chroma_sample_loc_type_bottom_field", upTo: 5)
    }
    if try reader.flag("timing_info_present_flag") {
      self.timing = Timing(
        unitsInTick: try reader.bits(32, "num_units_in_tick"),
        timeScale: try reader.bits(32, "time_scale"),
        isFixed: try reader.flag("fixed_frame_rate_flag"))
    }
    let hasNALParameters = try reader.flag("nal_hrd_parameters_present_flag")
    if hasNALParameters { try Self.skipReferenceDecoderParameters(&reader) }
    let hasVCLParameters = try reader.flag("vcl_hrd_parameters_present_flag")
    if hasVCLParameters { try Self.skipReferenceDecoderParameters(&reader) }
    if hasNALParameters || hasVCLParameters { _ = try reader.flag("low_delay_hrd_flag") }
    _ = try reader.flag("pic_struct_present_flag")
    if try reader.flag("bitstream_restriction_flag") {
      _ = try reader.flag("motion_vectors_over_pic_boundaries_flag")
      _ = try reader.exponentialGolomb("max_bytes_per_pic_denom", upTo: 16)
      _ = try reader.exponentialGolomb("max_bits_per_mb_denom", upTo: 16)
      _ = try reader.exponentialGolomb("log2_max_mv_length_horizontal", upTo: 16)
      _ = try reader.exponentialGolomb("log2_max_mv_length_vertical", upTo: 16)
      self.reorderFrames = UInt8(try reader.exponentialGolomb("max_num_reorder_frames", upTo: 16))
      self.maximumDecoderFrameBuffering = UInt8(try reader.exponentialGolomb("max_dec_frame_buffering", upTo: 16))
    }
  }

  /// Table E-1; 0 is "unspecified".
  private static let aspectRatios: [(UInt16, UInt16)] = [
    (0, 0), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33), (18, 11), (15, 11),
    (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
  ]

  /// Skips HRD parameters, §E.1.2.
  private static func skipReferenceDecoderParameters(_ reader: inout BitReader) throws(ParsingError) {
    let buffers = 1 + (try reader.exponentialGolomb("cpb_cnt_minus1", upTo: 31))
    _ = try reader.bits(8, "bit_rate_scale")
    for _ in 0..<buffers {
      _ = try reader.exponentialGolomb("bit_rate_value_minus1")
      _ = try reader.exponentialGolomb("cpb_size_value_minus1")
      _ = try reader.flag("cbr_flag")
    }
    _ = try reader.bits(20, "initial_cpb_removal_delay_length_minus1")
  }

  private static func greatestCommonDivisor(_ first: UInt64, _ second: UInt64) -> UInt64 {
    var (first, second) = (first, second)
    while second != 0 { (first, second) = (second, first % second) }
    return first
  }
}
