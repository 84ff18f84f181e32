internal import Codecs
internal import Effects
internal import Media

/// The last frame of the output, as viewers see it, kept for snapshots.
///
/// Kept by reference: its buffer is reused once unreferenced, and every pool has one buffer to spare while a JPEG is encoded.
struct OutputFrame: Sendable {
  /// Counts output frames from 1.
  let number: Int
  /// In the stream's format.
  var released: ReleasedFrame
  /// Number of times that frames had become private before it was released.
  let generation: Int
  /// Time at which the frame was passed to the encoder.
  let time: MediaTime

  var frame: VideoFrame { self.released.frame }
}
