internal import Media

/// A picture as the viewers of a stream see it.
struct ShownPicture: Sendable {
  /// Counts the pictures that were shown, from 1.
  let number: Int
  /// On the canvas of the stream.
  let frame: VideoFrame
  /// When it went to the encoder.
  let time: MediaTime
}
