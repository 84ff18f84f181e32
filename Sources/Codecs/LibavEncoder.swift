internal import CLibav

/// Encoder context of libavcodec with a reusable frame and packet, freed with the last reference.
final class LibavEncoder {
  let context: UnsafeMutablePointer<AVCodecContext>
  let frame: UnsafeMutablePointer<AVFrame>
  let packet: UnsafeMutablePointer<AVPacket>

  init(_ codec: UnsafePointer<AVCodec>) {
    LibavLog.silence()
    guard let context = avcodec_alloc_context3(codec), let frame = av_frame_alloc(), let packet = av_packet_alloc()
    else { fatalError("out of memory") }  // Safe because a machine without a few hundred bytes cannot go on.
    self.context = context
    self.frame = frame
    self.packet = packet
  }

  deinit {
    var (context, frame, packet) = (Optional(self.context), Optional(self.frame), Optional(self.packet))
    avcodec_free_context(&context)
    av_frame_free(&frame)
    av_packet_free(&packet)
  }

  /// Out-of-band configuration of the opened encoder, such as parameter sets; empty for encoders without.
  var extradata: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: self.context.pointee.extradata, count: Int(self.context.pointee.extradata_size))
  }

  /// The bytes of the last packet received from the encoder.
  var packetBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: self.packet.pointee.data, count: Int(self.packet.pointee.size))
  }

  /// Sends a frame to the encoder and receives all packets that are complete.
  ///
  /// - Parameter handle: Called for each packet, which is in ``packet`` meanwhile.
  /// - Returns: 0, or the error code of libavutil.
  func encode(_ frame: UnsafeMutablePointer<AVFrame>, _ handle: () -> Void) -> Int32 {
    var result = avcodec_send_frame(self.context, frame)
    while result >= 0 {
      result = avcodec_receive_packet(self.context, self.packet)
      guard result >= 0 else { break }
      handle()
      av_packet_unref(self.packet)
    }
    return result == vidicon_averror_eagain ? 0 : result
  }
}
