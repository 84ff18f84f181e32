internal import Media
package import NIOCore

/// The parameter sets of a stream: those of its configuration, replaced and joined by those within its access units.
///
/// An ``/Media/H264Description`` has one of each kind. The access units of a stream that uses several are given all of them, so
/// that a decoder has what it needs and no output takes the stream for one that can be passed through.
package struct H264ParameterSets: Sendable {
  private struct Entry: Sendable {
    var id: UInt8
    var bytes: [UInt8]
  }

  /// Maximum size of a set, in bytes: that of its length in `avcC`.
  private static let maximumByteCount = 65_535
  /// Maximum size of all sets, in bytes, which precede each keyframe where there are several.
  private static let maximumTotalByteCount = 256 << 10

  private var sequences: [Entry] = []
  private var pictureSets: [Entry] = []
  /// Identifiers of the pair that describes the stream: the first, or those that a keyframe has changed.
  private var sequenceID: UInt8?
  private var pictureSetID: UInt8?

  /// No parameter sets.
  package init() {}

  /// The parameter sets of a configuration, without those that cannot be parsed.
  package init(_ configuration: AVCDecoderConfiguration) {
    for set in configuration.sequenceParameterSets { _ = self.adoptSequence(set) }
    for set in configuration.pictureParameterSets { _ = self.adoptPictureSet(set) }
  }

  /// Whether a set was left out since it is too large, or cannot be parsed; a decoder may be able to.
  private(set) var hasUnreadable = false

  /// Whether the stream uses more than one of a kind.
  package var areSeveral: Bool { self.sequences.count > 1 || self.pictureSets.count > 1 }

  /// The pair that describes the stream; nil until there is one of each.
  package var pair: (sequence: [UInt8], pictureSet: [UInt8])? {
    guard let pictureSet = self.pictureSets.first(where: { $0.id == self.pictureSetID }) else { return nil }
    let referenced = (try? H264PictureParameterSet(parsing: pictureSet.bytes))?.sequenceParameterSetID
    let sequence =
      self.sequences.first { $0.id == referenced } ?? self.sequences.first { $0.id == self.sequenceID }
    return sequence.map { ($0.bytes, pictureSet.bytes) }
  }

  /// Stores the parameter sets of an access unit.
  package mutating func adopt(_ unit: H264AccessUnit) {
    let sequences = unit.sequenceParameterSets.compactMap { self.adoptSequence(Array($0.readableBytesView)) }
    let pictureSets = unit.pictureParameterSets.compactMap { self.adoptPictureSet(Array($0.readableBytesView)) }
    guard unit.isKeyframe else { return }
    if let id = sequences.first { self.sequenceID = id }
    if let id = pictureSets.first { self.pictureSetID = id }
  }

  /// Payload of an access unit, behind all parameter sets where the stream uses several and decoding may start here.
  package func payload(of unit: H264AccessUnit, isStart: Bool) -> ByteBuffer {
    let hasSets = !unit.sequenceParameterSets.isEmpty || !unit.pictureParameterSets.isEmpty
    guard self.areSeveral, isStart || hasSets else { return unit.payload }
    var payload = ByteBuffer()
    for entry in self.sequences + self.pictureSets {
      payload.writeInteger(UInt32(clamping: entry.bytes.count))
      payload.writeBytes(entry.bytes)
    }
    payload.writeImmutableBuffer(unit.payload)
    return payload
  }

  /// - Returns: The identifier of a set that is new or has changed; nil for one that is known or cannot be parsed.
  private mutating func adoptSequence(_ bytes: [UInt8]) -> UInt8? {
    if self.sequences.contains(where: { $0.bytes == bytes }) { return nil }
    guard self.fits(bytes), let id = (try? H264SequenceParameterSet(parsing: bytes))?.id else {
      self.hasUnreadable = true
      return nil
    }
    self.sequenceID = self.sequenceID ?? id
    return Self.store(Entry(id: id, bytes: bytes), in: &self.sequences)
  }

  private mutating func adoptPictureSet(_ bytes: [UInt8]) -> UInt8? {
    if self.pictureSets.contains(where: { $0.bytes == bytes }) { return nil }
    guard self.fits(bytes), let id = (try? H264PictureParameterSet(parsing: bytes))?.id else {
      self.hasUnreadable = true
      return nil
    }
    self.pictureSetID = self.pictureSetID ?? id
    return Self.store(Entry(id: id, bytes: bytes), in: &self.pictureSets)
  }

  private func fits(_ bytes: [UInt8]) -> Bool {
    let total = (self.sequences + self.pictureSets).reduce(bytes.count) { $0 + $1.bytes.count }
    return bytes.count <= Self.maximumByteCount && total <= Self.maximumTotalByteCount
  }

  private static func store(_ entry: Entry, in entries: inout [Entry]) -> UInt8? {
    guard let index = entries.firstIndex(where: { $0.id == entry.id }) else {
      entries.append(entry)
      return entry.id
    }
    guard entries[index].bytes != entry.bytes else { return nil }
    entries[index] = entry
    return entry.id
  }
}
