import CLibav
import Testing

@testable import Codecs

@Suite("Colors that a container states")
struct VideoColorsTests {
  /// Colors of BT.2100 with HLG.
  private static func stated() -> VideoColors {
    var parameters = AVCodecParameters()
    parameters.color_primaries = AVCOL_PRI_BT2020
    parameters.color_trc = AVCOL_TRC_ARIB_STD_B67
    parameters.color_space = AVCOL_SPC_BT2020_NCL
    return VideoColors(parameters)
  }

  /// A frame without colors.
  private static func untagged() -> AVFrame {
    var frame = AVFrame()
    frame.color_primaries = AVCOL_PRI_UNSPECIFIED
    frame.color_trc = AVCOL_TRC_UNSPECIFIED
    frame.colorspace = AVCOL_SPC_UNSPECIFIED
    return frame
  }

  @Test func `frames without colors have those of the container`() {
    var colors = Self.stated()
    for _ in 0..<2 {
      var frame = Self.untagged()
      colors.complete(&frame)
      #expect(frame.color_primaries == AVCOL_PRI_BT2020 && frame.color_trc == AVCOL_TRC_ARIB_STD_B67)
      #expect(frame.colorspace == AVCOL_SPC_BT2020_NCL)
    }
  }

  @Test func `what a frame states counts, and for that the container counts no more`() {
    var colors = Self.stated()
    var frame = Self.untagged()
    frame.color_trc = AVCOL_TRC_BT709
    colors.complete(&frame)
    #expect(frame.color_primaries == AVCOL_PRI_BT2020 && frame.color_trc == AVCOL_TRC_BT709)
    var next = Self.untagged()
    colors.complete(&next)
    #expect(next.color_primaries == AVCOL_PRI_BT2020 && next.color_trc == AVCOL_TRC_UNSPECIFIED)
  }

  @Test func `a matrix of RGB is one, and reserved values are none`() {
    var colors = Self.stated()
    var frame = AVFrame()
    frame.colorspace = AVCOL_SPC_RGB
    colors.complete(&frame)
    #expect(frame.colorspace == AVCOL_SPC_RGB && frame.color_trc == AVCOL_TRC_ARIB_STD_B67)
  }
}
