internal import Containers
internal import Media
internal import NIOCore

extension RTMPMessage {
  /// The messages of an aggregate message, RTMP 1.0 §7.1.6: FLV tags, each followed by its length.
  ///
  /// The timestamp of the aggregate is that of its first message; the others keep their distance to it.
  ///
  /// - Throws: `.truncated`, or `.unsupported` for an encrypted tag.
  func aggregated() throws(ParsingError) -> [RTMPMessage] {
    var rest = self.payload
    var messages: [RTMPMessage] = []
    var first: UInt32?
    while rest.readableBytes > 0 {
      let offset = self.payload.readableBytes - rest.readableBytes
      let header = try FLVTagHeader(parsing: &rest)
      guard let body = rest.readSlice(length: header.bodyLength) else {
        throw ParsingError(.truncated, field: "aggregate message", offset: offset)
      }
      // Some senders leave the length behind the last tag out.
      _ = rest.readInteger(as: UInt32.self)
      let start = first ?? header.timestamp
      first = start
      let type = RTMPMessageType(rawValue: header.type)
      guard type == .audio || type == .video || type == .dataAMF0 else { continue }
      messages.append(
        RTMPMessage(
          type: type, timestamp: self.timestamp &+ (header.timestamp &- start), streamID: self.streamID, payload: body))
    }
    return messages
  }
}
