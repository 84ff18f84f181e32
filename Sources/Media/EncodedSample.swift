public import NIOCore

/// One compressed picture (access unit) or stretch of sound, shared by every output.
public struct EncodedSample: Sendable {
  /// Whether this is picture or sound.
  public var kind: MediaKind
  /// The compressed bytes.
  ///
  /// H.264: the access unit's NAL units, each behind its length in 4 bytes, big-endian (ISO/IEC 14496-15 §5.3.4.2.1),
  /// without parameter sets and access unit delimiters; the former stand in the ``CodecDescription``. AAC: one
  /// `raw_data_block` (ISO/IEC 14496-3), without ADTS header.
  public var payload: ByteBuffer
  /// When it is to be shown or heard: the time of its capture.
  public var presentationTime: MediaTime
  /// When it is to be decoded; the same as ``presentationTime``, unless pictures are reordered.
  public var decodeTime: MediaTime
  /// How long it lasts.
  public var duration: MediaDuration
  /// Whether decoding can start here: an IDR picture; true for sound.
  public var isKeyframe: Bool

  /// A sample; without `decodeTime` it is decoded in the order of presentation.
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
