/// Reasons why a packet is neither sealed nor opened. Every case concerns one packet, which is dropped and counted.
package enum SRTPError: Error, Hashable, Sendable, CaseIterable {
  /// Shorter than its parts, or not RTP or RTCP of version 2.
  case malformed
  /// Not made with the keys of this session, or changed on the way.
  case notAuthentic
  /// Received before, or older than the replay window.
  case replayed
  /// SRTCP without encryption (E is 0), which the profiles of WebRTC do not have.
  case notEncrypted
  /// An index would be sealed twice, which reveals the key stream, or comes after the last one, RFC 3711 §9.2.
  case indexUsed
  /// More synchronization sources than a session has.
  case tooManySources
  /// There are no keys yet, no address, or no session any more.
  case notConnected
  /// The cipher failed.
  case cipher
}
