internal import CLibav
internal import Capture
internal import Codecs
internal import Media
internal import NIOCore
internal import Threading

/// What becomes of the packets of one connection. Made on the thread that reads, used on the one that plays.
final class NetworkTracks {
  let video: NetworkVideoTrack?
  let audio: NetworkAudioTrack?

  init(
    _ context: UnsafeMutablePointer<AVFormatContext>, video: Int?, audio: Int?, source: String
  ) throws(VidiconError) {
    guard video != nil || audio != nil else {
      throw VidiconError(
        .missingTrack, subject: source, cause: "it sends neither pictures nor sound",
        nextStep: "see what it sends with: ffprobe \(source)")
    }
    var pictures: NetworkVideoTrack?
    if let video, let stream = context.pointee.streams[video] {
      pictures = try NetworkVideoTrack(stream: stream, frameRate: context.frameRate(of: stream), source: source)
    }
    var sound: NetworkAudioTrack?
    if let audio, let stream = context.pointee.streams[audio] {
      do throws(VidiconError) {
        sound = try NetworkAudioTrack(stream: stream, source: source)
      } catch {
        // Pictures whose sound cannot be decoded are still worth showing.
        if pictures == nil { throw error }
      }
    }
    (self.video, self.audio) = (pictures, sound)
  }
}

/// The pictures of one connection: H.264 is handed on, all else decoded.
final class NetworkVideoTrack {
  let format: VideoFormat
  private let decoder: PacketDecoder
  private let pictures: DecodedFrameConverter
  /// Nil when packets are decoded.
  private var reader: H264PacketReader?
  private var lastTime: MediaTime?

  init(stream: UnsafeMutablePointer<AVStream>, frameRate: FrameRate, source: String) throws(VidiconError) {
    self.decoder = try PacketDecoder(stream: stream, source: source)
    // No trap: every stream has parameters.
    let parameters = stream.pointee.codecpar!.pointee
    guard (1...16_384).contains(parameters.width), (1...16_384).contains(parameters.height) else {
      throw VidiconError(
        .invalidData, subject: source, cause: "it does not tell the size of its pictures",
        nextStep: "see what it sends with: ffprobe \(source)")
    }
    self.format = VideoFormat(
      width: Int(parameters.width), height: Int(parameters.height), frameRate: frameRate,
      colorMatrix: DecodedFrameConverter.colorMatrix(parameters.color_space, height: parameters.height))
    let displayMatrix = vidicon_display_matrix(stream)
    self.pictures = DecodedFrameConverter(displayMatrix: displayMatrix, frameRate: frameRate, as: .i420)
    let (orientation, isMirrored) = DecodedFrameConverter.orientation(displayMatrix)
    if parameters.codec_id == AV_CODEC_ID_H264, orientation == .up, !isMirrored {
      let extradata = UnsafeRawBufferPointer(start: parameters.extradata, count: Int(parameters.extradata_size))
      self.reader = H264PacketReader(extradata: Array(extradata), frameRate: frameRate)
    }
  }

  /// Hands a packet on, or what can be decoded after it.
  func handle(_ packet: NetworkPacket, to consumer: any VideoConsumer) {
    if let extradata = packet.newExtradata { self.reader?.replace(extradata: extradata) }
    let result = self.reader?.read(
      ByteBuffer(bytes: packet.bytes), isKeyframe: packet.isKeyframe, times: packet.times, duration: packet.duration)
    switch result {
    case .sample(let sample, let description): return consumer.consume(sample, of: description)
    case .skipped: return
    case .unfit, nil: self.reader = nil
    }
    packet.pointer.pointee.dts = packet.times.decode.nanoseconds
    packet.pointer.pointee.pts = packet.times.presentation.nanoseconds
    self.decoder.append(packet.pointer)
    _ = self.decoder.decodeNext { self.take($0, for: consumer) }
  }

  private func take(_ frame: UnsafeMutablePointer<AVFrame>, for consumer: any VideoConsumer) {
    let told = frame.pointee.best_effort_timestamp
    var time = told == vidicon_av_nopts_value ? StreamClock.system.now() : MediaTime(nanoseconds: told)
    if let lastTime { time = max(time, lastTime + SourceTimeline.shortestStep) }
    guard let picture = self.pictures.picture(frame, at: time) else { return consumer.captureSkipped(at: time) }
    self.lastTime = time
    consumer.consume(picture)
  }
}

/// The sound of one connection, decoded; AAC-LC is handed on beside it.
final class NetworkAudioTrack {
  let format: AudioFormat
  private let decoder: PacketDecoder
  private var sound: DecodedAudioConverter
  private var lastEnd = MediaTime.zero
  /// Nil where it is not AAC.
  private var reader: AACPacketReader?

  init(stream: UnsafeMutablePointer<AVStream>, source: String) throws(VidiconError) {
    self.decoder = try PacketDecoder(stream: stream, source: source)
    self.format = try self.decoder.soundFormat(source: source)
    self.sound = DecodedAudioConverter(format: self.format)
    // No trap: every stream has parameters.
    let parameters = stream.pointee.codecpar!.pointee
    if parameters.codec_id == AV_CODEC_ID_AAC {
      let extradata = UnsafeRawBufferPointer(start: parameters.extradata, count: Int(parameters.extradata_size))
      self.reader = AACPacketReader(extradata: Array(extradata))
    }
  }

  /// What the blocks are to have: what the source had when it was opened.
  func setFormat(_ format: AudioFormat) {
    if format != self.sound.format { self.sound = DecodedAudioConverter(format: format) }
  }

  /// Decodes a packet and hands on what comes out.
  func handle(_ packet: NetworkPacket, to consumer: any AudioConsumer) {
    if let extradata = packet.newExtradata { self.reader?.replace(extradata: extradata) }
    let compressed = self.reader?.read(ByteBuffer(bytes: packet.bytes))
    let start = packet.times.presentation
    packet.pointer.pointee.dts = packet.times.decode.nanoseconds
    packet.pointer.pointee.pts = start.nanoseconds
    self.decoder.append(packet.pointer)
    var blocks: [AudioBlock] = []
    _ = self.decoder.decodeNext { frame in
      guard let samples = self.sound.samples(frame) else { return }
      let told = frame.pointee.best_effort_timestamp
      let time = told == vidicon_av_nopts_value ? self.lastEnd : MediaTime(nanoseconds: told)
      let isWhole = time == start && compressed?.holds(frame) == true
      let block = AudioBlock(
        format: self.sound.format, timestamp: time, samples: samples, packet: isWhole ? compressed : nil)
      self.lastEnd = time + block.duration
      blocks.append(block)
    }
    if blocks.count > 1 { for index in blocks.indices { blocks[index].packet = nil } }
    for block in blocks { consumer.consume(block) }
  }
}

extension AudioPacket {
  /// Whether a frame that came out of a decoder is all that it describes. Of the extensions that nobody is told of, and of a
  /// start that is to be left out, the frame is longer or shorter.
  fileprivate func holds(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    Int(frame.pointee.nb_samples) == self.description.samplesPerFrame
      && Int(frame.pointee.sample_rate) == self.description.format.sampleRate
      && Int(frame.pointee.ch_layout.nb_channels) == self.description.format.channelCount
  }
}
