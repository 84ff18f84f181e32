package import Media
internal import NIOCore

/// A protocol control message, RTMP 1.0 §5.4, or a user control message, §6.2.
package enum RTMPControlMessage: Hashable, Sendable {
  /// Maximum length of a chunk's payload from now on, in bytes; 1 to 2³¹ - 1.
  case setChunkSize(Int)
  /// The partly received message of the chunk stream is discarded.
  case abort(chunkStreamID: UInt32)
  /// Number of bytes received so far, modulo 2³².
  case acknowledgement(UInt32)
  /// Number of bytes after which an acknowledgement is expected.
  case windowAcknowledgementSize(UInt32)
  /// Limit of unacknowledged bytes for the peer; type 0 hard, 1 soft, 2 dynamic.
  case setPeerBandwidth(UInt32, limitType: UInt8)
  /// The message stream can be used: its data follows.
  case streamBegin(UInt32)
  /// The message stream has no further data.
  case streamEnd(UInt32)
  /// The client buffers a message stream for this many milliseconds.
  case setBufferLength(streamID: UInt32, milliseconds: UInt32)
  /// The peer is to respond with the same timestamp.
  case pingRequest(UInt32)
  /// Response to a ping.
  case pingResponse(UInt32)
  /// An event without a use here, such as `StreamDry`.
  case other(event: UInt16)

  private enum Event {
    static let streamBegin: UInt16 = 0
    static let streamEnd: UInt16 = 1
    static let setBufferLength: UInt16 = 3
    static let pingRequest: UInt16 = 6
    static let pingResponse: UInt16 = 7
  }

  /// Parses a message of the types 1 to 6.
  ///
  /// - Returns: nil for a message of another type.
  /// - Throws: `.truncated`; `.invalid` for a chunk size of 0 or with its highest bit set.
  package init?(parsing message: RTMPMessage) throws(ParsingError) {
    var payload = message.payload
    func integer<Number: FixedWidthInteger>(_: Number.Type, _ field: String) throws(ParsingError) -> Number {
      let offset = message.payload.readableBytes - payload.readableBytes
      guard let number = payload.readInteger(as: Number.self) else {
        throw ParsingError(.truncated, field: field, offset: offset)
      }
      return number
    }
    switch message.type {
    case .setChunkSize:
      let size = try integer(UInt32.self, "chunk size")
      guard (1...UInt32(Int32.max)).contains(size) else { throw ParsingError(.invalid, field: "chunk size", offset: 0) }
      self = .setChunkSize(Int(size))
    case .abort: self = .abort(chunkStreamID: try integer(UInt32.self, "chunk stream ID"))
    case .acknowledgement: self = .acknowledgement(try integer(UInt32.self, "sequence number"))
    case .windowAcknowledgementSize:
      self = .windowAcknowledgementSize(try integer(UInt32.self, "acknowledgement window size"))
    case .setPeerBandwidth:
      let size = try integer(UInt32.self, "acknowledgement window size")
      // Some senders leave the limit type out.
      self = .setPeerBandwidth(size, limitType: payload.readInteger(as: UInt8.self) ?? 2)
    case .userControl:
      let event = try integer(UInt16.self, "event type")
      switch event {
      case Event.streamBegin: self = .streamBegin(try integer(UInt32.self, "stream ID"))
      case Event.streamEnd: self = .streamEnd(try integer(UInt32.self, "stream ID"))
      case Event.setBufferLength:
        let streamID = try integer(UInt32.self, "stream ID")
        self = .setBufferLength(streamID: streamID, milliseconds: try integer(UInt32.self, "buffer length"))
      case Event.pingRequest: self = .pingRequest(try integer(UInt32.self, "timestamp"))
      case Event.pingResponse: self = .pingResponse(try integer(UInt32.self, "timestamp"))
      default: self = .other(event: event)
      }
    default: return nil
    }
  }

  /// Parses as ``init(parsing:)`` does, but a user control message that is cut off is an event without a use: no such message
  /// is a reason to end a stream.
  init?(leniently message: RTMPMessage) throws(ParsingError) {
    do throws(ParsingError) {
      guard let control = try RTMPControlMessage(parsing: message) else { return nil }
      self = control
    } catch {
      guard message.type == .userControl else { throw error }
      self = .other(event: message.payload.getInteger(at: message.payload.readerIndex) ?? .max)
    }
  }

  /// The message, on message stream 0 with timestamp 0.
  package var message: RTMPMessage {
    var payload = ByteBuffer()
    let type: RTMPMessageType
    switch self {
    case .setChunkSize(let size):
      type = .setChunkSize
      payload.writeInteger(UInt32(clamping: min(max(size, 1), Int(Int32.max))))
    case .abort(let id):
      type = .abort
      payload.writeInteger(id)
    case .acknowledgement(let count):
      type = .acknowledgement
      payload.writeInteger(count)
    case .windowAcknowledgementSize(let size):
      type = .windowAcknowledgementSize
      payload.writeInteger(size)
    case .setPeerBandwidth(let size, let limitType):
      type = .setPeerBandwidth
      payload.writeMultipleIntegers(size, limitType)
    case .streamBegin(let id):
      type = .userControl
      payload.writeMultipleIntegers(Event.streamBegin, id)
    case .streamEnd(let id):
      type = .userControl
      payload.writeMultipleIntegers(Event.streamEnd, id)
    case .setBufferLength(let id, let milliseconds):
      type = .userControl
      payload.writeMultipleIntegers(Event.setBufferLength, id, milliseconds)
    case .pingRequest(let timestamp):
      type = .userControl
      payload.writeMultipleIntegers(Event.pingRequest, timestamp)
    case .pingResponse(let timestamp):
      type = .userControl
      payload.writeMultipleIntegers(Event.pingResponse, timestamp)
    case .other(let event):
      type = .userControl
      payload.writeInteger(event)
    }
    return RTMPMessage(type: type, payload: payload)
  }
}

/// Decides when received bytes are acknowledged, RTMP 1.0 §5.4.3: each time a window of them has arrived.
struct RTMPAcknowledgement: Hashable, Sendable {
  /// Number of bytes after which the peer expects an acknowledgement; 0 turns acknowledgements off.
  var window: UInt32 = 2_500_000
  private var acknowledged: UInt64 = 0

  /// The number to acknowledge, modulo 2³²; nil while none is due.
  mutating func due(received: UInt64) -> UInt32? {
    guard self.window > 0, received - self.acknowledged >= UInt64(self.window) else { return nil }
    self.acknowledged = received
    return UInt32(truncatingIfNeeded: received)
  }
}
