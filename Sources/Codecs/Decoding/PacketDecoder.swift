internal import Bitstreams
package import CLibav
package import Media
internal import NIOCore

/// Decoder of libavcodec with a queue of packets. Used by one thread at a time.
///
/// Fields are woven, interlaced video is made progressive, high dynamic range is shown as standard, and transparent video over black.
///
/// Timestamps of packets and frames are nanoseconds on the timeline of the playback.
package final class PacketDecoder {
  /// Time base of all packets and frames: nanoseconds.
  package static let timeBase = AVRational(num: 1, den: 1_000_000_000)

  package let context: UnsafeMutablePointer<AVCodecContext>
  /// Number of packets and frames that could not be decoded.
  package private(set) var corruptCount = 0
  /// Number of frames decoded since the decoder was opened.
  package private(set) var frameCount = 0
  /// Decode time of the first packet, in nanoseconds, while no frame was decoded.
  private var firstTime: Int64?
  /// Decode time without a frame after which damaged ones are returned: 20 s, in nanoseconds.
  private static let blindTimeout: Int64 = 20_000_000_000
  /// Pixels of a frame, of which decoders keep up to sixteen for reference: 8192 × 4352, those of the highest level of H.264 (6.2,
  /// ITU-T H.264, table A-1), of H.265 (ITU-T H.265, table A.8), of VP9 and of AV1.
  private static let maximumPixelCount: Int64 = 35_651_584
  private var start: DecodingStart
  private let frame: UnsafeMutablePointer<AVFrame>
  /// Nil for codecs of which libavcodec returns whole frames.
  private let weaver: FieldWeaver?
  private let deinterlacer = Deinterlacer()
  private let toneMapper = ToneMapper()
  private let flattener = AlphaFlattener()
  /// Ratio of a pixel's width to its height that the container states; 0 for none.
  private let pixel: AVRational
  /// Ratio that the first frame states; nil before it.
  private var firstPixel: AVRational?
  /// Colors that the codec parameters state.
  private var colors: VideoColors
  /// Queued packets from index ``head`` on; nil stands for the end of the file.
  private var packets: [UnsafeMutablePointer<AVPacket>?] = []
  private var head = 0
  /// Number of bytes of the queued packets.
  package private(set) var byteCount = 0

  /// Opens the decoder of a stream. The size of video that begins amid a file is not known.
  package convenience init(stream: UnsafeMutablePointer<AVStream>, source: String) throws(VidiconError) {
    // No trap: every stream has parameters.
    let parameters = stream.pointee.codecpar!
    try self.init(
      parameters, mayBeLarge: parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO && parameters.pointee.width == 0,
      pixel: stream.pointee.sample_aspect_ratio, hasOpacity: Self.hasOpacity(stream), source: source)
  }

  /// Whether packets of a stream have the opacity of their frames beside them, as VP8 and VP9 in WebM.
  package static func hasOpacity(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    av_dict_get(stream.pointee.metadata, "alpha_mode", nil, 0).map { String(cString: $0.pointee.value) } == "1"
  }

  /// Whether no frame of a codec refers to another one, as of Motion JPEG.
  package static func isIntraOnly(_ codec: AVCodecID) -> Bool {
    avcodec_descriptor_get(codec).map { $0.pointee.props & AV_CODEC_PROP_INTRA_ONLY != 0 } ?? false
  }

  /// A decoder of a codec: of VP8 and VP9 with opacity that of libvpx where there is one, since libavcodec's own leave the opacity out.
  private static func decoder(of codec: AVCodecID, hasOpacity: Bool) -> UnsafePointer<AVCodec>? {
    let name: String? =
      switch codec {
      case AV_CODEC_ID_VP8 where hasOpacity: "libvpx"
      case AV_CODEC_ID_VP9 where hasOpacity: "libvpx-vp9"
      default: nil
      }
    return name.flatMap { avcodec_find_decoder_by_name($0) } ?? avcodec_find_decoder(codec)
  }

  /// Opens the decoder for codec parameters.
  ///
  /// - Parameters:
  ///   - isLowDelay: Whether each frame is output as soon as it is complete: no threads that work on several frames, and no wait for
  ///     frames that may precede it.
  ///   - mayBeLarge: Whether frames may be larger than the parameters say.
  ///   - pixel: Ratio of a pixel's width to its height that the container states, which rules over that of the first frame; 0 for
  ///     none.
  ///   - hasOpacity: See ``hasOpacity(_:)``.
  ///   - source: Subject of errors, such as the path of the file.
  /// - Throws: ``VidiconError`` `invalidData` when libavcodec has no decoder for the codec.
  package init(
    _ parameters: UnsafePointer<AVCodecParameters>, isLowDelay: Bool = false, mayBeLarge: Bool = false,
    pixel: AVRational = AVRational(num: 0, den: 1), hasOpacity: Bool = false, source: String
  ) throws(VidiconError) {
    guard let codec = Self.decoder(of: parameters.pointee.codec_id, hasOpacity: hasOpacity) else {
      let name = String(cString: avcodec_get_name(parameters.pointee.codec_id))
      throw VidiconError(
        .invalidData, subject: source, cause: "there is no decoder for \(name)",
        nextStep: "convert it with: ffmpeg -i \(source) out.mp4")
    }
    LibavLog.silence()
    var allocated = avcodec_alloc_context3(codec)
    guard let context = allocated, let frame = av_frame_alloc() else {
      avcodec_free_context(&allocated)
      throw VidiconError(libav: -ENOMEM, source: source)
    }
    var status = avcodec_parameters_to_context(context, parameters)
    if status >= 0 {
      context.pointee.pkt_timebase = Self.timeBase
      // One thread is the cheapest, and fast enough up to full HD.
      let isLarge = Int64(parameters.pointee.width) * Int64(parameters.pointee.height) > 1920 * 1088
      context.pointee.thread_count = isLarge || mayBeLarge ? 4 : 1
      context.pointee.thread_type = isLowDelay ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE
      if isLowDelay { context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY }
      // Parameter sets within the stream may say another size.
      if !Self.isIntraOnly(codec.pointee.id) { context.pointee.max_pixels = Self.maximumPixelCount }
      status = avcodec_open2(context, codec, nil)
    }
    guard status >= 0 else {
      var allocatedFrame: UnsafeMutablePointer<AVFrame>? = frame
      av_frame_free(&allocatedFrame)
      avcodec_free_context(&allocated)
      throw VidiconError(libav: status, source: source)
    }
    self.context = context
    self.frame = frame
    self.pixel = pixel
    self.weaver = Self.isWoven(parameters.pointee) ? FieldWeaver() : nil
    self.start = DecodingStart(codec.pointee.id)
    self.colors = VideoColors(parameters.pointee)
  }

  deinit {
    self.removePackets()
    var context: UnsafeMutablePointer<AVCodecContext>? = self.context
    avcodec_free_context(&context)
    var frame: UnsafeMutablePointer<AVFrame>? = self.frame
    av_frame_free(&frame)
  }

  /// Rate of the frames that are returned of video with a rate of packets: half of it where these are fields, after the first frame.
  package func frameRate(_ packets: FrameRate) -> FrameRate {
    self.weaver?.isFieldCoded ?? false ? packets.halved : packets
  }

  /// Whether frames may come as fields: of HEVC, unless its parameter sets say that it has whole frames. Messages of single frames, from which
  /// libavcodec takes that, are wrong in some streams.
  private static func isWoven(_ parameters: AVCodecParameters) -> Bool {
    guard parameters.codec_id == AV_CODEC_ID_HEVC else { return false }
    let extradata = UnsafeRawBufferPointer(start: parameters.extradata, count: Int(max(0, parameters.extradata_size)))
    return H265SequenceParameterSet.first(in: Array(extradata))?.isFieldCoded ?? true
  }

  /// Whether no packet is queued.
  package var isEmpty: Bool {
    self.head == self.packets.count
  }

  /// Number of queued packets.
  package var packetCount: Int { self.packets.count - self.head }

  /// Decode time of the first queued packet that has one, in nanoseconds; nil where none has. Of several frames of audio in a packet of
  /// MPEG-TS, the first one may have a time alone.
  package var firstQueuedTime: Int64? {
    self.packets[self.head...].lazy.compactMap { Self.decodeTime($0) }.first
  }

  /// Likewise of the last one.
  package var lastQueuedTime: Int64? {
    self.packets[self.head...].reversed().lazy.compactMap { Self.decodeTime($0) }.first
  }

  private static func decodeTime(_ packet: UnsafeMutablePointer<AVPacket>?) -> Int64? {
    guard let time = packet?.pointee.dts, time != vidicon_av_nopts_value else { return nil }
    return time
  }

  /// Enqueues the content of a packet, which is empty afterwards.
  package func append(_ packet: UnsafeMutablePointer<AVPacket>) {
    guard let copy = av_packet_alloc() else { return }
    av_packet_move_ref(copy, packet)
    self.byteCount += Int(copy.pointee.size)
    self.packets.append(copy)
  }

  /// Enqueues a copy of a sample.
  ///
  /// - Returns: False for one that is empty or too large, and when memory is exhausted.
  package func append(_ sample: EncodedSample) -> Bool {
    let count = sample.payload.readableBytes
    guard count > 0, count < 1 << 30, let packet = av_packet_alloc() else { return false }
    guard av_new_packet(packet, Int32(count)) == 0 else {
      var packet: UnsafeMutablePointer<AVPacket>? = packet
      av_packet_free(&packet)
      return false
    }
    sample.payload.withUnsafeReadableBytes { bytes in
      UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: count).copyMemory(from: bytes)
    }
    packet.pointee.pts = sample.presentationTime.nanoseconds
    packet.pointee.dts = sample.decodeTime.nanoseconds
    if sample.isKeyframe { packet.pointee.flags |= AV_PKT_FLAG_KEY }
    self.byteCount += count
    self.packets.append(packet)
    return true
  }

  /// Enqueues the end of the file: decoding it outputs all delayed frames, and later packets start again.
  package func appendEnd() {
    self.packets.append(nil)
  }

  /// Discards all queued packets and the decoder's delayed frames.
  package func reset() {
    self.removePackets()
    self.weaver?.reset()
    self.deinterlacer.reset()
    avcodec_flush_buffers(self.context)
    self.start.reset()
  }

  /// Returns frames of video, too, that refer to frames which the decoder does not have. Encoders with intra refresh may mark no
  /// recovery point, before which libavcodec returns none.
  package func returnDamagedFrames() {
    self.context.pointee.flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT
  }

  /// Ends the wait for a recovery point that does not come.
  private func noteWait(until time: Int64) {
    guard time != vidicon_av_nopts_value else { return }
    let first = self.firstTime ?? time
    self.firstTime = first
    if time &- first >= Self.blindTimeout { self.returnDamagedFrames() }
  }

  /// Whether packets before the first keyframe were skipped, and none was decoded.
  package var hasOnlySkipped: Bool { self.frameCount == 0 && self.start.hasSkipped }

  /// Decodes from any packet on: there is no keyframe, and damaged frames are better than none.
  package func startAnywhere() { self.start.startAnywhere() }

  /// Removes and returns the number of packets before the first keyframe, which has not come for long; nil where it was returned, or has
  /// come.
  package func takeMissingStart() -> Int? { self.start.takeMissing() }

  /// Decodes the next packet.
  ///
  /// - Parameter body: Receives each decoded frame, and may move its content elsewhere (`av_frame_move_ref`).
  /// - Returns: False when no packet is queued.
  package func decodeNext(_ body: (UnsafeMutablePointer<AVFrame>) -> Void) -> Bool {
    guard !self.isEmpty else { return false }
    var packet = self.packets[self.head]
    self.packets[self.head] = nil
    self.head += 1
    if self.head >= 64, self.head * 2 >= self.packets.count {
      self.packets.removeFirst(self.head)
      self.head = 0
    }
    self.byteCount -= Int(packet?.pointee.size ?? 0)
    if self.frameCount == 0, let packet { self.noteWait(until: packet.pointee.dts) }
    if let content = packet?.pointee,
      self.start.skips(isKeyframe: content.flags & AV_PKT_FLAG_KEY != 0, at: content.dts)
    {
      av_packet_free(&packet)
      return true
    }
    // All frames are received after each packet, so the decoder always accepts the next one.
    if avcodec_send_packet(self.context, packet) < 0, packet != nil { self.corruptCount += 1 }
    let isEnd = packet == nil
    av_packet_free(&packet)
    while true {
      let status = avcodec_receive_frame(self.context, self.frame)
      if status == vidicon_averror_eagain || status == vidicon_averror_eof { break }
      if status < 0 {
        self.corruptCount += 1
        break
      }
      self.frameCount += 1
      if self.context.pointee.codec_type == AVMEDIA_TYPE_VIDEO {
        guard self.weaver?.process(self.frame, rate: self.context.pointee.framerate) ?? true else { continue }
        self.correctPixel()
        self.colors.complete(&self.frame.pointee)
        self.deinterlacer.process(self.frame)
        self.toneMapper.process(self.frame)
        self.flattener.process(self.frame, mayBeUnused: self.context.pointee.codec_id == AV_CODEC_ID_RAWVIDEO)
      }
      body(self.frame)
      av_frame_unref(self.frame)
    }
    if isEnd {
      avcodec_flush_buffers(self.context)
      self.start.reset()
      self.weaver?.reset()
    }
    return true
  }

  /// Replaces the ratio that the first frame states by the container's. Broadcasts change between 4:3 and 16:9, and containers state
  /// the ratio of their beginning for all: frames of another ratio keep it.
  private func correctPixel() {
    guard self.pixel.num > 0 else { return }
    let stated = self.frame.pointee.sample_aspect_ratio
    let first = self.firstPixel ?? stated
    self.firstPixel = first
    if stated.num <= 0 || stated.num == first.num && stated.den == first.den {
      self.frame.pointee.sample_aspect_ratio = self.pixel
    }
  }

  private func removePackets() {
    for index in self.head..<self.packets.count {
      av_packet_free(&self.packets[index])
    }
    self.packets = []
    self.head = 0
    self.byteCount = 0
  }
}
