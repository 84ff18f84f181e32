internal import CLibav
package import Media

/// Decodes H.264 in the form of ``EncodedSample``: length-prefixed NAL units, with out-of-band parameter sets.
///
/// Used by one thread at a time. Damaged samples are skipped and counted.
package final class H264Decoder {
  private let decoder: PacketDecoder
  private let converter: DecodedFrameConverter

  /// Opens a decoder.
  ///
  /// - Throws: ``VidiconError`` when libavcodec has no H.264 decoder on this machine, or memory is exhausted.
  package init(_ description: H264Description) throws(VidiconError) {
    let source = "H.264 decoder"
    guard let parameters = CodecParameters(description) else {
      throw VidiconError(libav: vidicon_averror_enomem, source: source)
    }
    defer { withExtendedLifetime(parameters) {} }
    self.decoder = try PacketDecoder(parameters.pointer, source: source)
    self.converter = DecodedFrameConverter(displayMatrix: nil, frameRate: description.frameRate, as: .i420)
  }

  /// Number of packets and frames that could not be decoded.
  package var corruptCount: Int { self.decoder.corruptCount }

  /// Decodes a sample, and returns the frames completed by it in presentation order, in I420.
  package func decode(_ sample: EncodedSample) -> [VideoFrame] {
    guard self.decoder.append(sample) else { return [] }
    var frames: [VideoFrame] = []
    _ = self.decoder.decodeNext { frame in
      let timestamp = frame.pointee.best_effort_timestamp
      let time = timestamp == vidicon_av_nopts_value ? sample.presentationTime : MediaTime(nanoseconds: timestamp)
      if let converted = self.converter.videoFrame(from: frame, at: time) { frames.append(converted) }
    }
    return frames
  }
}
