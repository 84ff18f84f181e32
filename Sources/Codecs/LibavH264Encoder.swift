internal import Bitstreams
internal import CLibav
package import Media
internal import NIOCore

/// H.264 encoder of libavcodec: libx264 tuned for zero latency, or any other by name.
///
/// Frames are neither reordered nor held back, and parameter sets are kept apart from the samples.
package final class LibavH264Encoder: VideoEncoder {
  /// The parameter sets; known at once with libx264.
  package private(set) var description: H264Description?

  private let settings: VideoEncoderSettings
  private let encoder: LibavEncoder
  /// Set where the encoder does not accept planar 4:2:0.
  private let input: NV12Input?

  /// Opens the encoder.
  ///
  /// - Throws: A ``VidiconError``: `notFound` lists the available encoders, `unsupported` contains the encoder's error.
  package init(_ settings: VideoEncoderSettings) throws(VidiconError) {
    guard let codec = avcodec_find_encoder_by_name(settings.encoder), codec.pointee.id == AV_CODEC_ID_H264 else {
      throw VidiconError(
        .notFound, subject: "encoder \(settings.encoder.withoutCredentials())",
        cause: "there is no such H.264 encoder on this machine",
        nextStep: "choose one of: \(Self.available.joined(separator: ", "))")
    }
    self.settings = settings
    self.encoder = LibavEncoder(codec)
    self.input = try Self.configure(self.encoder.context, codec: codec, settings: settings)
    let result = avcodec_open2(self.encoder.context, codec, nil)
    guard result >= 0 else { throw VidiconError.openFailed(settings.encoder, libavMessage(result)) }
    self.description = Self.describe(
      H264AccessUnit(parsingAnnexB: self.encoder.extradata), settings: settings)
  }

  /// Names of the H.264 encoders of libavcodec on this machine; whether their devices exist shows only when they are
  /// opened.
  package static var available: [String] {
    var names: [String] = []
    var position: UnsafeMutableRawPointer?
    while let codec = av_codec_iterate(&position) {
      guard codec.pointee.id == AV_CODEC_ID_H264, av_codec_is_encoder(codec) != 0 else { continue }
      names.append(String(cString: codec.pointee.name))
    }
    // libx264rgb accepts RGB only, and few players decode its output.
    return names.filter { $0 != "libx264rgb" }
  }

  /// Changes the bitrate, and with it the bits of the rate control buffer; libx264 applies both to the next frame.
  package func setBitrate(_ bitrate: Int) {
    Self.setBitrate(bitrate, buffer: self.settings.rateBuffer, of: self.encoder.context)
  }

  /// Encodes one frame; its buffer is retained until the encoder has read it.
  package func encode(
    _ released: ReleasedFrame, forcesKeyframe: Bool, emit: (EncodedSample) -> Void
  ) throws(VidiconError) {
    let input = released.frame
    precondition(
      input.format.pixelFormat == .i420 && input.format.width == self.settings.width
        && input.format.height == self.settings.height, "the canvas has the encoder's format")
    let frame = self.encoder.frame
    frame.fill(borrowing: input.buffer)
    frame.pointee.pts = input.timestamp.nanoseconds
    frame.pointee.pict_type = forcesKeyframe ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
    defer { av_frame_unref(frame) }
    let converted = try self.input?.convert(frame)
    defer { converted.map(NV12Input.free) }
    let result = self.encoder.encode(converted ?? frame) { self.emitPacket(emit) }
    guard result >= 0 else {
      throw VidiconError(
        .failed, subject: "encoder \(self.settings.encoder)", cause: libavMessage(result),
        nextStep: "try --encoder libx264")
    }
  }

  /// Converts the packet to a sample: parameter sets go to the description, lengths replace start codes. The payload is
  /// copied once, from libavcodec's packet.
  private func emitPacket(_ emit: (EncodedSample) -> Void) {
    let unit = H264AccessUnit(parsingAnnexB: self.encoder.packetBytes)
    if let description = Self.describe(unit, settings: self.settings) { self.description = description }
    guard unit.payload.readableBytes > 0 else { return }
    emit(
      EncodedSample(
        kind: .video,
        payload: unit.payload,
        presentationTime: MediaTime(nanoseconds: self.encoder.packet.pointee.pts),
        duration: self.settings.frameRate.frameInterval,
        isKeyframe: unit.isKeyframe))
  }
}

extension LibavH264Encoder {
  /// Sets the options, and returns the conversion that frames need.
  private static func configure(
    _ context: UnsafeMutablePointer<AVCodecContext>,
    codec: UnsafePointer<AVCodec>,
    settings: VideoEncoderSettings
  ) throws(VidiconError) -> NV12Input? {
    let rate = settings.frameRate
    context.pointee.width = Int32(settings.width)
    context.pointee.height = Int32(settings.height)
    context.pointee.time_base = AVRational(num: 1, den: 1_000_000_000)
    context.pointee.framerate = AVRational(num: rate.numerator, den: rate.denominator)
    context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
    context.pointee.color_range = AVCOL_RANGE_MPEG
    switch settings.colorMatrix {
    case .bt601:
      context.pointee.colorspace = AVCOL_SPC_SMPTE170M
      context.pointee.color_primaries = AVCOL_PRI_SMPTE170M
      context.pointee.color_trc = AVCOL_TRC_SMPTE170M
    case .bt709:
      context.pointee.colorspace = AVCOL_SPC_BT709
      context.pointee.color_primaries = AVCOL_PRI_BT709
      context.pointee.color_trc = AVCOL_TRC_BT709
    }
    self.setBitrate(settings.bitrate, buffer: settings.rateBuffer, of: context)
    if let profile = settings.profile { context.pointee.profile = Self.profileIndication(of: profile) }
    let keyframeInterval = settings.keyframeInterval.seconds * rate.framesPerSecond
    context.pointee.gop_size = Int32(max(1, min(keyframeInterval.rounded(), 100_000)))
    context.pointee.max_b_frames = 0
    context.pointee.thread_count = Self.threadCount(width: settings.width, height: settings.height)
    context.pointee.flags |=
      AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_LOW_DELAY | Int32(bitPattern: AV_CODEC_FLAG_CLOSED_GOP)
    for (name, value) in Self.privateOptions(of: settings.encoder) {
      av_opt_set(context, name, value, AV_OPT_SEARCH_CHILDREN)
    }
    if let length = settings.maximumSliceLength, let name = Self.sliceOptions[settings.encoder] {
      av_opt_set(context, name, "\(length)", AV_OPT_SEARCH_CHILDREN)
    }
    return try NV12Input(ifNeededFor: codec, context: context, encoder: settings.encoder)
  }

  /// Number of threads, a slice each. Two halve the encoding time of keyframes, at almost no cost from 720p on; smaller
  /// frames are not split. Above 1080p the encoder decides, which is 0.
  private static func threadCount(width: Int, height: Int) -> Int32 {
    switch width * height {
    case ..<(960 * 540): 1
    case ...(1920 * 1088): 2
    default: 0
    }
  }

  /// Zero latency, and forced keyframes are IDR pictures; by the option names of each encoder. An encoder that lacks an
  /// option does not need it.
  private static func privateOptions(of encoder: String) -> KeyValuePairs<String, String> {
    switch encoder {
    case "libx264": ["preset": "veryfast", "tune": "zerolatency", "forced-idr": "1", "sc_threshold": "0"]
    default: ["forced-idr": "1", "forced_idr": "1", "delay": "0", "zerolatency": "1", "async_depth": "1"]
    }
  }

  /// The option of the maximum length of a slice, by the names of the encoders that have one.
  private static let sliceOptions = ["libx264": "slice-max-size", "libopenh264": "max_nal_size"]

  /// Whether an encoder of libavcodec heeds ``VideoEncoderSettings/maximumSliceLength``.
  package static func boundsSlices(_ encoder: String) -> Bool { self.sliceOptions[encoder] != nil }

  /// Whether an encoder of libavcodec heeds ``setBitrate(_:)`` while it is open. Others keep their first bitrate.
  package static func followsBitrate(_ encoder: String) -> Bool { ["libx264", "h264_nvenc"].contains(encoder) }

  /// `profile_idc`, ITU-T H.264 §A.2. Baseline of libx264 is the constrained one; it has no tools that this lacks.
  private static func profileIndication(of profile: H264Profile) -> Int32 {
    switch profile {
    case .baseline: 66
    case .main: 77
    case .high: 100
    }
  }

  private static func setBitrate(
    _ bitrate: Int, buffer: MediaDuration, of context: UnsafeMutablePointer<AVCodecContext>
  ) {
    context.pointee.bit_rate = Int64(bitrate)
    context.pointee.rc_max_rate = Int64(bitrate)
    context.pointee.rc_buffer_size = Int32(clamping: Int64((Double(bitrate) * buffer.seconds).rounded()))
  }

  /// Codec configuration from the parameter sets in an access unit or extradata; nil without any.
  private static func describe(_ unit: H264AccessUnit, settings: VideoEncoderSettings) -> H264Description? {
    guard let sequence = unit.sequenceParameterSets.last, let pictureSet = unit.pictureParameterSets.last else {
      return nil
    }
    return H264Description(
      sequenceParameterSet: Array(sequence.readableBytesView),
      pictureParameterSet: Array(pictureSet.readableBytesView),
      width: settings.width,
      height: settings.height,
      frameRate: settings.frameRate)
  }
}

extension UnsafeMutablePointer<AVFrame> {
  /// Makes this empty frame refer to an I420 buffer, which is retained until libavcodec releases it.
  func fill(borrowing buffer: PixelBuffer) {
    self.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    self.pointee.width = Int32(buffer.format.width)
    self.pointee.height = Int32(buffer.format.height)
    self.pointee.data.0 = buffer.unsafePlane(0).baseAddress?.assumingMemoryBound(to: UInt8.self)
    self.pointee.data.1 = buffer.unsafePlane(1).baseAddress?.assumingMemoryBound(to: UInt8.self)
    self.pointee.data.2 = buffer.unsafePlane(2).baseAddress?.assumingMemoryBound(to: UInt8.self)
    self.pointee.linesize.0 = Int32(buffer.format.bytesPerRow[0])
    self.pointee.linesize.1 = Int32(buffer.format.bytesPerRow[1])
    self.pointee.linesize.2 = Int32(buffer.format.bytesPerRow[2])
    // A frame without a reference-counted buffer would be copied by avcodec_send_frame.
    self.pointee.buf.0 = av_buffer_create(
      self.pointee.data.0, buffer.unsafePlane(0).count,
      { opaque, _ in Unmanaged<PixelBuffer>.fromOpaque(opaque!).release() },
      Unmanaged.passRetained(buffer).toOpaque(), AV_BUFFER_FLAG_READONLY)
  }
}
