package import Media

extension PushSender {
  /// An action, performed in the order of the array.
  package enum Action: Sendable {
    /// Open a connection; call ``PushSender/handleConnected(now:)`` when the server accepts the stream, or
    /// ``PushSender/handleDisconnected(_:now:)``.
    case connect
    /// Close the connection or give the attempt up, without a call of ``PushSender/handleDisconnected(_:now:)``.
    case disconnect
    /// Close the connection without sending what it holds, and without a call of ``PushSender/handleDisconnected(_:now:)``: it must
    /// not be seen.
    case abort
    /// Send the codecs' configuration, before the next sample: at the start of a connection, and when it has changed.
    case sendConfiguration
    /// Send a sample, in decoding order; audio and video share the connection.
    case send(EncodedSample)
    /// Request a keyframe of the encoding that is sent.
    case requestKeyframe
    /// Start an encoding for this push alone, if one can be had, and call ``PushSender/encodingGranted(now:)``.
    case requestEncoding(bitrate: Int)
    /// Set the bitrate of the encoding of this push alone, in bits per second.
    case setBitrate(Int)
    /// End the encoding of this push alone: the stream's own is sent again, from a keyframe on.
    case releaseEncoding
  }
}
