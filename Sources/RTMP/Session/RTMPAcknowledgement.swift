/// Decides when received bytes are acknowledged, RTMP 1.0 §5.4.3: each time a window of them has arrived.
struct RTMPAcknowledgement: Hashable, Sendable {
  /// Number of bytes after which the peer expects an acknowledgement; 0 is as good as none.
  var window: UInt32 = 2_500_000
  private var acknowledged: UInt64 = 0

  /// The number to acknowledge, modulo 2³²; nil while none is due.
  mutating func due(received: UInt64) -> UInt32? {
    guard self.window > 0, received - self.acknowledged >= UInt64(self.window) else { return nil }
    self.acknowledged = received
    return UInt32(truncatingIfNeeded: received)
  }
}
