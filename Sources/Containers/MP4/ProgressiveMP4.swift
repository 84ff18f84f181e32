public import Media
public import NIOCore

/// The `moov` box of a progressive file, built from the `moov` box and the fragments of a fragmented file: the same samples
/// in the same order, in tables instead of fragments.
///
/// Needs about 4 bytes of memory per sample; see ``maximumSampleCount``.
public struct ProgressiveMP4: Sendable {
  /// Maximum number of samples of all tracks: three days of 30 video and 47 audio frames per second. Their tables have
  /// 80 MB, and several times that if every duration differs.
  public static let maximumSampleCount = 20_000_000
  /// Maximum number of tracks.
  static let maximumTrackCount = 16

  /// Bytes of media data so far, the content of `mdat`.
  public private(set) var dataLength: UInt64 = 0
  /// Number of samples so far, of all tracks.
  public private(set) var sampleCount = 0

  private let header: MovieHeader
  private let otherBoxes: [MP4Box]
  private let defaults: [TrackExtends]
  private var tracks: [MovieTrack] = []

  /// Creates a movie without samples from the `moov` box of a fragmented file.
  ///
  /// - Throws: `.missing` field `mvex` when the file is not fragmented; others for an invalid box.
  public init(parsing moov: MP4Box) throws(ParsingError) {
    let boxes = try moov.children()
    guard let extends = boxes.first(where: { $0.type == "mvex" }) else {
      throw ParsingError(.missing, field: "mvex", offset: moov.offset)
    }
    guard let header = boxes.first(where: { $0.type == "mvhd" }) else {
      throw ParsingError(.missing, field: "mvhd", offset: moov.offset)
    }
    self.header = try MovieHeader(parsing: header)
    guard Int32(exactly: self.header.number) ?? 0 > 0 else {
      throw ParsingError(.invalid, field: "timescale", offset: header.offset)
    }
    self.otherBoxes = boxes.filter { !["mvhd", "mvex", "trak"].contains($0.type) }
    var defaults: [TrackExtends] = []
    for box in try extends.children() where box.type == "trex" { defaults.append(try TrackExtends(parsing: box)) }
    self.defaults = defaults
    for box in boxes where box.type == "trak" {
      guard self.tracks.count < Self.maximumTrackCount else {
        throw ParsingError(.tooLarge, field: "trak", offset: box.offset)
      }
      let track = try MovieTrack(parsing: box)
      guard !self.tracks.contains(where: { $0.trackID == track.trackID }) else {
        throw ParsingError(.invalid, field: "track_ID", offset: box.offset)
      }
      self.tracks.append(track)
    }
  }

  /// Appends a complete fragment.
  ///
  /// - Parameters:
  ///   - moof: The `moof` box.
  ///   - data: Content of the following `mdat` box, in bytes from the start of the `moof`; all of it is kept.
  /// - Throws: `.invalid` when samples lie outside of `data`; others for an invalid box. The movie is unchanged then.
  public mutating func append(moof: MP4Box, data: Range<Int>) throws(ParsingError) {
    try self.append(self.tables(parsing: moof), data: data)
  }

  /// Parses the tables of a fragment.
  ///
  /// - Throws: `.missing` for a track that the movie does not have; others for an invalid box.
  func tables(parsing moof: MP4Box) throws(ParsingError) -> MovieFragmentTables {
    let children = try moof.children()
    let boxes = children.filter { $0.type == "traf" }
    guard boxes.count <= Self.maximumTrackCount else { throw ParsingError(.tooLarge, field: "traf") }
    var header = try children.first { $0.type == "mfhd" }.map { (box) throws(ParsingError) in try box.full().content }
    var tables = MovieFragmentTables(sequenceNumber: header?.readInteger(), runs: [])
    for box in boxes {
      let fragment = try TrackFragment(parsing: box, extends: self.defaults)
      guard let track = self.tracks.firstIndex(where: { $0.trackID == fragment.trackID }) else {
        throw ParsingError(.missing, field: "trak", offset: box.offset)
      }
      guard !fragment.samples.isEmpty else { continue }
      guard !tables.runs.contains(where: { $0.track == track }) else {
        throw ParsingError(.unsupported, field: "traf", offset: box.offset)
      }
      // Below 2⁶², so that sums of durations cannot overflow.
      guard fragment.baseDecodeTime < 1 << 62 else {
        throw ParsingError(.invalid, field: "baseMediaDecodeTime", offset: box.offset)
      }
      tables.runs.append(MovieFragmentTables.Run(track: track, table: fragment))
    }
    return tables
  }

  /// Appends a complete fragment whose tables are parsed.
  ///
  /// - Parameter data: As for ``append(moof:data:)``.
  /// - Throws: `.invalid`, `.tooLarge`; the movie is unchanged then.
  mutating func append(_ fragment: MovieFragmentTables, data: Range<Int>) throws(ParsingError) {
    let count = self.sampleCount + fragment.sampleCount
    guard count <= Self.maximumSampleCount else { throw ParsingError(.tooLarge, field: "trun") }
    for run in fragment.runs {
      // Gaps must fit a duration of 32 bits.
      let table = self.tracks[run.track].table
      guard table.count == 0 || Int64(run.table.baseDecodeTime) - Int64(table.end) < 1 << 31 else {
        throw ParsingError(.invalid, field: "baseMediaDecodeTime")
      }
    }
    guard fragment.fits(in: data) else { throw ParsingError(.invalid, field: "data_offset") }
    for run in fragment.runs {
      self.tracks[run.track].table.append(
        run.table, at: self.dataLength + UInt64(Int(run.table.dataOffset) - data.lowerBound))
    }
    self.sampleCount = count
    self.dataLength += UInt64(data.count)
  }

  /// End of a track's last sample, in its ticks; nil while it has none.
  func end(ofTrack index: Int) -> UInt64? {
    self.tracks[index].table.count == 0 ? nil : self.tracks[index].table.end
  }

  /// Ticks per second of a track.
  func timescale(ofTrack index: Int) -> Int32 { self.tracks[index].timescale }

  /// Converts a duration to ticks of a track.
  func ticks(_ duration: MediaDuration, ofTrack index: Int) -> UInt64 {
    UInt64(clamping: duration.ticks(timescale: self.tracks[index].timescale))
  }

  /// Time from the first sample of any track to the end of the last track; zero without samples.
  public var duration: MediaDuration {
    let timescale = self.timescale
    return .ticks(Int64(clamping: self.movieDuration(timescale: timescale)), timescale: timescale)
  }

  private var timescale: Int32 {
    // Checked by the initializer.
    Int32(clamping: self.header.number)
  }

  private var filledTracks: [MovieTrack] {
    self.tracks.filter { $0.table.count > 0 }
  }

  private func movieDuration(timescale: Int32) -> UInt64 {
    let tracks = self.filledTracks
    let start = tracks.map(\.startTime).min() ?? .zero
    return tracks.map { $0.movieDuration(from: start, timescale: timescale) }.max() ?? 0
  }

  /// Serializes the start of the progressive file: `ftyp`, `moov`, boxes of the caller, and the header of `mdat`; the media
  /// data follow. Tracks without samples are left out.
  ///
  /// - Parameter note: Serialized boxes to insert before `mdat`.
  public func serializeStart(note: ByteBuffer) -> ByteBuffer {
    // Two passes: chunk offsets depend on the length of the box that contains them, which does not depend on their values.
    let fileType = Self.fileType()
    var dataStart: UInt64 = 0
    var movie = ByteBuffer()
    // The bytes before the media data are less than 2 GiB.
    let usesLargeOffsets = self.dataLength > UInt64(UInt32.max) / 2
    let headerLength: UInt64 = self.dataLength + 8 > UInt64(UInt32.max) ? 16 : 8
    for _ in 0..<2 {
      movie.clear()
      self.serializeMovie(
        into: &movie, data: MediaDataMap(startingAt: dataStart), usesLargeOffsets: usesLargeOffsets)
      dataStart = UInt64(fileType.readableBytes + movie.readableBytes + note.readableBytes) + headerLength
    }
    var buffer = ByteBufferAllocator().buffer(capacity: Int(dataStart))
    buffer.writeImmutableBuffer(fileType)
    buffer.writeImmutableBuffer(movie)
    buffer.writeImmutableBuffer(note)
    if headerLength == 16 {
      buffer.writeMultipleIntegers(UInt32(1), ("mdat" as FourCharacterCode).rawValue, self.dataLength + headerLength)
    } else {
      buffer.writeMultipleIntegers(
        UInt32(clamping: self.dataLength + headerLength), ("mdat" as FourCharacterCode).rawValue)
    }
    return buffer
  }

  /// Serializes a `moov` box whose samples stay where they are in the fragmented file.
  ///
  /// - Parameter data: Ranges of the fragments' media data, as ``MovieScan/data`` returns them.
  public func serializeIndex(of data: [Range<UInt64>]) -> ByteBuffer {
    var movie = ByteBuffer()
    self.serializeMovie(
      into: &movie, data: MediaDataMap(data),
      usesLargeOffsets: data.last.map { $0.upperBound > UInt64(UInt32.max) } ?? false)
    return movie
  }

  private static func fileType() -> ByteBuffer {
    var buffer = ByteBuffer()
    let brands: [FourCharacterCode] = ["isom", "iso4", "avc1", "mp41"]
    buffer.writeBox("ftyp") {
      $0.writeInteger(brands[0].rawValue)  // major_brand
      $0.writeInteger(UInt32(0x200))  // minor_version
      for brand in brands { $0.writeInteger(brand.rawValue) }
    }
    return buffer
  }

  private func serializeMovie(into buffer: inout ByteBuffer, data: MediaDataMap, usesLargeOffsets: Bool) {
    let tracks = self.filledTracks
    let start = tracks.map(\.startTime).min() ?? .zero
    buffer.writeBox("moov") {
      self.header.serialize(duration: self.movieDuration(timescale: self.timescale), into: &$0)
      for track in tracks {
        track.serialize(
          into: &$0, movieStart: start, movieTimescale: self.timescale, data: data,
          usesLargeOffsets: usesLargeOffsets)
      }
      for box in self.otherBoxes { box.serialize(into: &$0) }
    }
  }
}
