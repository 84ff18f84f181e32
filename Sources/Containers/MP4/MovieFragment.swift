public import Media
internal import NIOCore

/// A fragment's table of samples: the `moof` box, ISO/IEC 14496-12 §8.8.4.
public struct MovieFragment: Hashable, Sendable {
  /// `sequence_number`, which grows from fragment to fragment.
  public var sequenceNumber: UInt32
  /// The samples of each track.
  public var tracks: [TrackFragment]

  /// Parses a `moof` box.
  ///
  /// - Parameter extends: The defaults of all tracks, from the `mvex` box.
  /// - Throws: ``ParsingError`` when a part is missing, broken or not supported.
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
}
