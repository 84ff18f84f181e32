internal import Bitstreams
package import Media
package import NIOCore

/// Extracts AAC that every output supports from a demuxer's packets: AAC-LC with 1024 samples per frame in one or two channels,
/// with an ADTS header (as in MPEG-TS) or with an `AudioSpecificConfig`.
package struct AACPacketReader {
  /// Description from the `AudioSpecificConfig`; nil where packets have ADTS headers.
  private var described: AACDescription?

  /// - Parameter extradata: The track's `AudioSpecificConfig`, or empty.
  package init(extradata: [UInt8]) {
    self.replace(extradata: extradata)
  }

  /// Replaces the description of the packets that follow.
  package mutating func replace(extradata: [UInt8]) {
    self.described = (try? AudioSpecificConfig(parsing: extradata)).flatMap {
      $0.isSupported ? AACDescription(audioSpecificConfig: extradata, format: $0.format) : nil
    }
  }

  /// Parses a packet; nil when it cannot be passed through.
  package func read(_ packet: ByteBuffer) -> AudioPacket? {
    // 0xFFF is the ADTS syncword; a raw data block cannot begin with it (ID_END).
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
    guard config.isSupported else { return nil }
    return AudioPacket(
      payload: payload,
      description: AACDescription(audioSpecificConfig: config.serialize(), format: config.format))
  }
}

extension AudioSpecificConfig {
  /// Whether every output supports this codec configuration.
  fileprivate var isSupported: Bool {
    self.audioObjectType == 2 && self.samplesPerFrame == 1024 && self.spectralBandReplication == nil
      && (1...2).contains(self.channelConfiguration)
  }
}
