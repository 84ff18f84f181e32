internal import CLibav
package import Media
internal import NIOCore

/// Decodes H.264 in the form of ``EncodedSample``: length-prefixed NAL units, with out-of-band parameter sets.
///
/// Used by one thread at a time. Damaged samples are skipped and counted.
package final class H264Decoder {
  private let decoder: PacketDecoder
  private let converter: DecodedFrameConverter
  private let packet: UnsafeMutablePointer<AVPacket>

  /// Opens a decoder.
  ///
  /// - Throws: ``VidiconError`` when libavcodec has no H.264 decoder on this machine, or memory is exhausted.
  package init(_ description: H264Description) throws(VidiconError) {
    let source = "H.264 decoder"
    guard let parameters = CodecParameters(description), let packet = av_packet_alloc() else {
      throw VidiconError(libav: vidicon_averror_enomem, source: source)
    }
    defer { withExtendedLifetime(parameters) {} }
    self.packet = packet
    do throws(VidiconError) {
      self.decoder = try PacketDecoder(parameters.pointer, source: source)
    } catch {
      var packet: UnsafeMutablePointer<AVPacket>? = packet
      av_packet_free(&packet)
      throw error
    }
    self.converter = DecodedFrameConverter(displayMatrix: nil, frameRate: description.frameRate, as: .i420)
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = self.packet
    av_packet_free(&packet)
  }

  /// Number of packets and frames that could not be decoded.
  package var corruptCount: Int { self.decoder.corruptCount }

  /// Decodes a sample, and returns the frames completed by it in presentation order, in I420.
  package func decode(_ sample: EncodedSample) -> [VideoFrame] {
    let count = sample.payload.readableBytes
    guard count > 0, count < 1 << 30, av_new_packet(self.packet, Int32(count)) == 0 else { return [] }
    sample.payload.withUnsafeReadableBytes { bytes in
      UnsafeMutableRawBufferPointer(start: self.packet.pointee.data, count: count).copyMemory(from: bytes)
    }
    self.packet.pointee.pts = sample.presentationTime.nanoseconds
    self.packet.pointee.dts = sample.decodeTime.nanoseconds
    if sample.isKeyframe { self.packet.pointee.flags |= AV_PKT_FLAG_KEY }
    self.decoder.append(self.packet)
    var frames: [VideoFrame] = []
    _ = self.decoder.decodeNext { frame in
      let timestamp = frame.pointee.best_effort_timestamp
      let time = timestamp == vidicon_av_nopts_value ? sample.presentationTime : MediaTime(nanoseconds: timestamp)
      if let converted = self.converter.videoFrame(from: frame, at: time) { frames.append(converted) }
    }
    return frames
  }
}
