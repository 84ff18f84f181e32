public import NIOCore

/// What comes over an RTSP connection, in either direction.
public enum RTSPMessage: Hashable, Sendable {
  /// A request, RFC 2326 §6.
  case request(RTSPRequest)
  /// An answer, RFC 2326 §7.
  case response(RTSPResponse)
  /// An RTP or RTCP packet between the messages, RFC 2326 §10.12. The payload shares the memory it was received in.
  case interleaved(channel: UInt8, payload: ByteBuffer)
}
