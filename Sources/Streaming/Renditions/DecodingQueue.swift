internal import Bitstreams
internal import Media
internal import NIOCore

/// The access units of a passed-through source that wait to be decoded for renditions. Pure: `now` is an argument.
///
/// Decoding begins with the group of pictures since the last keyframe, and only its last frame is shown. Where the decoder is slower
/// than the source, what waits is dropped at the first keyframe that finds the oldest ``maximumAge`` old. Beyond twice
/// the bounds of ``GOPCache`` everything is dropped, up to the next keyframe or recovery point.
struct DecodingQueue {
  struct Item {
    var sample: EncodedSample
    var description: H264Description
    /// Time at which it was appended.
    var time: MediaTime
    /// Whether decoding begins here, so that a decoder is opened.
    var isFirst = false
  }

  /// Age of the oldest waiting access unit from which those before a keyframe are dropped.
  static let maximumAge = MediaDuration.milliseconds(500)

  private var items = CircularBuffer<Item>()
  private var byteCount = 0
  /// Whether an access unit is missing, so that decoding cannot go on before a keyframe.
  private(set) var awaitsKeyframe = true
  /// Whether frames are decoded that would be late: those of the first group, and of what came meanwhile.
  private var isCatchingUp = false

  /// Whether nothing waits.
  var isEmpty: Bool { self.items.isEmpty }
  /// Number of waiting access units.
  var count: Int { self.items.count }

  /// Begins with the access units since a keyframe.
  mutating func start(with group: [EncodedSample], of description: H264Description, at now: MediaTime) {
    self.removeAll()
    for sample in group { _ = self.append(sample, of: description, at: now) }
    self.isCatchingUp = self.items.count > 1
  }

  /// Appends an access unit.
  ///
  /// - Returns: Number of access units that are dropped.
  mutating func append(_ sample: EncodedSample, of description: H264Description, at now: MediaTime) -> Int {
    var dropped = 0
    if sample.isKeyframe {
      if let oldest = self.items.first, now - oldest.time >= Self.maximumAge {
        dropped = self.items.count
        self.removeAll()
      }
    } else if self.awaitsKeyframe, !H264AccessUnit.hasRecoveryPoint(in: sample.payload) {
      return 1
    }
    var item = Item(sample: sample, description: description, time: now)
    item.isFirst = self.awaitsKeyframe || self.items.last.map { $0.description != description } ?? false
    self.awaitsKeyframe = false
    self.items.append(item)
    self.byteCount += sample.payload.readableBytes
    if self.items.count > 2 * GOPCache.maximumCount || self.byteCount > 2 * GOPCache.maximumByteCount {
      dropped += self.items.count
      self.removeAll()
    }
    return dropped
  }

  /// Removes the next access unit, with whether its frame is shown.
  mutating func next() -> (item: Item, isShown: Bool)? {
    guard let item = self.items.popFirst() else { return nil }
    self.byteCount -= item.sample.payload.readableBytes
    if self.items.isEmpty { self.isCatchingUp = false }
    return (item, !self.isCatchingUp)
  }

  /// Removes everything, up to the next keyframe.
  mutating func removeAll() {
    self.items.removeAll()
    self.byteCount = 0
    self.awaitsKeyframe = true
    self.isCatchingUp = false
  }
}
