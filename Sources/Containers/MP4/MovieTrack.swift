package import Media
internal import NIOCore

/// A track that is converted from fragmented to progressive: its `trak` box, and the samples found so far.
package struct MovieTrack {
  let trackID: UInt32
  let timescale: Int32
  var table = SampleTable()

  private let header: MovieHeader
  private let mediaHeader: MovieHeader
  private let boxes: [MP4Box]
  private let mediaBoxes: [MP4Box]
  private let informationBoxes: [MP4Box]
  private let description: ByteBuffer

  /// Parses a `trak` box; unknown boxes are preserved.
  package init(parsing box: MP4Box) throws(ParsingError) {
    self.boxes = try box.children()
    let media = try Self.only("mdia", in: self.boxes)
    self.mediaBoxes = try media.children()
    self.informationBoxes = try Self.only("minf", in: self.mediaBoxes).children()
    self.header = try MovieHeader(parsing: Self.only("tkhd", in: self.boxes))
    self.mediaHeader = try MovieHeader(parsing: Self.only("mdhd", in: self.mediaBoxes))
    self.trackID = self.header.number
    guard let timescale = Int32(exactly: self.mediaHeader.number), timescale > 0 else {
      throw ParsingError(.invalid, field: "timescale", offset: box.offset)
    }
    self.timescale = timescale
    let description = try Self.only("stbl", in: self.informationBoxes).child("stsd")
    var bytes = ByteBuffer()
    description.serialize(into: &bytes)
    self.description = bytes
  }

  /// Decoding time of the first sample, on the clock of the file.
  var startTime: MediaTime {
    MediaTime(ticks: Int64(clamping: self.table.start), timescale: self.timescale)
  }

  /// Duration in ticks of the movie timescale, including the delay before the track starts.
  func movieDuration(from start: MediaTime, timescale: Int32) -> UInt64 {
    self.delay(from: start, timescale: timescale) + self.mediaDuration(timescale: timescale)
  }

  private func delay(from start: MediaTime, timescale: Int32) -> UInt64 {
    UInt64(clamping: (self.startTime - start).ticks(timescale: timescale))
  }

  private func mediaDuration(timescale: Int32) -> UInt64 {
    UInt64(
      clamping: MediaDuration.ticks(Int64(clamping: self.table.duration), timescale: self.timescale)
        .ticks(timescale: timescale))
  }

  /// Appends the `trak` box of the progressive file.
  func serialize(
    into buffer: inout ByteBuffer, movieStart: MediaTime, movieTimescale: Int32, data: MediaDataMap,
    usesLargeOffsets: Bool
  ) {
    buffer.writeBox("trak") {
      self.header.serialize(
        duration: self.movieDuration(from: movieStart, timescale: movieTimescale), into: &$0)
      self.writeEdits(to: &$0, movieStart: movieStart, movieTimescale: movieTimescale)
      for box in self.boxes where !["tkhd", "edts", "mdia"].contains(box.type) { box.serialize(into: &$0) }
      $0.writeBox("mdia") {
        self.mediaHeader.serialize(duration: self.table.duration, into: &$0)
        for box in self.mediaBoxes where !["mdhd", "minf"].contains(box.type) { box.serialize(into: &$0) }
        $0.writeBox("minf") {
          for box in self.informationBoxes where box.type != "stbl" { box.serialize(into: &$0) }
          self.table.serialize(
            into: &$0, description: self.description, data: data, usesLargeOffsets: usesLargeOffsets)
        }
      }
    }
  }

  /// Writes `elst`, §8.6.6, if the track starts later than another or its frames are reordered: an empty edit for the delay,
  /// then the track from its first composition time.
  private func writeEdits(to buffer: inout ByteBuffer, movieStart: MediaTime, movieTimescale: Int32) {
    let delay = self.delay(from: movieStart, timescale: movieTimescale)
    let mediaTime = max(0, self.table.minimumOffset)
    guard delay > 0 || mediaTime > 0 else { return }
    buffer.writeBox("edts") {
      $0.writeFullBox("elst", version: 1) {
        $0.writeInteger(UInt32(delay > 0 ? 2 : 1))
        let rate = UInt32(0x1_0000)
        if delay > 0 { $0.writeMultipleIntegers(delay, Int64(-1), rate) }
        $0.writeMultipleIntegers(self.mediaDuration(timescale: movieTimescale), Int64(mediaTime), rate)
      }
    }
  }

  private static func only(_ type: FourCharacterCode, in boxes: [MP4Box]) throws(ParsingError) -> MP4Box {
    guard let box = boxes.first(where: { $0.type == type }) else {
      throw ParsingError(.missing, field: type.description)
    }
    return box
  }
}

extension MP4Box {
  /// Appends the box with a 32-bit size: a box in memory is smaller than 4 GiB. `uuid` boxes, whose usertype was not kept,
  /// are left out.
  func serialize(into buffer: inout ByteBuffer) {
    guard self.type != "uuid" else { return }
    buffer.writeBox(self.type) { $0.writeImmutableBuffer(self.content) }
  }
}
