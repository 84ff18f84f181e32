/// How large RTP payloads may be.
public enum RTPPayloadSize {
  /// The largest payload whose packet crosses Ethernet in one piece over IPv6:
  /// `1500 - 40 (IPv6) - 8 (UDP) - 12 (RTP) = 1440` bytes.
  ///
  /// IPv4 would leave 20 bytes more; the packets are made once for both.
  public static let `default` = 1500 - 40 - 8 - RTPHeader.fixedLength

  /// The largest payload whose packet's length fits the 16 bits of interleaved framing (RFC 2326 §10.12) and a
  /// datagram over IPv4: `65 535 - 20 - 8 - 12` bytes.
  public static let maximum = 65_535 - 20 - 8 - RTPHeader.fixedLength

  /// The smallest that is accepted: below it headers outweigh the payload.
  public static let minimum = 64
}
