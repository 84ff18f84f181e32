package import Media

/// A frame that may be shown. Encoders accept nothing else: those of the stream and of its renditions, of snapshots, thumbnails and
/// motion JPEG.
///
/// The type is the mark of privacy mode: "searched completely, all candidates covered". A frame without the mark does not compile
/// where a frame is shown; there are three ways to it:
///
/// - ``init(notPrivate:)`` says in so many words that the stream has no privacy effect. In this package only the chain of
///   effects decides that, which a test of the repository checks.
/// - ``init(_:mark:)`` needs a ``ReleaseMark``. The only type that is one has no other initializers than those that cover a frame by
///   the result of a search, or cover it whole.
/// - ``replacingFrame(by:)`` keeps the mark for the same pixels at another time or size.
///
/// A reference to the frame's memory, without a copy of its pixels.
package struct ReleasedFrame: Sendable {
  /// The frame as it is shown.
  package let frame: VideoFrame

  /// Releases a frame of a stream without privacy, or one that no camera has seen.
  package init(notPrivate frame: VideoFrame) { self.frame = frame }

  /// Releases a frame of a private stream.
  ///
  /// - Parameter mark: Of this frame.
  package init(_ frame: VideoFrame, mark: some ReleaseMark) { self.frame = frame }

  /// The same released pixels in another frame: at another time, copied or scaled.
  package func replacingFrame(by frame: VideoFrame) -> ReleasedFrame { ReleasedFrame(notPrivate: frame) }
}

/// Evidence that nothing in a frame is left that privacy mode hides; see ``ReleasedFrame``.
package protocol ReleaseMark: Sendable {}
