internal import Bitstreams
internal import Containers
package import Media
internal import NIOCore

/// Turns the samples of a stream into messages of audio and video: FLV tags with times in milliseconds.
///
/// Times count from `epoch` and are rounded each for itself, so that no error adds up; they wrap after 49.7 days, as the
/// protocol has it.
package struct RTMPPacketizer: Sendable {
  /// The codec of each track; a change takes effect in ``preamble(at:)``.
  package var descriptions: [CodecDescription]
  /// The time with timestamp 0.
  package let epoch: MediaTime
  /// The message stream of the messages.
  package let streamID: UInt32

  /// A packetizer for tracks.
  package init(_ descriptions: [CodecDescription], epoch: MediaTime, streamID: UInt32 = RTMPServerSession.streamID) {
    self.descriptions = descriptions
    self.epoch = epoch
    self.streamID = streamID
  }

  /// Milliseconds from ``epoch`` to a time, rounded down; wraps at 2³² (after 49.7 days).
  package func timestamp(at time: MediaTime) -> UInt32 {
    UInt32(truncatingIfNeeded: self.milliseconds(time))
  }

  private func milliseconds(_ time: MediaTime) -> Int64 {
    (time - self.epoch).ticks(timescale: 1000)
  }

  /// Messages that precede the first sample: metadata, and the decoder configuration of each track.
  ///
  /// The metadata is at time 0, wherever the stream is: FFmpeg takes that of another time for a track of text, and players
  /// that want a frame of each track, such as OBS, wait for it indefinitely.
  ///
  /// - Parameters:
  ///   - bitrates: Target bitrates for the metadata, in bits per second; left out where they are not known.
  ///   - setsDataFrame: Whether a server is to keep the metadata for its players: for publishers.
  package func preamble(
    at time: MediaTime, bitrates: (video: Int?, audio: Int?) = (nil, nil), setsDataFrame: Bool = false
  ) -> [RTMPMessage] {
    let timestamp = self.timestamp(at: time)
    let metadata = RTMPMetadata(self.descriptions, bitrates: bitrates).message(
      timestamp: 0, streamID: self.streamID, setsDataFrame: setsDataFrame)
    return [metadata] + self.descriptions.map { self.configuration($0, timestamp: timestamp) }
  }

  private func configuration(_ description: CodecDescription, timestamp: UInt32) -> RTMPMessage {
    var payload = ByteBuffer()
    switch description {
    case .h264(let video):
      var record = ByteBuffer()
      AVCDecoderConfiguration(video).serialize(into: &record)
      FLVVideoTag.configuration(record).serialize(into: &payload)
    case .aac(let audio):
      FLVAudioTag.configuration(ByteBuffer(bytes: audio.audioSpecificConfig)).serialize(into: &payload)
    }
    return self.message(description.kind, timestamp, payload)
  }

  /// The message of a sample; nil for one of more than 16 MiB, which no message carries.
  package func packetize(_ sample: EncodedSample) -> RTMPMessage? {
    guard sample.payload.readableBytes <= RTMPMessage.maximumLength - 5 else { return nil }
    var payload = ByteBuffer()
    payload.reserveCapacity(sample.payload.readableBytes + 5)
    let time = self.milliseconds(sample.decodeTime)
    switch sample.kind {
    case .video:
      let composition = self.milliseconds(sample.presentationTime) - time
      FLVVideoTag.accessUnit(
        sample.payload, compositionTime: Int32(clamping: min(max(composition, -0x80_0000), 0x7F_FFFF)),
        isKeyframe: sample.isKeyframe
      ).serialize(into: &payload)
    case .audio: FLVAudioTag.frame(sample.payload).serialize(into: &payload)
    }
    return self.message(sample.kind, UInt32(truncatingIfNeeded: time), payload)
  }

  private func message(_ kind: MediaKind, _ timestamp: UInt32, _ payload: ByteBuffer) -> RTMPMessage {
    RTMPMessage(
      type: kind == .video ? .video : .audio, timestamp: timestamp, streamID: self.streamID, payload: payload)
  }
}
