package import Media

/// The bytes of one access unit or audio frame in a protocol's form, built once for all viewers and event loops.
package protocol SharedMedia: AnyObject, Sendable {
  /// Bytes of a whole delivery that are built when the first viewer needs them, and kept for the others.
  associatedtype DeliveryCache: Sendable

  /// The empty cache of a delivery.
  static var emptyCache: DeliveryCache { get }

  /// The track.
  var kind: MediaKind { get }
  /// Whether this is a video keyframe, at which a viewer can start.
  var isKeyframe: Bool { get }
  /// Number of bytes for one viewer.
  var byteCount: Int { get }
}

/// Turns the samples of a stream into what its viewers are sent.
package protocol SharedMediaPacketizer: Sendable {
  /// The packets or messages that samples are written as.
  associatedtype Packets: SharedMedia

  /// Packetizes a sample, in the order of sending; empty when it is malformed.
  mutating func packets(of sample: EncodedSample) -> [Packets]
}
