package import NIOCore

/// A message, RTMP 1.0 §6.1; sent as one or more chunks.
package struct RTMPMessage: Hashable, Sendable {
  /// Type of the payload.
  package var type: RTMPMessageType
  /// Milliseconds since an instant that the sender chooses; wraps after 49.7 days.
  package var timestamp: UInt32
  /// Message stream: 0 for the connection, others as `createStream` returned them.
  package var streamID: UInt32
  /// Contents; at most 16,777,215 bytes.
  package var payload: ByteBuffer

  /// Maximum length of a payload, in bytes: its length has 24 bits.
  package static let maximumLength = 0xFF_FFFF

  /// Creates a message whose timestamp is in milliseconds; stream 0 is the connection itself.
  package init(type: RTMPMessageType, timestamp: UInt32 = 0, streamID: UInt32 = 0, payload: ByteBuffer) {
    self.type = type
    self.timestamp = timestamp
    self.streamID = streamID
    self.payload = payload
  }
}

/// Type of a message, RTMP 1.0 §5.4 and §7.1.
package struct RTMPMessageType: RawRepresentable, Hashable, Sendable {
  /// Message type ID, 0 to 255, RTMP 1.0 §6.1.1.
  package var rawValue: UInt8

  /// Creates a type of its ID; unknown ones are valid and ignored by receivers.
  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Maximum length of a chunk's payload from now on, §5.4.1.
  package static let setChunkSize = RTMPMessageType(rawValue: 1)
  /// A partly received message of a chunk stream is discarded, §5.4.2.
  package static let abort = RTMPMessageType(rawValue: 2)
  /// Number of bytes received so far, §5.4.3.
  package static let acknowledgement = RTMPMessageType(rawValue: 3)
  /// An event such as Stream Begin or Ping, §6.2.
  package static let userControl = RTMPMessageType(rawValue: 4)
  /// Number of bytes after which an acknowledgement is expected, §5.4.4.
  package static let windowAcknowledgementSize = RTMPMessageType(rawValue: 5)
  /// Limit of what the peer sends without an acknowledgement, §5.4.5.
  package static let setPeerBandwidth = RTMPMessageType(rawValue: 6)
  /// Audio: the body of an FLV audio tag, §7.1.4.
  package static let audio = RTMPMessageType(rawValue: 8)
  /// Video: the body of an FLV video tag, §7.1.5.
  package static let video = RTMPMessageType(rawValue: 9)
  /// Metadata in AMF 3, §7.1.2.
  package static let dataAMF3 = RTMPMessageType(rawValue: 15)
  /// A command in AMF 3, §7.1.1.
  package static let commandAMF3 = RTMPMessageType(rawValue: 17)
  /// Metadata in AMF 0, §7.1.2.
  package static let dataAMF0 = RTMPMessageType(rawValue: 18)
  /// A command in AMF 0, §7.1.1.
  package static let commandAMF0 = RTMPMessageType(rawValue: 20)
  /// FLV tags with their headers, §7.1.6.
  package static let aggregate = RTMPMessageType(rawValue: 22)
}
