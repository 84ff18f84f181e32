internal import Bitstreams
internal import Media
internal import NIOCore

/// Finds in the packets of a demuxer what our outputs can carry of AAC: AAC-LC of 1024 samples a frame in one or two channels,
/// behind an ADTS header (as in MPEG-TS) or described apart.
struct AACPacketReader {
  /// What was described apart.
  private var described: AACDescription?

  /// - Parameter extradata: What the demuxer says of the track: an `AudioSpecificConfig`, or nothing.
  init(extradata: [UInt8]) {
    self.replace(extradata: extradata)
  }

  /// The track goes on with another description.
  mutating func replace(extradata: [UInt8]) {
    self.described = (try? AudioSpecificConfig(parsing: extradata)).flatMap {
      $0.isCarried ? AACDescription(audioSpecificConfig: extradata, format: $0.format) : nil
    }
  }

  /// Reads a packet; nil for one that cannot be handed on as it is.
  func read(_ packet: ByteBuffer) -> AudioPacket? {
    // No block begins with these bits: they would mean its end.
    guard let head = packet.getInteger(at: packet.readerIndex, as: UInt16.self), head & 0xFFF0 == 0xFFF0 else {
      return self.described.map { AudioPacket(payload: packet, description: $0) }
    }
    var payload = packet
    guard let header = try? ADTSHeader(parsing: &payload), header.rawDataBlockCount == 1,
      header.payloadLength == payload.readableBytes,
      header.channelConfiguration == 1 || header.channelConfiguration == 2,
      var config = AudioSpecificConfig(
        format: AudioFormat(
          sampleRate: header.samplingFrequency, channelCount: Int(header.channelConfiguration)))
    else { return nil }
    config.audioObjectType = header.audioObjectType
    guard config.isCarried else { return nil }
    return AudioPacket(
      payload: payload,
      description: AACDescription(audioSpecificConfig: config.serialize(), format: config.format))
  }
}

extension AudioSpecificConfig {
  /// Whether our outputs can carry it, and announce it as they announce their own.
  fileprivate var isCarried: Bool {
    self.audioObjectType == 2 && self.samplesPerFrame == 1024 && self.spectralBandReplication == nil
      && self.channelConfiguration <= 2
  }
}
