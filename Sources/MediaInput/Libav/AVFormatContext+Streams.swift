internal import CLibav
internal import Media

extension UnsafeMutablePointer<AVFormatContext> {
  /// Index of the stream of a type that players would choose; nil when there is none. Cover images are not video.
  func bestStream(_ type: AVMediaType) -> Int? {
    let best = av_find_best_stream(self, type, -1, -1, nil, 0)
    guard best >= 0, let stream = self.pointee.streams[Int(best)] else { return nil }
    return stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 ? Int(best) : nil
  }

  /// Frame rate of a stream, from its header or timestamps; 25 when neither is plausible (1/60 to 240).
  func frameRate(of stream: UnsafeMutablePointer<AVStream>) -> FrameRate {
    for rate in [av_guess_frame_rate(self, stream, nil), stream.pointee.avg_frame_rate]
    where rate.num > 0 && rate.den > 0 && rate.num / rate.den <= 240 && rate.den / rate.num <= 60 {
      return FrameRate(rate.num, over: rate.den)
    }
    return FrameRate(25)
  }
}
