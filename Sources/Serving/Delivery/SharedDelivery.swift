package import Media
package import Synchronization

/// The packets that leave together: an access unit and the audio frames that waited for it, or audio frames alone. Shared by
/// all viewers and event loops.
package final class SharedDelivery<Packets: SharedMedia>: Sendable {
  /// Number of the delivery in its stream, from 1 on.
  package let number: Int
  /// The audio frames, which precede the access unit.
  package let audio: [Packets]
  /// Packets of the access unit; nil for audio alone.
  package let video: Packets?
  /// Contents for a viewer of both tracks, determined once: viewers are many.
  package let contents: ViewerState.Delivery
  /// Number of calls of ``Broadcast/discardEarlier()`` before the access unit was packetized.
  package let discards: Int
  /// Bytes that are built once, so that a viewer costs one write.
  package let cache = Mutex(Packets.emptyCache)

  /// A delivery of audio frames, an access unit, or both.
  package init(number: Int, audio: [Packets], video: Packets? = nil, discards: Int = 0) {
    self.number = number
    self.audio = audio
    self.video = video
    self.discards = discards
    self.contents = ViewerState.Delivery(
      hasAudio: !audio.isEmpty, video: video.map { $0.isKeyframe ? .keyframe : .dependent })
  }

  /// The same without the access unit; nil without audio.
  package var withoutVideo: SharedDelivery? {
    self.audio.isEmpty ? nil : SharedDelivery(number: self.number, audio: self.audio)
  }

  /// Number of bytes of all packets.
  package var byteCount: Int { self.audio.reduce(self.video?.byteCount ?? 0) { $0 + $1.byteCount } }
}

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
