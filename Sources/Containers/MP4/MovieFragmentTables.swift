internal import Media

/// Parsed tables of a fragment, with the movie's tracks that they belong to.
struct MovieFragmentTables: Sendable {
  /// The run of one track; not empty.
  struct Run: Sendable {
    /// Index of the track in the movie.
    var track: Int
    var table: TrackFragment

    /// Bytes of the samples.
    var byteCount: Int { self.table.samples.reduce(0) { $0 + Int($1.size) } }

    /// End of the last sample, in ticks of the track.
    var end: UInt64 { self.table.samples.reduce(self.table.baseDecodeTime) { $0 + UInt64($1.duration) } }
  }

  /// `sequence_number`; nil without `mfhd`.
  var sequenceNumber: UInt32?
  /// At most one per track.
  var runs: [Run]

  /// Number of samples of all tracks.
  var sampleCount: Int { self.runs.reduce(0) { $0 + $1.table.samples.count } }

  /// Bytes of the samples of all tracks.
  var byteCount: Int { self.runs.reduce(0) { $0 + $1.byteCount } }

  /// End of a track's last sample, in its ticks; nil without samples of the track.
  func end(ofTrack track: Int) -> UInt64? {
    self.runs.first { $0.track == track }?.end
  }

  /// Whether all samples lie in a range, in bytes from the start of the `moof`.
  func fits(in data: Range<Int>) -> Bool {
    self.runs.allSatisfy { run in
      let start = Int(run.table.dataOffset)
      return start >= data.lowerBound && start <= data.upperBound && run.byteCount <= data.upperBound - start
    }
  }
}
