internal import CLibav
package import Media

/// Decodes JPEG images of cameras to frames of limited range. Used by one thread.
///
/// Camera images may lack Huffman tables (the default tables of ITU-T T.81 annex K.3 apply), have zeros after their end, and
/// sometimes have another size than announced: single images are scaled; several in a row with the other size change the format.
package struct JPEGDecoder: ~Copyable {
  /// Result of decoding an image.
  package enum Outcome {
    case frame(VideoFrame)
    /// The first frame of another size.
    case newFormat(VideoFrame)
  }

  /// Width of the largest image of 4:1, in pixels: images of more than 67 million pixels are rejected.
  private static let maximumSide = 16_384
  /// Number of successive images of another size that change the format.
  private static let sizeChangeThreshold = 3

  private let context: UnsafeMutablePointer<AVCodecContext>
  private let decodedFrame: UnsafeMutablePointer<AVFrame>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let orientation: Orientation
  private var format: VideoFormat
  private var converter: SwscaleConverter
  private var otherSize: (width: Int, height: Int)?
  private var otherCount = 0

  /// - Parameter format: Format of the frames, 4:2:0.
  package init?(format: VideoFormat, orientation: Orientation) {
    LibavLog.silence()
    guard let codec = avcodec_find_decoder(AV_CODEC_ID_MJPEG), let context = avcodec_alloc_context3(codec),
      let decodedFrame = av_frame_alloc(), let packet = av_packet_alloc()
    else { return nil }
    context.pointee.thread_count = 1
    context.pointee.err_recognition = AV_EF_EXPLODE
    context.pointee.max_pixels = Int64(Self.maximumSide) * Int64(Self.maximumSide) / 4
    guard avcodec_open2(context, codec, nil) >= 0 else {
      var (context, decodedFrame, packet):
        (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutablePointer<AVFrame>?, UnsafeMutablePointer<AVPacket>?) = (
          context, decodedFrame, packet
        )
      avcodec_free_context(&context)
      av_frame_free(&decodedFrame)
      av_packet_free(&packet)
      return nil
    }
    self.context = context
    self.decodedFrame = decodedFrame
    self.packet = packet
    self.orientation = orientation
    self.format = format
    self.converter = SwscaleConverter(format: format)
  }

  deinit {
    var context: UnsafeMutablePointer<AVCodecContext>? = self.context
    avcodec_free_context(&context)
    var decodedFrame: UnsafeMutablePointer<AVFrame>? = self.decodedFrame
    av_frame_free(&decodedFrame)
    var packet: UnsafeMutablePointer<AVPacket>? = self.packet
    av_packet_free(&packet)
  }

  /// Decodes an image.
  ///
  /// - Parameters:
  ///   - bytes: The file, followed by `AV_INPUT_BUFFER_PADDING_SIZE` bytes that libavcodec may read past its end.
  ///   - count: Length of the file in bytes.
  /// - Returns: Nil when the file is damaged, or all pooled memory is in use.
  package mutating func decode(_ bytes: borrowing [UInt8], count: Int, at time: MediaTime) -> Outcome? {
    guard Self.isComplete(bytes, count: count) else { return nil }
    let status = bytes.withUnsafeBufferPointer { bytes in
      // The decoder only reads the bytes, and keeps no reference to them.
      self.packet.pointee.data = UnsafeMutablePointer(mutating: bytes.baseAddress)
      self.packet.pointee.size = Int32(clamping: count)
      defer {
        self.packet.pointee.data = nil
        self.packet.pointee.size = 0
      }
      let status = avcodec_send_packet(self.context, self.packet)
      return status < 0 ? status : avcodec_receive_frame(self.context, self.decodedFrame)
    }
    defer { av_frame_unref(self.decodedFrame) }
    guard status >= 0, self.decodedFrame.pointee.width > 0, self.decodedFrame.pointee.height > 0,
      self.decodedFrame.pointee.decode_error_flags == 0,
      self.decodedFrame.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0
    else { return nil }
    let isNew = self.adopt(width: Int(self.decodedFrame.pointee.width), height: Int(self.decodedFrame.pointee.height))
    guard var frame = self.converter.convert(SwscaleConverter.Source(self.decodedFrame), at: time) else { return nil }
    frame.orientation = self.orientation
    return isNew ? .newFormat(frame) : .frame(frame)
  }

  /// Whether the file begins with SOI and ends with EOI, except for zeros after it; a truncated file has no EOI.
  private static func isComplete(_ bytes: borrowing [UInt8], count: Int) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var end = count
      while end > 2, bytes[end - 1] == 0 { end -= 1 }
      return end >= 4 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[end - 2] == 0xFF && bytes[end - 1] == 0xD9
    }
  }

  /// Changes the output format to another size after ``sizeChangeThreshold`` successive images of that size.
  ///
  /// - Returns: Whether the format has changed.
  private mutating func adopt(width: Int, height: Int) -> Bool {
    guard width != self.format.width || height != self.format.height else {
      self.otherSize = nil
      return false
    }
    self.otherCount = self.otherSize.map { $0 == (width, height) } == true ? self.otherCount + 1 : 1
    self.otherSize = (width, height)
    guard self.otherCount >= Self.sizeChangeThreshold else { return false }
    self.otherSize = nil
    self.format = VideoFormat(
      width: width, height: height, frameRate: self.format.frameRate, colorMatrix: self.format.colorMatrix)
    self.converter = SwscaleConverter(format: self.format)
    return true
  }
}
