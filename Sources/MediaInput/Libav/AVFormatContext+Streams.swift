internal import CLibav
internal import Codecs
internal import Media

extension UnsafeMutablePointer<AVFormatContext> {
  /// Reads the first packets for what the header does not say about the streams; see `avformat_find_stream_info`.
  ///
  /// Colors that the container states stay where the video states none: decoders of HEVC replace them by "unspecified".
  ///
  /// - Returns: A status of libavformat.
  func findStreamInformation() -> Int32 {
    let stated = (0..<Int(self.pointee.nb_streams)).map { index in
      self.pointee.streams[index].map { VideoColors($0.pointee.codecpar.pointee) }
    }
    let status = avformat_find_stream_info(self, nil)
    for (index, colors) in stated.enumerated() {
      guard var colors, let parameters = self.pointee.streams[index]?.pointee.codecpar else { continue }
      colors.complete(&parameters.pointee)
    }
    return status
  }

  /// Makes audio streams of RTSP data, of which nothing is waited for and nothing chosen.
  ///
  /// - Parameter places: Their places among the video and audio of the description, which libavformat has as identifiers.
  func hideStreams(_ places: Set<Int>) {
    for index in 0..<Int(self.pointee.nb_streams) {
      guard let stream = self.pointee.streams[index], places.contains(Int(stream.pointee.id)),
        stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
      else { continue }
      stream.pointee.discard = AVDISCARD_ALL
      stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_DATA
    }
  }

  /// Whether a program has a stream: the program map of a transport stream that has changed leaves out those that have ended.
  func isInProgram(_ index: Int) -> Bool {
    (0..<Int(self.pointee.nb_programs)).contains { number in
      guard let program = self.pointee.programs[number]?.pointee else { return false }
      return (0..<Int(program.nb_stream_indexes)).contains { Int(program.stream_index[$0]) == index }
    }
  }

  /// Whether packets have no timestamps, as those of H.264 and HEVC without a container.
  var isUntimed: Bool {
    guard let format = self.pointee.iformat?.pointee else { return false }
    return format.flags & AVFMT_NOTIMESTAMPS != 0 || ["h264", "hevc", "vvc"].contains(String(cString: format.name))
  }

  /// Whether the header announces video of which nothing has come, as that of FLV does (version 10.1, annex E.2).
  var awaitsVideo: Bool {
    guard let format = self.pointee.iformat?.pointee, ["flv", "live_flv"].contains(String(cString: format.name)) else {
      return false
    }
    var missing: Int64 = 0
    return av_opt_get_int(self.pointee.priv_data, "missing_streams", 0, &missing) >= 0 && missing & 1 != 0
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
