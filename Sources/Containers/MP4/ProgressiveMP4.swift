public import Media
public import NIOCore

/// The `moov` box of a plain file, made of that of a fragmented one and its fragments: the same samples in the same order,
/// with tables in place of fragments.
///
/// What memory it takes is mostly 4 bytes a sample; see ``maximumSampleCount``.
public struct ProgressiveMP4: Sendable {
  /// The most samples of all tracks: three days of 30 pictures and 47 frames of sound a second. Their tables take 80 MB,
  /// and several times that when each sample has a duration of its own.
  public static let maximumSampleCount = 20_000_000
  /// The most tracks.
  static let maximumTrackCount = 16

  /// Bytes of media data so far: what goes into the plain file's `mdat`.
  public private(set) var dataLength: UInt64 = 0
  /// Samples so far, of all tracks.
  public private(set) var sampleCount = 0

  private let header: MovieHeader
  private let otherBoxes: [MP4Box]
  private let defaults: [TrackExtends]
  private var tracks: [MovieTrack] = []

  /// A movie without samples, from the `moov` box of a fragmented file.
  ///
  /// - Throws: ``ParsingError``: `.missing` field `mvex` when the file is not fragmented; others when the box is not what
  ///   it should be.
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

  /// Adds a fragment whose samples are all there.
  ///
  /// - Parameters:
  ///   - moof: The box.
  ///   - data: The bytes that the following `mdat` box holds, counted from the start of the `moof`; they are taken over as
  ///     a whole.
  /// - Throws: ``ParsingError`` when samples lie outside of these bytes, or the box is not what it should be; then
  ///   nothing is added.
  public mutating func append(moof: MP4Box, data: Range<Int>) throws(ParsingError) {
    var added: [(track: Int, fragment: TrackFragment, position: UInt64)] = []
    var count = self.sampleCount
    let boxes = try moof.children().filter { $0.type == "traf" }
    guard boxes.count <= Self.maximumTrackCount else { throw ParsingError(.tooLarge, field: "traf") }
    for box in boxes {
      let fragment = try TrackFragment(parsing: box, extends: self.defaults)
      guard let track = self.tracks.firstIndex(where: { $0.trackID == fragment.trackID }) else {
        throw ParsingError(.missing, field: "trak", offset: box.offset)
      }
      guard !fragment.samples.isEmpty else { continue }
      guard !added.contains(where: { $0.track == track }) else {
        throw ParsingError(.unsupported, field: "traf", offset: box.offset)
      }
      count += fragment.samples.count
      guard count <= Self.maximumSampleCount else { throw ParsingError(.tooLarge, field: "trun", offset: box.offset) }
      // Far from the end of 64 bits for sums of durations, and no gap that a duration of 32 bits does not span.
      let table = self.tracks[track].table
      guard fragment.baseDecodeTime < 1 << 62,
        table.count == 0 || Int64(fragment.baseDecodeTime) - Int64(table.end) < 1 << 31
      else {
        throw ParsingError(.invalid, field: "baseMediaDecodeTime", offset: box.offset)
      }
      let length = fragment.samples.reduce(0) { $0 + Int($1.size) }
      let start = Int(fragment.dataOffset)
      guard start >= data.lowerBound, start <= data.upperBound, length <= data.upperBound - start else {
        throw ParsingError(.invalid, field: "data_offset", offset: box.offset)
      }
      added.append((track, fragment, self.dataLength + UInt64(start - data.lowerBound)))
    }
    for (track, fragment, position) in added { self.tracks[track].table.append(fragment, at: position) }
    self.sampleCount = count
    self.dataLength += UInt64(data.count)
  }

  /// How long the movie plays.
  public var duration: MediaDuration {
    let timescale = self.timescale
    return .ticks(Int64(clamping: self.movieDuration(timescale: timescale)), timescale: timescale)
  }

  private var timescale: Int32 {
    // It was checked.
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

  /// The start of the plain file: `ftyp`, `moov`, a box of the caller's, and the header of `mdat`, which the media data
  /// follow. Tracks without samples are left out.
  ///
  /// - Parameter note: Bytes of boxes to be written before `mdat`.
  public func serializeStart(note: ByteBuffer) -> ByteBuffer {
    // The offsets stand in the box on whose length they depend: it is the same with others.
    let fileType = Self.fileType()
    var dataStart: UInt64 = 0
    var movie = ByteBuffer()
    // What stands before the data is less than 2 GiB.
    let usesLargeOffsets = self.dataLength > UInt64(UInt32.max) / 2
    let headerLength: UInt64 = self.dataLength + 8 > UInt64(UInt32.max) ? 16 : 8
    for _ in 0..<2 {
      movie.clear()
      self.serializeMovie(into: &movie, dataStart: dataStart, usesLargeOffsets: usesLargeOffsets)
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

  private func serializeMovie(into buffer: inout ByteBuffer, dataStart: UInt64, usesLargeOffsets: Bool) {
    let tracks = self.filledTracks
    let start = tracks.map(\.startTime).min() ?? .zero
    buffer.writeBox("moov") {
      self.header.serialize(duration: self.movieDuration(timescale: self.timescale), into: &$0)
      for track in tracks {
        track.serialize(
          into: &$0, movieStart: start, movieTimescale: self.timescale, dataStart: dataStart,
          usesLargeOffsets: usesLargeOffsets)
      }
      for box in self.otherBoxes { box.serialize(into: &$0) }
    }
  }
}
