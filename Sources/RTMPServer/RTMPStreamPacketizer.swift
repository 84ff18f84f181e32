package import Media
internal import NIOCore
internal import RTMP
package import Serving

/// Turns the samples of a stream into the chunks that all its viewers get.
///
/// Timestamps count from shortly before the first sample that a viewer was sent, not from each viewer's own start: otherwise
/// every viewer needs bytes of its own.
package struct RTMPStreamPacketizer: ConnectionPacketizer {
  /// Distance of the first sample from timestamp 0: samples of the other track may be earlier.
  private static let head = MediaDuration.seconds(2)

  /// The codec of each track, video first.
  private(set) var descriptions: [CodecDescription]
  private var packetizer: RTMPPacketizer?
  private var writer = RTMPChunkWriter(chunkSize: RTMPChunkWriter.announcedChunkSize)
  /// Whether a description has changed since the last samples: all viewers need it with the next keyframe.
  private var hasChanged = false

  package init(_ descriptions: [CodecDescription]) {
    self.descriptions = descriptions
  }

  /// Whether there is a video track.
  var hasVideo: Bool { self.descriptions.contains { $0.kind == .video } }

  /// Replaces the description of a track, from the next keyframe on.
  package mutating func change(to description: CodecDescription) {
    guard self.descriptions.replace(description) else { return }
    self.packetizer?.descriptions = self.descriptions
    self.hasChanged = self.packetizer != nil
  }

  package mutating func packets(of sample: EncodedSample) -> [SharedBytes] {
    let packetizer =
      self.packetizer ?? RTMPPacketizer(self.descriptions, epoch: sample.decodeTime - Self.head)
    self.packetizer = packetizer
    guard let message = packetizer.packetize(sample) else { return [] }
    var (buffer, preamble) = (ByteBuffer(), ByteBuffer?.none)
    if sample.kind == .video && sample.isKeyframe || !self.hasVideo {
      var configuration = ByteBuffer()
      for message in packetizer.preamble(at: sample.decodeTime) { self.writer.write(message, into: &configuration) }
      if self.hasChanged { buffer = configuration } else { preamble = configuration }
      self.hasChanged = false
    }
    self.writer.write(message, into: &buffer)
    return [SharedBytes(buffer, of: sample, preamble: preamble)]
  }
}
