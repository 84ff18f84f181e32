package import CLibav

/// Colors of video as a container or its codec states them, for frames that state none.
///
/// The tags of HDR are often in the container alone, and the decoder of HEVC then reports frames as unspecified. Once the frames
/// state a property, that of the container counts no more: what is untagged behind them may be another clip.
package struct VideoColors {
  private var primaries: AVColorPrimaries
  private var transfer: AVColorTransferCharacteristic
  private var matrix: AVColorSpace

  /// The colors of a stream.
  package init(_ parameters: AVCodecParameters) {
    (self.primaries, self.transfer) = (parameters.color_primaries, parameters.color_trc)
    self.matrix = parameters.color_space
  }

  /// Sets the properties that a stream does not state.
  package mutating func complete(_ parameters: inout AVCodecParameters) {
    self.complete(&parameters.color_primaries, &parameters.color_trc, &parameters.color_space)
  }

  /// Sets the properties that a frame does not state.
  mutating func complete(_ frame: inout AVFrame) {
    self.complete(&frame.color_primaries, &frame.color_trc, &frame.colorspace)
  }

  /// Sets the values that are unspecified; 0 is reserved, but for the matrix, where it is RGB.
  private mutating func complete(
    _ primaries: inout AVColorPrimaries, _ transfer: inout AVColorTransferCharacteristic, _ matrix: inout AVColorSpace
  ) {
    if primaries == AVCOL_PRI_UNSPECIFIED || primaries == AVCOL_PRI_RESERVED0 {
      primaries = self.primaries
    } else {
      self.primaries = AVCOL_PRI_UNSPECIFIED
    }
    if transfer == AVCOL_TRC_UNSPECIFIED || transfer == AVCOL_TRC_RESERVED0 {
      transfer = self.transfer
    } else {
      self.transfer = AVCOL_TRC_UNSPECIFIED
    }
    if matrix == AVCOL_SPC_UNSPECIFIED {
      matrix = self.matrix
    } else {
      self.matrix = AVCOL_SPC_UNSPECIFIED
    }
  }
}
