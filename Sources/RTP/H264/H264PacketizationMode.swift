/// Packetization of NAL units: `packetization-mode` of RFC 6184 §8.1. Mode 2, in which NAL units are interleaved, is not supported.
public enum H264PacketizationMode: Int, Hashable, Sendable, CaseIterable {
  /// One NAL unit in each packet, §6.2: each is to fit. Formats without the parameter have this mode.
  case singleNALUnit = 0
  /// Aggregates and fragments beside them, §6.3.
  case nonInterleaved = 1
}
