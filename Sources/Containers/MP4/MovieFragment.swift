public import Media
internal import NIOCore

/// Sample tables of a fragment: the `moof` box, ISO/IEC 14496-12 §8.8.4.
public struct MovieFragment: Hashable, Sendable {
  /// `sequence_number` of the `mfhd` box (§8.8.5), increasing from fragment to fragment.
  public var sequenceNumber: UInt32
  /// Sample tables, one for each `traf` box, in the order of the file.
  public var tracks: [TrackFragment]

  /// Parses a `moof` box.
  ///
  /// - Parameter extends: `trex` boxes of all tracks.
  /// - Throws: `.missing`, `.truncated`, `.unsupported`, `.tooLarge`, for the box itself or a track fragment.
  public init(parsing box: MP4Box, extends: [TrackExtends]) throws(ParsingError) {
    let header = try box.child("mfhd")
    var content = try header.full().content
    guard let number = content.readInteger(as: UInt32.self) else {
      throw ParsingError(.truncated, field: "mfhd", offset: header.offset)
    }
    self.sequenceNumber = number
    self.tracks = []
    for track in try box.children() where track.type == "traf" {
      self.tracks.append(try TrackFragment(parsing: track, extends: extends))
    }
  }

  /// A track's samples with their bytes, to be serialized.
  struct Run {
    var table: TrackFragment
    /// The track's `trex` box.
    var defaults: TrackExtends
    /// The bytes of each sample of the table.
    var payloads: [ByteBuffer]

    var byteCount: Int { self.payloads.reduce(0) { $0 + $1.readableBytes } }
  }

  /// A fragment: `moof`, and `mdat` with the bytes of one run after the other.
  ///
  /// The data offsets are patched once the length of the `moof` is known; the result has no spare capacity.
  ///
  /// - Parameters:
  ///   - runs: At least one; their bytes and tables together are below 2³¹ bytes.
  ///   - messages: Boxes that precede the `moof`.
  static func serialize(sequenceNumber: UInt32, runs: [Run], after messages: ByteBuffer) -> ByteBuffer {
    var head = messages
    let start = head.writerIndex
    var offsetIndices: [Int] = []
    head.writeBox("moof") {
      $0.writeFullBox("mfhd") { $0.writeInteger(sequenceNumber) }
      for run in runs { offsetIndices.append(run.table.write(to: &$0, defaults: run.defaults)) }
    }
    let boxHeaderLength = 8
    var dataOffset = head.writerIndex - start + boxHeaderLength
    for (run, index) in zip(runs, offsetIndices) {
      // No trap: the limit of a fragment keeps offsets below 2³¹.
      head.setInteger(Int32(clamping: dataOffset), at: index)
      dataOffset += run.byteCount
    }
    var buffer = ByteBufferAllocator().buffer(capacity: start - head.readerIndex + dataOffset)
    buffer.writeImmutableBuffer(head)
    buffer.writeBox("mdat") {
      for run in runs {
        for payload in run.payloads { $0.writeImmutableBuffer(payload) }
      }
    }
    return buffer
  }
}
