package import NIOCore

/// The protocol of a datagram on the port that all of WebRTC shares, by its first bytes, RFC 7983 §7 and RFC 5761 §4.
package enum DatagramKind: Hashable, Sendable {
  /// STUN: first byte 0 to 3.
  case stun
  /// DTLS: first byte 20 to 63.
  case dtls
  /// SRTP: first byte 128 to 191.
  case rtp
  /// SRTCP: as RTP, with a second byte of 192 to 223.
  case rtcp

  /// Classifies a datagram; nil for an empty datagram and for other protocols (ZRTP, TURN channels, QUIC).
  package init?(_ datagram: ByteBuffer) {
    guard let first: UInt8 = datagram.getInteger(at: datagram.readerIndex) else { return nil }
    switch first {
    case 0...3: self = .stun
    case 20...63: self = .dtls
    case 128...191:
      guard let second: UInt8 = datagram.getInteger(at: datagram.readerIndex + 1) else { return nil }
      self = (192...223).contains(second) ? .rtcp : .rtp
    default: return nil
    }
  }
}
