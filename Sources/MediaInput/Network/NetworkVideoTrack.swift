internal import Bitstreams
internal import CLibav
internal import Capture
internal import Codecs
internal import Media
internal import Threading

/// Treatment of a network source's video.
enum VideoHandling: Sendable {
  /// H.264 that every output supports is passed through, other video is decoded.
  case passedThrough
  /// All video is decoded. The decoder holds back no frame: it has no threads that work on several of them.
  case decoded
}

/// Video track of one connection: passes H.264 through, decodes other codecs.
final class NetworkVideoTrack {
  private enum Decoding {
    /// A decoder that no packet has needed yet: samples are passed through without it.
    case unopened(open: () throws(VidiconError) -> PacketDecoder)
    case opened(PacketDecoder)
    case failed
  }

  /// Format of the frames; presumed until the first one where the source does not announce their size.
  private(set) var format: VideoFormat
  private let source: String
  /// Rate of the packets, which may be fields.
  private let frameRate: FrameRate
  /// A frame of another size or color matrix than ``format`` had, which its announcement precedes, and those behind it.
  private var heldFrames: [VideoFrame] = []
  private var decoding: Decoding
  private let converter: DecodedFrameConverter
  /// Nil when the packets are decoded.
  private var reader: H264PacketReader?
  private var lastTime: MediaTime?
  /// Whether packets are decoded up to the next keyframe, from which on they may be passed through.
  private var isCatchingUp = false

  /// - Parameter isUntimed: Whether packets have no timestamps, so that only a decoder knows the times of frames that are reordered.
  convenience init(
    stream: UnsafeMutablePointer<AVStream>, frameRate: FrameRate, isUntimed: Bool, source: String
  ) throws(VidiconError) {
    // No trap: every stream has parameters.
    try self.init(
      stream.pointee.codecpar!, displayMatrix: vidicon_display_matrix(stream),
      pixel: stream.pointee.sample_aspect_ratio, hasOpacity: PacketDecoder.hasOpacity(stream), frameRate: frameRate,
      source: source)
    if isUntimed, stream.pointee.codecpar.pointee.video_delay > 0 { self.reader = nil }
  }

  /// - Parameters:
  ///   - displayMatrix: The rotation of the frames, 9 values; nil for none.
  ///   - pixel: Ratio of a pixel's width to its height that the container states; 0 for none.
  ///   - hasOpacity: Whether packets have the opacity of their frames beside them.
  ///   - isLowDelay: Whether the decoder holds back no frame: it has no threads that work on several of them.
  init(
    _ codec: UnsafeMutablePointer<AVCodecParameters>, displayMatrix: UnsafePointer<Int32>?,
    pixel: AVRational = AVRational(num: 0, den: 1), hasOpacity: Bool = false, isLowDelay: Bool = false,
    frameRate: FrameRate, source: String
  ) throws(VidiconError) {
    self.decoding = .opened(
      try PacketDecoder(codec, isLowDelay: isLowDelay, pixel: pixel, hasOpacity: hasOpacity, source: source))
    var parameters = codec.pointee
    if pixel.num > 0 { parameters.sample_aspect_ratio = pixel }
    let extradata = Array(
      UnsafeRawBufferPointer(start: parameters.extradata, count: Int(max(0, parameters.extradata_size))))
    // Two fields are woven to a frame.
    let isFieldCoded =
      parameters.codec_id == AV_CODEC_ID_HEVC
      && H265SequenceParameterSet.first(in: extradata)?.isFieldCoded ?? false
    if isFieldCoded { parameters.height &*= 2 }
    // Parameter sets that come with rare keyframes: the size is known with the first of them.
    let presumed = parameters.width == 0 && parameters.height == 0 ? VideoFormat.presumed : nil
    guard let format = presumed ?? VideoFormat(parameters, frameRate: isFieldCoded ? frameRate.halved : frameRate)
    else {
      throw VidiconError(
        .invalidData, subject: source, cause: "its video is larger than 16384 pixels",
        nextStep: "list its streams with: ffprobe \(source)")
    }
    self.format = format
    self.source = source
    self.frameRate = frameRate
    self.converter = DecodedFrameConverter(
      displayMatrix: displayMatrix, frameRate: frameRate, isIntraOnly: PacketDecoder.isIntraOnly(parameters.codec_id),
      as: .i420)
    let (orientation, isMirrored) = DecodedFrameConverter.orientation(displayMatrix)
    if parameters.codec_id == AV_CODEC_ID_H264, orientation == .up, !isMirrored,
      pixel.num <= 0 || pixel.num == pixel.den
    {
      self.reader = H264PacketReader(extradata: extradata, frameRate: frameRate)
    }
  }

  /// A track of samples with this codec; nil of audio, and where libavcodec does not accept it.
  init?(_ codec: PublishedCodec, handling: VideoHandling, source: String) {
    guard let format = codec.videoFormat else { return nil }
    (self.format, self.source, self.frameRate) = (format, source, codec.frameRate)
    self.converter = DecodedFrameConverter(displayMatrix: nil, frameRate: codec.frameRate, as: .i420)
    func open() throws(VidiconError) -> PacketDecoder {
      guard let parameters = codec.parameters else { throw VidiconError(libav: -ENOMEM, source: source) }
      return try PacketDecoder(parameters.pointer, isLowDelay: handling == .decoded, source: source)
    }
    if case .h264(let video) = codec, handling == .passedThrough {
      self.reader = H264PacketReader(video)
      self.decoding = .unopened(open: open)
    } else {
      guard let decoder = try? open() else { return nil }
      self.decoding = .opened(decoder)
    }
  }

  /// Number of packets and frames that could not be decoded.
  var corruptCount: Int { if case .opened(let decoder) = self.decoding { decoder.corruptCount } else { 0 } }

  /// The decoder; nil where it cannot be opened, which is reported to the consumer once.
  private func decoder(for consumer: any VideoConsumer) -> PacketDecoder? {
    switch self.decoding {
    case .opened(let decoder): return decoder
    case .failed: return nil
    case .unopened(let open):
      do throws(VidiconError) {
        let decoder = try open()
        self.decoding = .opened(decoder)
        return decoder
      } catch {
        self.decoding = .failed
        consumer.captureEnded(error)
        return nil
      }
    }
  }

  /// Delivers a packet as a sample, or the frames decoded from it.
  func handle(_ packet: NetworkPacket, to consumer: any VideoConsumer) {
    if let extradata = packet.newExtradata { self.reader?.replace(extradata: extradata) }
    if packet.isHidden {
      self.awaitKeyframe()
      // Decoders return no frame for it.
      return self.decode(packet, for: consumer) { self.take($0, for: consumer) }
    }
    let result = self.reader?.read(
      packet.bytes, isKeyframe: packet.isKeyframe, times: packet.times, duration: packet.duration)
    switch result {
    case .sample(let sample, let description):
      self.isCatchingUp = false
      return consumer.consume(sample, of: description)
    case .skipped: guard self.isCatchingUp, !packet.isKeyframe else { return }
    case .waiting(let count): return consumer.captureWaits(.missingStart(of: self.source, dropped: count))
    case .unfit(let isBlind):
      self.reader = nil
      if isBlind { self.decoder(for: consumer)?.returnDamagedFrames() }
    case nil: break
    }
    self.decode(packet, for: consumer) { self.take($0, for: consumer) }
    if let count = self.decoder(for: consumer)?.takeMissingStart() {
      consumer.captureWaits(.missingStart(of: self.source, dropped: count))
    }
  }

  /// Decodes the packets since the last keyframe, and delivers the newest frame of them.
  func catchUp(with packets: [NetworkPacket], to consumer: any VideoConsumer) {
    self.awaitKeyframe()
    var newest = av_frame_alloc()
    guard let frame = newest else { return }
    defer { av_frame_free(&newest) }
    var isDecoded = false
    for packet in packets {
      self.decode(packet, for: consumer) { decoded in
        av_frame_unref(frame)
        av_frame_move_ref(frame, decoded)
        isDecoded = true
      }
    }
    if isDecoded { self.take(frame, for: consumer) }
  }

  /// Decodes packets up to the next keyframe, at which passing through may begin.
  private func awaitKeyframe() {
    self.isCatchingUp = true
    self.reader?.awaitKeyframe()
  }

  private func decode(
    _ packet: NetworkPacket, for consumer: any VideoConsumer, _ body: (UnsafeMutablePointer<AVFrame>) -> Void
  ) {
    guard let decoder = self.decoder(for: consumer), let coded = packet.makeLibavPacket() else { return }
    decoder.append(coded.pointer)
    _ = decoder.decodeNext(body)
  }

  private func take(_ frame: UnsafeMutablePointer<AVFrame>, for consumer: any VideoConsumer) {
    let timestamp = frame.pointee.best_effort_timestamp
    var time = timestamp == vidicon_av_nopts_value ? StreamClock.system.now() : MediaTime(nanoseconds: timestamp)
    if let lastTime { time = max(time, lastTime + SourceTimeline.minimumStep) }
    if case .opened(let decoder) = self.decoding { self.converter.frameRate = decoder.frameRate(self.frameRate) }
    guard let converted = self.converter.videoFrame(from: frame, at: time) else {
      return consumer.captureSkipped(at: time)
    }
    self.lastTime = time
    let format = converted.format
    // The colors of a frame are those of the announced format.
    let isAnnounced =
      format.width == self.format.width && format.height == self.format.height
      && format.colorMatrix == self.format.colorMatrix
    if isAnnounced, self.heldFrames.isEmpty {
      consumer.consume(converted)
    } else {
      self.format = format
      self.heldFrames.append(converted)
    }
  }

  /// Removes and returns frames whose formats are to be announced before they are delivered.
  func takeHeldFrames() -> [VideoFrame] {
    guard !self.heldFrames.isEmpty else { return [] }
    defer { self.heldFrames = [] }
    return self.heldFrames
  }
}

extension VideoFormat {
  /// Format of frames whose parameter sets have not come.
  static let presumed = VideoFormat(width: 1280, height: 720, pixelFormat: .i420, frameRate: FrameRate(30))

  /// The format of decoded frames; nil where the parameters have no size, or one beyond 16,384.
  init?(_ parameters: AVCodecParameters, frameRate: FrameRate) {
    self.init(
      decodedWidth: Int(parameters.width), height: Int(parameters.height), pixel: parameters.sample_aspect_ratio,
      colorSpace: parameters.color_space, frameRate: frameRate)
  }

  /// The format of decoded frames; nil without a size, and beyond 16,384.
  ///
  /// - Parameter pixel: Ratio of a pixel's width to its height; 0 where it is not known.
  init?(
    decodedWidth width: Int, height: Int, pixel: AVRational = AVRational(num: 0, den: 1),
    colorSpace: AVColorSpace = AVCOL_SPC_UNSPECIFIED, frameRate: FrameRate
  ) {
    guard (1...16_384).contains(width), (1...16_384).contains(height) else { return nil }
    let size = DisplaySize(width: width, height: height, pixel: pixel)
    self.init(
      width: size.width, height: size.height, frameRate: frameRate,
      colorMatrix: DecodedFrameConverter.colorMatrix(colorSpace, height: Int32(height)))
  }
}
