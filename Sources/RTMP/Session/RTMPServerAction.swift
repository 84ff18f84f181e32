package import Media
package import NIOCore

/// An action of an RTMP connection, performed in the order of the array.
package enum RTMPServerAction: Hashable, Sendable {
  /// Send the bytes.
  case send(ByteBuffer)
  /// Decide whether the client may play or publish, and call ``RTMPServerSession/accept(now:allowance:)`` or
  /// ``RTMPServerSession/refuse(_:now:)``. Received bytes wait meanwhile.
  case decide(RTMPStreamRequest)
  /// Join the stream: send its metadata, configuration and samples on message stream ``RTMPServerSession/streamID``.
  case startPlaying
  /// Leave the stream: no sample is sent from now on.
  case stopPlaying
  /// A message of audio, video or metadata from the publisher.
  case publish(RTMPMessage)
  /// The publisher has ended the stream.
  case stopPublishing
  /// Send pending bytes and close the connection. Always the last action.
  case close(RTMPCloseReason)
}

/// Reason for which a server closes a connection.
package enum RTMPCloseReason: Hashable, Sendable {
  /// The client's bytes violate the protocol.
  case malformed(ParsingError)
  /// The request was refused.
  case refused(RTMPRefusal)
  /// The client was idle for too long.
  case timeout
  /// The stream or the server has ended.
  case ended
}

/// Reason for which a client may not play or publish.
package enum RTMPRefusal: Hashable, Sendable {
  /// There is no stream of the name.
  case notFound
  /// A token is missing or wrong, or its role does not suffice.
  case unauthorized
  /// Too many failures; the client can try again later.
  case throttled
  /// Another publisher sends this stream.
  case alreadyPublished
  /// The media cannot be taken; the sentence says why and what to do.
  case unsupported(String)
}
