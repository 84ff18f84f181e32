package import Media
package import NIOCore

/// The connections of a push to its server, one at a time, over the protocol of its target. Used on the event loop of the pushes only.
///
/// Reports ``PushLinkEvent`` of the current connection or attempt to the closure that it was created with, also from within ``connect(_:)``
/// and ``flush()``.
package protocol PushLink: AnyObject {
  /// Opens a connection for a stream with these codecs.
  func connect(_ descriptions: [CodecDescription])
  /// Begins the media of an accepted connection.
  ///
  /// - Parameters:
  ///   - bitrate: Target bitrate of the video, in bits per second.
  ///   - audioBitrate: Target bitrate of the audio, in bits per second; nil without audio.
  func begin(bitrate: Int, audioBitrate: Int?)
  /// Sets the codecs' configuration for the samples that follow.
  func configure(_ descriptions: [CodecDescription])
  /// Appends a sample; ``flush()`` sends it.
  func write(_ sample: EncodedSample)
  /// Sends what was written.
  func flush()
  /// Ends the connection or attempt at the server, so that it releases its name; no event of it follows.
  func finish()
  /// Closes the connection without sending what it holds; no event of it follows.
  func abort()
  /// Drops media that waits or could be sent again, as far as that is possible without closing the connection.
  func discardEarlier()
  /// Sets the target bitrate of the video that is sent, and its maximum, in bits per second.
  func follow(bitrate: Int, maximum: Int)
  /// Bytes that were passed to the connection and have not left.
  var unsentByteCount: Int { get }
  /// Minimum round-trip time of the connection; zero where it is not known.
  var roundTripTime: MediaDuration { get }
  /// Whether the protocol estimates the bitrate that a connection carries.
  static var hasEstimate: Bool { get }
  /// Bitrate that the connection carries, in bits per second, where the protocol estimates it; nil while unknown.
  var estimate: Int? { get }
  /// Frames that the connection has dropped since the push began.
  var droppedFrames: Int { get }
  /// Completes when the server knows the end of the last connection, or does not respond.
  var farewell: EventLoopFuture<Void> { get }
}

/// Event of a ``PushLink``.
package enum PushLinkEvent {
  /// The server waits for media.
  case accepted
  /// The server needs a keyframe.
  case keyframeNeeded
  /// The server asks for a new connection.
  case reconnectRequested
  /// The connection has ended, or was never made, with one line for the owner; the next attempt is later than after a minimum delay.
  case ended(String, minimumDelay: MediaDuration = .zero)
}
