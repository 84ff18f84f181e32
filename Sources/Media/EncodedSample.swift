public import NIOCore

/// One compressed video frame (access unit) or audio frame, shared by every output.
///
/// Copying a sample copies no media data.
///
/// The encoder's thread makes it, and passes it to each output, see `StreamOutput`:
///
/// ```swift
/// func consume(_ sample: EncodedSample) {
///   if sample.kind == .video, sample.isKeyframe { print("keyframe of \(sample.payload.readableBytes) bytes") }
/// }
/// ```
public struct EncodedSample: Sendable {
  /// Whether this is video or audio.
  public var kind: MediaKind
  /// Compressed bytes.
  ///
  /// H.264: the NAL units of the access unit, each preceded by its length in 4 bytes, big-endian (ISO/IEC 14496-15
  /// §5.3.4.2.1), without access unit delimiters and parameter sets; the latter are in the ``CodecDescription``. AAC:
  /// one `raw_data_block` (ISO/IEC 14496-3 §4.4.2.1), without ADTS header.
  public var payload: ByteBuffer
  /// Presentation time: the capture time, on the streams' clock.
  public var presentationTime: MediaTime
  /// Decoding time; equal to ``presentationTime`` unless frames are reordered.
  public var decodeTime: MediaTime
  /// Time until the next sample of the track; nominal where the next one is not known.
  public var duration: MediaDuration
  /// Whether decoding can start here: true for IDR access units and for audio.
  public var isKeyframe: Bool

  /// Creates a sample.
  ///
  /// - Parameter decodeTime: The presentation time by default, for streams without frame reordering.
  public init(
    kind: MediaKind,
    payload: ByteBuffer,
    presentationTime: MediaTime,
    decodeTime: MediaTime? = nil,
    duration: MediaDuration,
    isKeyframe: Bool
  ) {
    self.kind = kind
    self.payload = payload
    self.presentationTime = presentationTime
    self.decodeTime = decodeTime ?? presentationTime
    self.duration = duration
    self.isKeyframe = isKeyframe
  }
}

/// Content of a sender's packets or messages, in the order in which it is to be decoded.
public enum ReceivedMedia: Sendable {
  /// The first or a new configuration of a track.
  case description(CodecDescription)
  /// A sample; its duration may not be known, and is zero then.
  case sample(EncodedSample)
  /// A track has a codec that is not supported, whose name is given; once. The other track is not affected.
  case unsupported(MediaKind, codec: String)
  /// Neither a keyframe nor a recovery point has come for seconds, or no configuration, so that this number of frames was
  /// dropped; once for a track. The track goes on.
  case missingKeyframe(dropped: Int)
}
