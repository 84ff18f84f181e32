internal import Bitstreams
public import Media

/// The format of a track that can be received: H.264, or AAC as such (RFC 3640) or in LATM (RFC 6416), with its payload type and clock.
public struct RTPMediaFormat: Hashable, Sendable {
  /// Whether the track is video or audio.
  public let kind: MediaKind
  /// PT of its packets, 0 to 127.
  public let payloadType: UInt8
  /// Ticks per second of its timestamps: 90 000 for H.264, 1 to 192 000 for audio.
  public let clockRate: Int32
  /// The codec configuration; nil for H.264 of whose parameter sets only those in the stream can be used.
  public let description: CodecDescription?
  /// Frame rate of H.264 whose parameter sets have none.
  let frameRate: FrameRate
  let parameters: SDPFormatParameters
  /// Configuration of AAC in LATM; nil for other formats.
  let muxConfig: StreamMuxConfig?

  /// Maximum clock rate of audio, in ticks per second.
  static let maximumAudioClockRate: Int32 = 192_000

  /// The format of a track of a session description.
  ///
  /// - Throws: `ParsingError` `.unsupported` for other codecs and their modes, `.missing` or `.invalid` when a parameter that a
  ///   decoder needs is absent or cannot be parsed.
  public init(_ media: MediaDescription) throws(ParsingError) {
    guard let payloadType = media.payloadType, let map = media.rtpMap(payloadType: payloadType) else {
      // Payload types with a fixed meaning, RFC 3551 §6, need no map, and none of them is H.264 or AAC.
      throw ParsingError(media.payloadType.map { $0 < 96 } ?? true ? .unsupported : .missing, field: "rtpmap")
    }
    self.payloadType = payloadType
    self.clockRate = map.clockRate
    self.parameters = media.formatParameters(payloadType: payloadType)
    self.frameRate = media.frameRate ?? FrameRate(30)
    if map.isEncoding("H264"), media.media == "video" {
      guard map.clockRate == H264Packetizer.clockRate else { throw ParsingError(.invalid, field: "rtpmap") }
      self.kind = .video
      self.muxConfig = nil
      do throws(ParsingError) {
        self.description = try media.codecDescription()
      } catch {
        // Parameter sets that cannot be used are replaced by those of the stream.
        guard error.code == .missing || error.code == .invalid else { throw error }
        self.description = nil
      }
    } else if map.isEncoding("mpeg4-generic"), media.media == "audio" {
      guard (1...Self.maximumAudioClockRate).contains(map.clockRate) else {
        throw ParsingError(.invalid, field: "rtpmap")
      }
      self.kind = .audio
      self.muxConfig = nil
      self.description = try media.codecDescription()
      _ = try AACDepacketizer(parameters: self.parameters)
    } else if map.isEncoding("MP4A-LATM"), media.media == "audio" {
      guard (1...Self.maximumAudioClockRate).contains(map.clockRate) else {
        throw ParsingError(.invalid, field: "rtpmap")
      }
      let config = try Self.muxConfig(self.parameters)
      let parsed = try AudioSpecificConfig(parsing: config.audioSpecificConfig)
      self.kind = .audio
      self.muxConfig = config
      self.description = .aac(
        AACDescription(
          audioSpecificConfig: config.audioSpecificConfig, format: parsed.format,
          samplesPerFrame: parsed.samplesPerFrame))
    } else {
      throw ParsingError(.unsupported, field: "rtpmap")
    }
  }

  /// The parameters `cpresent` and `config`, RFC 6416 §7.3.
  private static func muxConfig(_ parameters: SDPFormatParameters) throws(ParsingError) -> StreamMuxConfig {
    guard parameters["cpresent"] == "0" else { throw ParsingError(.unsupported, field: "cpresent") }
    guard let text = parameters["config"] else { throw ParsingError(.missing, field: "config") }
    guard let bytes = Hexadecimal.decode(text) else { throw ParsingError(.invalid, field: "config") }
    return try StreamMuxConfig(parsing: bytes)
  }
}
