internal import CLibav
internal import CYUV
internal import Media

/// Prepares frames for encoders that do not accept planar 4:2:0 from main memory: converts them to NV12, and uploads
/// them to the device's memory for encoders (h264_vaapi) that read only from there.
final class NV12Input {
  private let encoder: String
  /// The device's pool of frames; nil for encoders that read NV12 from main memory (h264_qsv).
  private var devicePool: UnsafeMutablePointer<AVBufferRef>?

  /// Chooses the encoder's input format; nil when the encoder accepts planar 4:2:0.
  init?(
    ifNeededFor codec: UnsafePointer<AVCodec>, context: UnsafeMutablePointer<AVCodecContext>, encoder: String
  ) throws(VidiconError) {
    self.encoder = encoder
    let formats = Self.inputFormats(of: codec)
    if formats.isEmpty || formats.contains(AV_PIX_FMT_YUV420P) { return nil }
    if formats.contains(AV_PIX_FMT_NV12) {
      context.pointee.pix_fmt = AV_PIX_FMT_NV12
    } else {
      try self.openDevice(for: codec, context: context)
    }
  }

  deinit {
    av_buffer_unref(&self.devicePool)
  }

  /// Converts a frame to the encoder's input format; the caller frees the result with ``free(_:)``.
  func convert(_ input: UnsafeMutablePointer<AVFrame>) throws(VidiconError) -> UnsafeMutablePointer<AVFrame> {
    let converted = try self.makeFrame { frame in
      frame.pointee.format = AV_PIX_FMT_NV12.rawValue
      frame.pointee.width = input.pointee.width
      frame.pointee.height = input.pointee.height
      let result = av_frame_get_buffer(frame, 0)
      guard result >= 0 else { return result }
      return I420ToNV12(
        input.pointee.data.0, input.pointee.linesize.0, input.pointee.data.1, input.pointee.linesize.1,
        input.pointee.data.2, input.pointee.linesize.2, frame.pointee.data.0, frame.pointee.linesize.0,
        frame.pointee.data.1, frame.pointee.linesize.1, input.pointee.width, input.pointee.height)
    }
    av_frame_copy_props(converted, input)
    guard let devicePool else { return converted }
    defer { Self.free(converted) }
    return try self.makeFrame { frame in
      var result = av_hwframe_get_buffer(devicePool, frame, 0)
      if result >= 0 { result = av_hwframe_transfer_data(frame, converted, 0) }
      return result < 0 ? result : av_frame_copy_props(frame, converted)
    }
  }

  /// Frees a frame returned by ``convert(_:)``.
  static func free(_ frame: UnsafeMutablePointer<AVFrame>) {
    var frame: UnsafeMutablePointer<AVFrame>? = frame
    av_frame_free(&frame)
  }

  private func makeFrame(
    _ fill: (UnsafeMutablePointer<AVFrame>) -> Int32
  ) throws(VidiconError) -> UnsafeMutablePointer<AVFrame> {
    guard let frame = av_frame_alloc() else { throw self.refused(vidicon_averror_enomem) }
    let result = fill(frame)
    guard result >= 0 else {
      Self.free(frame)
      throw self.refused(result)
    }
    return frame
  }

  private func openDevice(
    for codec: UnsafePointer<AVCodec>, context: UnsafeMutablePointer<AVCodecContext>
  ) throws(VidiconError) {
    guard let format = Self.deviceFormat(of: codec) else {
      throw .openFailed(self.encoder, "it accepts neither 4:2:0 frames nor device frames")
    }
    var device: UnsafeMutablePointer<AVBufferRef>?
    var result = av_hwdevice_ctx_create(&device, format.device, nil, nil, 0)
    guard result >= 0 else {
      let name = av_hwdevice_get_type_name(format.device).map { String(cString: $0) } ?? "hardware"
      throw .openFailed(self.encoder, "no \(name) device can be opened (\(libavMessage(result)))")
    }
    defer { av_buffer_unref(&device) }
    self.devicePool = av_hwframe_ctx_alloc(device)
    guard let pool = self.devicePool else { throw self.refused(vidicon_averror_enomem) }
    UnsafeMutableRawPointer(pool.pointee.data).withMemoryRebound(to: AVHWFramesContext.self, capacity: 1) {
      $0.pointee.format = format.pixelFormat
      $0.pointee.sw_format = AV_PIX_FMT_NV12
      $0.pointee.width = context.pointee.width
      $0.pointee.height = context.pointee.height
      $0.pointee.initial_pool_size = 4
    }
    result = av_hwframe_ctx_init(pool)
    guard result >= 0 else { throw .openFailed(self.encoder, libavMessage(result)) }
    context.pointee.pix_fmt = format.pixelFormat
    context.pointee.hw_frames_ctx = av_buffer_ref(pool)
  }

  private func refused(_ code: Int32) -> VidiconError {
    VidiconError(
      .failed, subject: "encoder \(self.encoder)", cause: "it did not accept a frame (\(libavMessage(code)))",
      nextStep: "try --encoder libx264")
  }

  private static func inputFormats(of codec: UnsafePointer<AVCodec>) -> [AVPixelFormat] {
    var formats: [AVPixelFormat] = []
    var next = codec.pointee.pix_fmts
    while let format = next, format.pointee != AV_PIX_FMT_NONE {
      formats.append(format.pointee)
      next = format + 1
    }
    return formats
  }

  private static func deviceFormat(
    of codec: UnsafePointer<AVCodec>
  ) -> (pixelFormat: AVPixelFormat, device: AVHWDeviceType)? {
    var index: Int32 = 0
    while let configuration = avcodec_get_hw_config(codec, index) {
      if configuration.pointee.methods & Int32(AV_CODEC_HW_CONFIG_METHOD_HW_FRAMES_CTX) != 0 {
        return (configuration.pointee.pix_fmt, configuration.pointee.device_type)
      }
      index += 1
    }
    return nil
  }
}

extension VidiconError {
  /// The encoder exists but cannot be opened, for example without its device.
  static func openFailed(_ encoder: String, _ cause: String) -> VidiconError {
    VidiconError(
      .unsupported, subject: "encoder \(encoder)", cause: cause,
      nextStep: "check its device and driver, or try --encoder libx264")
  }
}
