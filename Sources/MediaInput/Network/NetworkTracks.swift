internal import CLibav
internal import Capture
internal import Codecs
internal import Media

/// Tracks of one connection. Made on the reading thread, used on the playing thread.
final class NetworkTracks {
  let video: NetworkVideoTrack?
  let audio: NetworkAudioTrack?
  /// Format of the frames, presumed where the video or its parameter sets have not come; nil without video.
  let videoFormat: VideoFormat?

  /// Tracks of a container that was opened by libavformat.
  ///
  /// - Parameter streams: Set to the stream of each track.
  init(
    _ context: UnsafeMutablePointer<AVFormatContext>, streams: inout [MediaKind: Int], source: String
  ) throws(VidiconError) {
    let choice = StreamChoice(context)
    guard !choice.video.isEmpty || !choice.audio.isEmpty else {
      throw VidiconError(
        .missingTrack, subject: source, cause: "it sends neither video nor audio",
        nextStep: "list its streams with: ffprobe \(source)")
    }
    let isUntimed = context.isUntimed
    var failure: VidiconError?
    var video: (track: NetworkVideoTrack, index: Int)?
    do throws(VidiconError) {
      video = try StreamChoice.open(choice.video) { index throws(VidiconError) in
        // No trap: the indices are those of streams.
        let stream = context.pointee.streams[index]!
        return try NetworkVideoTrack(
          stream: stream, frameRate: context.frameRate(of: stream), isUntimed: isUntimed, source: source)
      }
    } catch {
      failure = error
    }
    var audio: (track: NetworkAudioTrack, index: Int)?
    do throws(VidiconError) {
      audio = try StreamChoice.open(choice.audio) { index throws(VidiconError) in
        try NetworkAudioTrack(stream: context.pointee.streams[index]!, source: source)
      }
    } catch {
      failure = failure ?? error
    }
    // A track that cannot be decoded takes nothing from the other one.
    if video == nil, audio == nil, let failure { throw failure }
    (self.video, self.audio) = (video?.track, audio?.track)
    (streams[.video], streams[.audio]) = (video?.index, audio?.index)
    self.videoFormat = video?.track.format ?? (choice.video.isEmpty && context.awaitsVideo ? VideoFormat.presumed : nil)
  }

  /// A track of video alone.
  init(video: NetworkVideoTrack?) {
    (self.video, self.audio, self.videoFormat) = (video, nil, video?.format)
  }

  /// Tracks with these configurations; nil when there are none, or libavcodec does not accept them.
  ///
  /// - Parameter awaitsVideo: Whether there is video, the configuration of which has not come.
  convenience init?(video: H264Description?, audio: AACDescription?, awaitsVideo: Bool, source: String) {
    self.init(
      video: video.map { .h264($0) }, audio: audio.map { .aac($0) }, handling: .passedThrough,
      awaitsVideo: awaitsVideo, source: source)
  }

  /// Tracks with these codecs; nil when there are none, or libavcodec does not accept them.
  init?(
    video: PublishedCodec?, audio: PublishedCodec?, handling: VideoHandling, awaitsVideo: Bool = false, source: String
  ) {
    self.video = video.flatMap { NetworkVideoTrack($0, handling: handling, source: source) }
    self.audio = audio.flatMap { audio in
      audio.parameters.flatMap { try? NetworkAudioTrack($0.pointer, source: source) }
    }
    self.videoFormat = self.video?.format ?? (awaitsVideo ? .presumed : nil)
    if self.videoFormat == nil, self.audio == nil { return nil }
  }
}

/// Codecs of tracks whose decoders are opened on the playing thread, when what was buffered before has been played: a publisher that
/// changes them for ever has one decoder of each kind.
struct TrackCodecs: Hashable, Sendable {
  /// Nil where the track stays as it is, or there is none.
  var video: PublishedCodec?
  var audio: PublishedCodec?
  var handling = VideoHandling.passedThrough
  /// Name of the source, for its owner.
  var source: String

  /// Opens the decoders; nil when there are none, or libavcodec does not accept any of the codecs.
  func open() -> NetworkTracks? {
    NetworkTracks(video: self.video, audio: self.audio, handling: self.handling, source: self.source)
  }

  /// The codecs, with those of a later change in place of those of its kind.
  func changed(to other: TrackCodecs) -> TrackCodecs {
    var codecs = other
    codecs.video = other.video ?? self.video
    codecs.audio = other.audio ?? self.audio
    return codecs
  }
}

/// Audio track of one connection: decodes it, and passes AAC-LC packets through beside the samples.
final class NetworkAudioTrack {
  let format: AudioFormat
  private let decoder: PacketDecoder
  private var converter: DecodedAudioConverter
  private var lastEnd = MediaTime.zero
  /// Nil for codecs other than AAC.
  private var reader: AACPacketReader?
  /// Nil for codecs other than Opus, whose packets come over paths that lose some.
  private var concealment: LossConcealment?

  convenience init(stream: UnsafeMutablePointer<AVStream>, source: String) throws(VidiconError) {
    // No trap: every stream has parameters.
    try self.init(stream.pointee.codecpar!, source: source)
  }

  init(_ codec: UnsafeMutablePointer<AVCodecParameters>, source: String) throws(VidiconError) {
    self.decoder = try PacketDecoder(codec, source: source)
    self.format = try self.decoder.audioFormat(presumed: .presumed, source: source)
    self.converter = DecodedAudioConverter(format: self.format)
    let parameters = codec.pointee
    if parameters.codec_id == AV_CODEC_ID_AAC {
      let extradata = UnsafeRawBufferPointer(start: parameters.extradata, count: Int(parameters.extradata_size))
      self.reader = AACPacketReader(extradata: Array(extradata))
    }
    if parameters.codec_id == AV_CODEC_ID_OPUS { self.concealment = LossConcealment() }
  }

  /// Sets the format of the blocks: that of the first connection.
  func setFormat(_ format: AudioFormat) {
    if format != self.converter.format { self.converter = DecodedAudioConverter(format: format) }
  }

  /// Decodes a packet and delivers the blocks.
  func handle(_ packet: NetworkPacket, to consumer: any AudioConsumer) {
    if let extradata = packet.newExtradata { self.reader?.replace(extradata: extradata) }
    let compressed = self.reader?.read(packet.bytes)
    let start = packet.times.presentation
    guard let coded = packet.makeLibavPacket() else { return }
    self.decoder.append(coded.pointer)
    var blocks: [AudioBlock] = []
    _ = self.decoder.decodeNext { frame in
      guard let samples = self.converter.samples(frame) else { return }
      let timestamp = frame.pointee.best_effort_timestamp
      let time = timestamp == vidicon_av_nopts_value ? self.lastEnd : MediaTime(nanoseconds: timestamp)
      let isWhole = time == start && compressed?.holds(frame) == true
      let block = AudioBlock(
        format: self.converter.format, timestamp: time, samples: samples, packet: isWhole ? compressed : nil)
      self.lastEnd = time + block.duration
      blocks.append(block)
    }
    if blocks.count > 1 { for index in blocks.indices { blocks[index].packet = nil } }
    for block in blocks { consumer.consume(self.concealment?.filled(block) ?? block) }
  }
}

extension AudioPacket {
  /// Whether a decoded frame has the length, sample rate and channel count that the packet's description states; false
  /// with implicit SBR or PS, and where encoder delay is skipped.
  fileprivate func holds(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    Int(frame.pointee.nb_samples) == self.description.samplesPerFrame
      && Int(frame.pointee.sample_rate) == self.description.format.sampleRate
      && Int(frame.pointee.ch_layout.nb_channels) == self.description.format.channelCount
  }
}
