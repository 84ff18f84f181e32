internal import CLibav
internal import Media

extension UnsafeMutablePointer<AVFormatContext> {
  /// The stream of a kind that players would choose; cover pictures of music are not moving pictures.
  func bestStream(_ type: AVMediaType) -> Int? {
    let best = av_find_best_stream(self, type, -1, -1, nil, 0)
    guard best >= 0, let stream = self.pointee.streams[Int(best)] else { return nil }
    return stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 ? Int(best) : nil
  }

  /// Pictures a second of a stream: what its header says, or its timestamps; 25 when neither is believable.
  func frameRate(of stream: UnsafeMutablePointer<AVStream>) -> FrameRate {
    for rate in [av_guess_frame_rate(self, stream, nil), stream.pointee.avg_frame_rate]
    where rate.num > 0 && rate.den > 0 && rate.num / rate.den <= 240 && rate.den / rate.num <= 60 {
      return FrameRate(rate.num, over: rate.den)
    }
    return FrameRate(25)
  }
}
