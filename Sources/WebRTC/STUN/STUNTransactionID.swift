/// The 96 bits that match a STUN response with its request, RFC 8489 §5.
package struct STUNTransactionID: Hashable, Sendable {
  /// The first 32 bits.
  let head: UInt32
  /// The other 64 bits.
  let tail: UInt64

  /// Creates an identifier from 96 bits, which must be random.
  package init(_ head: UInt32, _ tail: UInt64) {
    self.head = head
    self.tail = tail
  }
}
