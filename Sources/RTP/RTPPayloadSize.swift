/// Bounds of the length of RTP payloads, in bytes.
public enum RTPPayloadSize {
  /// The largest payload whose packet fits an Ethernet frame over IPv6:
  /// `1500 - 40 (IPv6) - 8 (UDP) - 12 (RTP) = 1440` bytes.
  ///
  /// IPv4 would allow 20 bytes more; the packets are built once for both.
  public static let `default` = 1500 - 40 - 8 - RTPHeader.fixedLength

  /// The largest payload whose packet's length fits the 16 bits of interleaved framing (RFC 2326 §10.12) and a
  /// datagram over IPv4: `65,535 - 20 - 8 - 12` bytes.
  public static let maximum = 65_535 - 20 - 8 - RTPHeader.fixedLength

  /// Minimum accepted by packetizers: below it the headers are longer than the payload.
  public static let minimum = 64
}
