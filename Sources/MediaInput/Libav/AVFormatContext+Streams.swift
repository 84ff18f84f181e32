internal import CLibav
internal import Media

extension UnsafeMutablePointer<AVFormatContext> {
  /// Frame rate of a stream, from its header or timestamps; 25 when neither is plausible (1/60 to 240).
  func frameRate(of stream: UnsafeMutablePointer<AVStream>) -> FrameRate {
    for rate in [av_guess_frame_rate(self, stream, nil), stream.pointee.avg_frame_rate]
    where rate.num > 0 && rate.den > 0 && rate.num / rate.den <= 240 && rate.den / rate.num <= 60 {
      return FrameRate(rate.num, over: rate.den)
    }
    return FrameRate(25)
  }
}
