package import Bitstreams
package import Media
package import NIOCore
package import RTP

/// A frame or audio packet of a publisher, complete and in order, with its time on the stream's clock.
package struct WebRTCReceivedFrame: Sendable {
  /// The codec with what a decoder must know besides the payload.
  package enum Content: Hashable, Sendable {
    /// An H.264 access unit, each NAL unit preceded by its length in 4 bytes; the configuration where it is new, which precedes a
    /// keyframe.
    case h264(newDescription: H264Description?)
    /// A VP8 frame; the size of a keyframe.
    case vp8(size: VP8FrameHeader.Size?)
    /// An Opus packet; what precedes it, and its duration.
    case opus(gap: OpusDepacketizer.Gap?, duration: MediaDuration)
  }

  /// Codec of the payload, and what its header says.
  package var content: Content
  /// Compressed bytes of the whole frame, or of one audio packet.
  package var payload: ByteBuffer
  /// Capture time, on the stream's clock. Times of a track increase.
  package var presentationTime: MediaTime
  /// Whether decoding can start here; true for audio.
  package var isKeyframe: Bool
}
