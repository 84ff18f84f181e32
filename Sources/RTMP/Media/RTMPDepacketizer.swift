internal import Bitstreams
internal import Containers
package import Media
internal import NIOCore

/// Turns a publisher's messages of audio and video into samples.
///
/// Tracks are what arrives, not what the metadata announces: encoders and drones announce wrongly or not at all. A track
/// begins with its configuration; samples before it are dropped and counted. So is video before the first IDR picture or recovery
/// point, and, where the stream has neither, for some seconds.
///
/// Times stay those of the publisher, extended to 64 bits; they may run backwards, and distances of up to 24 days either way
/// are kept. Parameter sets within access units become a new description, as those of a configuration do; where a stream uses
/// several, its keyframes have all of them.
package struct RTMPDepacketizer: Sendable {
  /// Number of samples that could not be decoded and were dropped.
  package private(set) var droppedSampleCount = 0
  /// Frame rate of the metadata; nil while none was received.
  package private(set) var announcedFrameRate: Double?

  private var video = H264SampleReader(frameRate: FrameRate(30))
  private var lengthSize = 4
  private var audio: AACDescription?
  private var unsupported = RTMPUnsupportedTracks()
  /// The last timestamp of any track, extended to 64 bits.
  private var lastMilliseconds: Int64?

  /// A depacketizer before the first message.
  package init() {}

  /// Returns the configurations and samples of a message.
  ///
  /// - Throws: `.unsupported` where the codec of the video is not supported, which the field names, and no audio can be taken either:
  ///   the publisher is to be refused. Other errors concern the message alone, which is dropped.
  package mutating func depacketize(_ message: RTMPMessage) throws(ParsingError) -> [ReceivedMedia] {
    let outputs = try Self.dropping { () throws(ParsingError) in
      switch message.type {
      case .video: try self.video(message)
      case .audio: try self.audio(message)
      default: try self.data(message)
      }
    }
    if let codecs = self.unsupported.refusal { throw ParsingError(.unsupported, field: codecs, offset: 0) }
    return outputs
  }

  private mutating func data(_ message: RTMPMessage) throws(ParsingError) -> [ReceivedMedia] {
    if let metadata = try RTMPMetadata(parsing: message), let rate = metadata.values["framerate"]?.number,
      (1...1000).contains(rate)
    {
      self.announcedFrameRate = rate
      self.video.frameRate = FrameRate(Int32((rate * 1000).rounded()), over: 1000)
    }
    return []
  }

  /// Runs a parser of what a tag contains: what it does not support concerns the message alone.
  private static func dropping(_ body: () throws(ParsingError) -> [ReceivedMedia]) throws(ParsingError)
    -> [ReceivedMedia]
  {
    do throws(ParsingError) {
      return try body()
    } catch {
      throw error.code == .unsupported ? ParsingError(.invalid, field: error.field, offset: error.offset) : error
    }
  }

  /// Whether an error of ``depacketize(_:)`` means that the stream cannot be taken at all.
  package static func isFatal(_ error: ParsingError) -> Bool {
    error.code == .unsupported
  }

  private mutating func time(of message: RTMPMessage) -> MediaTime {
    let last = self.lastMilliseconds ?? Int64(message.timestamp)
    let milliseconds = last &+ Int64(Int32(bitPattern: message.timestamp &- UInt32(truncatingIfNeeded: last)))
    self.lastMilliseconds = milliseconds
    return MediaTime(ticks: milliseconds, timescale: 1000)
  }

  private mutating func video(_ message: RTMPMessage) throws(ParsingError) -> [ReceivedMedia] {
    let tag: FLVVideoTag
    do throws(ParsingError) {
      tag = try FLVVideoTag(parsing: message.payload)
    } catch {
      return try self.drop(.video, error, at: message.timestamp)
    }
    if tag.isOfCodec { self.unsupported.handleSupported(.video) }
    switch tag {
    case .configuration(let record):
      let record = try AVCDecoderConfiguration(parsing: Array(record.readableBytesView))
      self.lengthSize = record.lengthSize
      return try self.video.replace(H264ParameterSets(record)).map { [.description(.h264($0))] } ?? []
    case .accessUnit(let payload, let compositionTime, let isKeyframe):
      let time = self.time(of: message)
      let unit = try H264AccessUnit(parsingAVCC: payload, lengthSize: self.lengthSize)
      var outputs: [ReceivedMedia] = []
      if let changed = self.video.adopt(unit) { outputs.append(.description(.h264(changed))) }
      switch self.video.read(unit, isMarked: isKeyframe, at: time) {
      case .empty: if isKeyframe { self.droppedSampleCount += 1 }
      case .early(let missing):
        self.droppedSampleCount += 1
        if let missing { outputs.append(.missingKeyframe(dropped: missing)) }
      case .frame(let payload, let isStart):
        outputs.append(
          .sample(
            EncodedSample(
              kind: .video, payload: payload, presentationTime: time + .milliseconds(Int64(compositionTime)),
              decodeTime: time, duration: .zero, isKeyframe: isStart)))
      }
      return outputs
    case .endOfSequence, .ignored: return []
    }
  }

  /// Drops a message whose codec is not supported, and reports the first of a track: the other one goes on.
  private mutating func drop(
    _ kind: MediaKind, _ error: ParsingError, at timestamp: UInt32
  ) throws(ParsingError) -> [ReceivedMedia] {
    guard error.code == .unsupported else { throw error }
    self.droppedSampleCount += 1
    let isNew = self.unsupported.handleUnsupported(kind, codec: error.field, at: timestamp)
    return isNew ? [.unsupported(kind, codec: error.field)] : []
  }

  private mutating func audio(_ message: RTMPMessage) throws(ParsingError) -> [ReceivedMedia] {
    let tag: FLVAudioTag
    do throws(ParsingError) {
      tag = try FLVAudioTag(parsing: message.payload)
    } catch {
      return try self.drop(.audio, error, at: message.timestamp)
    }
    switch tag {
    case .configuration(let bytes):
      let config = Array(bytes.readableBytesView)
      let parsed: AudioSpecificConfig
      do throws(ParsingError) {
        parsed = try AudioSpecificConfig(parsing: config)
      } catch {
        self.audio = nil
        return try self.drop(.audio, error, at: message.timestamp)
      }
      self.unsupported.handleSupported(.audio)
      let description = AACDescription(
        audioSpecificConfig: config, format: parsed.format, samplesPerFrame: parsed.samplesPerFrame)
      guard description != self.audio else { return [] }
      self.audio = description
      return [.description(.aac(description))]
    case .frame(let frame):
      guard let audio, frame.readableBytes > 0 else {
        self.droppedSampleCount += 1
        return []
      }
      let time = self.time(of: message)
      let duration = MediaDuration.ticks(
        Int64(audio.samplesPerFrame), timescale: Int32(clamping: audio.format.sampleRate))
      return [
        .sample(
          EncodedSample(
            kind: .audio, payload: frame, presentationTime: time, duration: duration, isKeyframe: true))
      ]
    case .endOfSequence, .ignored: return []
    }
  }
}

extension FLVVideoTag {
  /// Whether the tag says that the video is H.264.
  fileprivate var isOfCodec: Bool {
    switch self {
    case .configuration, .accessUnit: true
    case .endOfSequence, .ignored: false
    }
  }
}
