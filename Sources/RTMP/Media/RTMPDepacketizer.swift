internal import Bitstreams
internal import Containers
public import Media
internal import NIOCore

/// Turns a publisher's messages of audio and video into samples.
///
/// Tracks are what arrives, not what the metadata announces: encoders and drones announce wrongly or not at all. A track
/// begins with its configuration; samples before it, and video before the first keyframe, are dropped and counted.
///
/// Times stay those of the publisher, extended to 64 bits; they may run backwards, and distances of up to 24 days either way
/// are kept. Parameter sets within access units become a new description, as those of a configuration do.
public struct RTMPDepacketizer: Sendable {
  /// Configuration or media that a message contains.
  public enum Output: Sendable {
    /// The first or a new configuration of a track.
    case description(CodecDescription)
    /// A sample; its duration is not known and zero.
    case sample(EncodedSample)
  }

  /// Number of samples that could not be decoded and were dropped.
  public private(set) var droppedSampleCount = 0
  /// Frame rate of the metadata; nil while none was received.
  public private(set) var announcedFrameRate: Double?

  private var video: H264Description?
  private var lengthSize = 4
  private var audio: AACDescription?
  private var hasKeyframe = false
  /// The last timestamp of any track, extended to 64 bits.
  private var lastMilliseconds: Int64?

  /// A depacketizer before the first message.
  public init() {}

  /// Handles a message.
  ///
  /// - Throws: `.unsupported` for another codec, which the field names: the publisher is to be refused. Other errors concern
  ///   the message alone, which is dropped.
  public mutating func depacketize(_ message: RTMPMessage) throws(ParsingError) -> [Output] {
    switch message.type {
    case .video: return try self.video(message)
    case .audio: return try self.audio(message)
    default:
      if let metadata = try RTMPMetadata(parsing: message), let rate = metadata.values["framerate"]?.number,
        (1...1000).contains(rate)
      {
        self.announcedFrameRate = rate
      }
      return []
    }
  }

  /// Whether an error of ``depacketize(_:)`` means that the stream cannot be taken at all.
  public static func isFatal(_ error: ParsingError) -> Bool {
    error.code == .unsupported
  }

  private mutating func time(of message: RTMPMessage) -> MediaTime {
    let last = self.lastMilliseconds ?? Int64(message.timestamp)
    let milliseconds = last &+ Int64(Int32(bitPattern: message.timestamp &- UInt32(truncatingIfNeeded: last)))
    self.lastMilliseconds = milliseconds
    return MediaTime(ticks: milliseconds, timescale: 1000)
  }

  private mutating func video(_ message: RTMPMessage) throws(ParsingError) -> [Output] {
    switch try FLVVideoTag(parsing: message.payload) {
    case .configuration(let record):
      let record = try AVCDecoderConfiguration(parsing: Array(record.readableBytesView))
      self.lengthSize = record.lengthSize
      return try self.change(record.sequenceParameterSets.first, record.pictureParameterSets.first)
    case .accessUnit(let payload, let compositionTime, let isKeyframe):
      let time = self.time(of: message)
      let unit = try H264AccessUnit(parsingAVCC: payload, lengthSize: self.lengthSize)
      var outputs: [Output] = []
      if let sequence = unit.sequenceParameterSets.first, let pictureSet = unit.pictureParameterSets.first {
        outputs += try self.change(Array(sequence.readableBytesView), Array(pictureSet.readableBytesView))
      }
      // Recovery points that an encoder calls keyframes are none: decoding starts at IDR access units.
      if unit.isKeyframe { self.hasKeyframe = self.video != nil }
      guard self.hasKeyframe, unit.payload.readableBytes > 0 else {
        if unit.payload.readableBytes > 0 || isKeyframe { self.droppedSampleCount += 1 }
        return outputs
      }
      outputs.append(
        .sample(
          EncodedSample(
            kind: .video, payload: unit.payload, presentationTime: time + .milliseconds(Int64(compositionTime)),
            decodeTime: time, duration: .zero, isKeyframe: unit.isKeyframe)))
      return outputs
    case .endOfSequence, .ignored: return []
    }
  }

  private mutating func change(_ sequence: [UInt8]?, _ pictureSet: [UInt8]?) throws(ParsingError) -> [Output] {
    guard let sequence, let pictureSet else { throw ParsingError(.missing, field: "parameter sets") }
    let rate = self.announcedFrameRate.map { FrameRate(Int32(($0 * 1000).rounded()), over: 1000) } ?? FrameRate(30)
    let description = try H264Description(parsing: sequence, pictureParameterSet: pictureSet, frameRate: rate)
    guard description != self.video else { return [] }
    self.video = description
    return [.description(.h264(description))]
  }

  private mutating func audio(_ message: RTMPMessage) throws(ParsingError) -> [Output] {
    switch try FLVAudioTag(parsing: message.payload) {
    case .configuration(let bytes):
      let config = Array(bytes.readableBytesView)
      let parsed = try AudioSpecificConfig(parsing: config)
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
