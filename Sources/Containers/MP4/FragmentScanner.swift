internal import Media
internal import NIOCore

/// Finds the fragments of a file for ``MovieScan``.
///
/// A fragment is added to the movie when the next one is found: times that a damaged bit moved into the future
/// contradict those of its successor.
struct FragmentScanner {
  /// A fragment with plausible tables whose data are in the file.
  private struct Candidate {
    var fragment: MovieFragmentTables
    /// Offset of the `moof`.
    var start: UInt64
    var data: Range<UInt64>
    /// Whether the header of `mdat` was reconstructed from the tables.
    var hasDamagedHeader = false
  }

  private let length: UInt64
  private let isOwn: Bool
  private let read: MP4FileWalker.Read
  /// The last fragment found, not yet in the movie.
  private var pending: Candidate?
  /// Offset of the next box.
  private var position: UInt64 = 0
  private var maximumFragmentLength: UInt64 = 0
  private var otherBoxes = 0
  /// End offset of the copy of the head.
  private var headCopyEnd: UInt64 = 0

  /// Time by which a fragment may begin before the end of its predecessor: the last frame's duration is a guess when
  /// the recording paused there.
  private static let overlap = MediaDuration.seconds(2)
  /// Bytes per read while searching for a fragment.
  private static let searchLength: UInt64 = 1 << 20
  /// Maximum bytes of a `moof` found by searching: 16 bytes for each of a second's samples are less.
  private static let maximumFoundLength: UInt64 = 1 << 18
  /// Minimum bytes of a fragment: `moof` with `mfhd`, `traf`, `tfhd`, `tfdt` and `trun`, and `mdat`.
  private static let minimumFragmentLength: UInt64 = 100
  /// Maximum length of an incomplete end that a crash explains, in addition to two fragments.
  private static let usualTailLength: UInt64 = 1 << 16
  /// Boxes between `moov` and the first fragment of a recording, in this order: the marker and the identity.
  private static let headBoxes: [FourCharacterCode] = ["free", "uuid"]
  /// Maximum length of those boxes; others hide fragments.
  private static let maximumHeadBoxLength: UInt64 = 16 << 10
  /// Maximum duration of a fragment whose tracks stop arriving.
  private static let maximumFragmentDuration = 4.0

  init(length: UInt64, isOwn: Bool, read: @escaping MP4FileWalker.Read) {
    self.length = length
    self.isOwn = isOwn
    self.read = read
  }

  /// Adds the fragments behind the `moov` box to a scan.
  mutating func run(_ scan: inout MovieScan) {
    self.position = scan.end
    while self.position < self.length, self.step(&scan) {}
    if let pending = self.pending.take() { self.commit(pending, &scan) }
    if scan.fragmentCount > 0 { scan.end = max(scan.end, self.headCopyEnd) }
  }

  /// Processes the next box or fragment; false at the end.
  private mutating func step(_ scan: inout MovieScan) -> Bool {
    let box = self.box(at: self.position)
    if let box, box.type == "moof", let candidate = self.candidate(box, scan.movie) {
      self.push(candidate, &scan)
      self.position = candidate.data.upperBound
      return true
    }
    if let box, self.isKnown(box, scan) {
      self.otherBoxes += 1
      self.position = box.content.upperBound
      guard self.otherBoxes > MovieScan.maximumOtherBoxes else { return true }
      scan.isForeign = !self.isOwn
      return false
    }
    if self.isOwn, scan.headCopy == nil, let box, let copy = HeadCopy(of: box, read: self.read) {
      scan.headCopy = copy.head
      self.headCopyEnd = box.content.upperBound
      self.position = box.content.upperBound
      return true
    }
    guard self.isOwn else {
      // A box that the end of the file cuts is a torn tail; others have a layout that is not ours.
      scan.isForeign = box.map { !self.isCut($0) } ?? !self.endsInBox(at: self.position)
      if !scan.isForeign { scan.tornByteCount = self.length - self.position }
      return false
    }
    // A fragment that has lost bytes, with damage behind it, may have taken its successor for its own data.
    let last = self.pending.flatMap { $0.data.upperBound == self.position ? $0 : nil }
    guard let next = self.search(from: last?.data.lowerBound ?? self.position + 1, scan.movie) else {
      self.endTail(&scan)
      return false
    }
    if let last, next.start < self.position {
      self.pending = nil
      self.note(last.start..<next.start, &scan)
    } else {
      self.note(self.position..<next.start, &scan)
    }
    self.position = next.start
    return true
  }

  /// Whether a box other than a fragment may be here. The box that a damaged fragment became must not hide those
  /// behind it.
  private func isKnown(_ box: MP4FileWalker.Box, _ scan: MovieScan) -> Bool {
    guard self.isOwn else { return !["moof", "mdat"].contains(box.type) }
    return scan.fragmentCount == 0 && self.pending == nil && self.otherBoxes < Self.headBoxes.count
      && Self.headBoxes[self.otherBoxes] == box.type
      && box.content.upperBound - box.start <= Self.maximumHeadBoxLength
  }

  /// The complete box at an offset; nil when there is none.
  private func box(at offset: UInt64) -> MP4FileWalker.Box? {
    var walker = MP4FileWalker(length: self.length, from: offset, read: self.read)
    return (try? walker.next()) ?? nil
  }

  /// Whether a complete `moof` is followed by an incomplete `mdat`, or nothing.
  private func isCut(_ box: MP4FileWalker.Box) -> Bool {
    guard box.type == "moof" else { return false }
    return box.content.upperBound == self.length
      || self.box(at: box.content.upperBound) == nil && self.endsInBox(at: box.content.upperBound)
  }

  /// Whether the file ends inside of the box at an offset, as if writing was interrupted.
  private func endsInBox(at offset: UInt64) -> Bool {
    guard self.length - offset >= 8 else { return true }
    guard var bytes = self.read(offset, 8), let size = bytes.readInteger(as: UInt32.self) else { return false }
    return size == 1 || UInt64(size) > self.length - offset
  }
}

// MARK: - Fragments
extension FragmentScanner {
  /// Parses a `moof` box and finds its data; nil when something does not fit.
  private func candidate(_ box: MP4FileWalker.Box, _ movie: ProgressiveMP4) -> Candidate? {
    guard let moof = try? MovieScan.load(box, self.read), let tables = try? movie.tables(parsing: moof) else {
      return nil
    }
    let end = box.content.upperBound
    if let mdat = self.box(at: end), mdat.type == "mdat",
      self.fits(tables, mdat.content.lowerBound - box.start..<mdat.content.upperBound - box.start)
    {
      return Candidate(fragment: tables, start: box.start, data: mdat.content)
    }
    // With a damaged header of mdat, the tables say where the data are.
    guard self.isOwn, tables.byteCount > 0, end + 8 <= self.length,
      UInt64(tables.byteCount) <= self.length - end - 8,
      case let data = end + 8..<end + 8 + UInt64(tables.byteCount),
      self.fits(tables, data.lowerBound - box.start..<data.upperBound - box.start),
      data.upperBound == self.length || self.box(at: data.upperBound)?.type == "moof"
    else { return nil }
    return Candidate(fragment: tables, start: box.start, data: data, hasDamagedHeader: true)
  }

  /// Whether the samples lie in the data, which in our own files consist of nothing else.
  ///
  /// - Parameter data: In bytes from the start of the `moof`.
  private func fits(_ tables: MovieFragmentTables, _ data: Range<UInt64>) -> Bool {
    guard let from = Int32(exactly: data.lowerBound), let to = Int32(exactly: data.upperBound) else { return false }
    guard self.isOwn else { return tables.fits(in: Int(from)..<Int(to)) }
    var offset = Int(from)
    for run in tables.runs {
      guard Int(run.table.dataOffset) == offset else { return false }
      offset += run.byteCount
    }
    return offset == Int(to)
  }

  /// Finds the next fragment by its type code.
  private func search(from start: UInt64, _ movie: ProgressiveMP4) -> Candidate? {
    var offset = start
    while offset + Self.minimumFragmentLength <= self.length {
      guard let bytes = self.read(offset, Int(min(Self.searchLength, self.length - offset))),
        bytes.readableBytes >= 4
      else { return nil }
      for index in Self.typeCodes(in: bytes) where offset + UInt64(index) >= start + 4 {
        if let found = self.found(at: offset + UInt64(index) - 4, movie) { return found }
      }
      // A type code may lie on the boundary.
      offset += UInt64(bytes.readableBytes - 3)
    }
    return nil
  }

  private func found(at offset: UInt64, _ movie: ProgressiveMP4) -> Candidate? {
    guard let box = self.box(at: offset), box.type == "moof",
      box.content.upperBound - box.start <= Self.maximumFoundLength, let found = self.candidate(box, movie),
      !found.fragment.runs.isEmpty, found.fragment.sequenceNumber != nil,
      self.follows(found, self.pending, movie) || self.follows(found, nil, movie)
    else { return nil }
    return found
  }

  /// Offsets of "moof" in bytes.
  private static func typeCodes(in bytes: ByteBuffer) -> [Int] {
    bytes.withUnsafeReadableBytes { bytes in
      var found: [Int] = []
      var index = 0
      while index + 4 <= bytes.count {
        if bytes[index] == 0x6D, bytes[index + 1] == 0x6F, bytes[index + 2] == 0x6F, bytes[index + 3] == 0x66 {
          found.append(index)
        }
        index += 1
      }
      return found
    }
  }

  /// Whether a fragment begins at the end of another, or of the movie, or later.
  private func follows(_ next: Candidate, _ previous: Candidate?, _ movie: ProgressiveMP4) -> Bool {
    next.fragment.runs.allSatisfy { run in
      let end = previous?.fragment.end(ofTrack: run.track) ?? movie.end(ofTrack: run.track)
      return end.map { $0 <= run.table.baseDecodeTime + movie.ticks(Self.overlap, ofTrack: run.track) } ?? true
    }
  }

  /// Accepts a fragment, unless its times contradict those before it; or rejects the fragment before it.
  private mutating func push(_ candidate: Candidate, _ scan: inout MovieScan) {
    guard self.isOwn else { return self.commit(candidate, &scan) }
    guard self.follows(candidate, self.pending, scan.movie) else {
      guard let pending = self.pending, self.isWrong(pending, before: candidate, scan.movie) else {
        return self.note(candidate, &scan)
      }
      self.note(pending, &scan)
      self.pending = candidate
      return
    }
    if let pending = self.pending { self.commit(pending, &scan) }
    self.pending = candidate
  }

  /// Whether, of two fragments whose times contradict each other, the first is the damaged one: its times fit less to
  /// the movie before and the fragment after them.
  private func isWrong(_ first: Candidate, before second: Candidate, _ movie: ProgressiveMP4) -> Bool {
    let third = self.box(at: second.data.upperBound).flatMap { $0.type == "moof" ? self.candidate($0, movie) : nil }
    func seconds(_ track: Int, _ from: UInt64?, _ to: UInt64?) -> Double? {
      guard let from, let to else { return nil }
      return (Double(to) - Double(from)) / Double(movie.timescale(ofTrack: track))
    }
    /// Seconds by which a time between two fragments is not that of one fragment, at most 1: a wrong time says nothing by its size.
    func excess(_ time: Double?) -> Double {
      time.map { min(1, max(0, -$0, $0 - Self.maximumFragmentDuration)) } ?? 0
    }
    /// Seconds between two times that should be the same, at most 1.
    func difference(_ time: Double?) -> Double { min(1, abs(time ?? 0)) }
    var (firstError, secondError) = (0.0, 0.0)
    for run in first.fragment.runs {
      let track = run.track
      let end = movie.end(ofTrack: track)
      firstError += difference(seconds(track, end, run.table.baseDecodeTime))
      firstError += excess(seconds(track, run.table.baseDecodeTime, run.end))
      let next = second.fragment.runs.first { $0.track == track }
      secondError += excess(seconds(track, end, next?.table.baseDecodeTime))
      secondError += excess(seconds(track, next?.table.baseDecodeTime, next?.end))
      if let last = third?.fragment.runs.first(where: { $0.track == track })?.table.baseDecodeTime {
        firstError += excess(seconds(track, run.end, last))
        secondError += difference(seconds(track, next?.end, last))
      }
    }
    return firstError >= secondError
  }

  /// Time between the end of the movie, or its start at zero, and a fragment.
  private func gap(before candidate: Candidate, _ movie: ProgressiveMP4) -> MediaDuration {
    guard movie.sampleCount > 0 else {
      return candidate.fragment.runs.map { run in
        .ticks(Int64(clamping: run.table.baseDecodeTime), timescale: movie.timescale(ofTrack: run.track))
      }.min() ?? .zero
    }
    return candidate.fragment.runs.map { run in
      guard let end = movie.end(ofTrack: run.track), run.table.baseDecodeTime > end else { return .zero }
      return .ticks(Int64(clamping: run.table.baseDecodeTime - end), timescale: movie.timescale(ofTrack: run.track))
    }.max() ?? .zero
  }

  /// Adds a fragment to the movie.
  private mutating func commit(_ candidate: Candidate, _ scan: inout MovieScan) {
    let gap = self.gap(before: candidate, scan.movie)
    let base = candidate.start
    do throws(ParsingError) {
      try scan.movie.append(
        candidate.fragment,
        data: Int(clamping: candidate.data.lowerBound - base)..<Int(clamping: candidate.data.upperBound - base))
    } catch {
      if self.isOwn { self.note(candidate, &scan) } else { scan.isForeign = true }
      return
    }
    if let last = scan.damage.last, last.lostDuration == nil, last.range.upperBound <= candidate.start {
      scan.damage[scan.damage.count - 1].lostDuration = gap
    }
    if candidate.hasDamagedHeader {
      scan.damage.append(
        MovieScan.Damage(range: candidate.data.lowerBound - 8..<candidate.data.lowerBound, lostDuration: .zero))
    }
    scan.data.append(candidate.data)
    scan.fragmentCount += 1
    scan.end = candidate.data.upperBound
    self.maximumFragmentLength = max(self.maximumFragmentLength, candidate.data.upperBound - candidate.start)
  }
}

// MARK: - Damage
extension FragmentScanner {
  private func note(_ candidate: Candidate, _ scan: inout MovieScan) {
    self.note(candidate.start..<candidate.data.upperBound, &scan)
  }

  /// Records damage; adjacent ranges are one.
  private func note(_ range: Range<UInt64>, _ scan: inout MovieScan) {
    if let last = scan.damage.last, last.range.upperBound == range.lowerBound, last.lostDuration == nil {
      scan.damage[scan.damage.count - 1].range = last.range.lowerBound..<range.upperBound
    } else {
      scan.damage.append(MovieScan.Damage(range: range, lostDuration: nil))
      // A pending fragment is rejected after damage behind it was found.
      scan.damage.sort { $0.range.lowerBound < $1.range.lowerBound }
    }
  }

  /// Classifies the bytes behind the last fragment: torn by a crash, or damaged.
  private mutating func endTail(_ scan: inout MovieScan) {
    let tail = self.position..<self.length
    // An index that was being written when the program ended: nothing of the recording. A moof has another child.
    if let bytes = self.read(tail.lowerBound, Int(min(16, UInt64(tail.count)))),
      bytes.getString(at: bytes.readerIndex + 4, length: 4) == "moov",
      bytes.getString(at: bytes.readerIndex + 12, length: 4) ?? "mvhd" == "mvhd"
    {
      return
    }
    let usual = 2 * max(self.maximumFragmentLength, self.pending.map { $0.data.upperBound - $0.start } ?? 0)
    if self.isWhole(tail) || UInt64(tail.count) > usual + Self.usualTailLength {
      self.note(tail, &scan)
    } else {
      scan.tornByteCount = UInt64(tail.count)
    }
  }

  /// Whether complete boxes with media data fill a range: then nothing was cut, and a header is damaged.
  private func isWhole(_ tail: Range<UInt64>) -> Bool {
    var walker = MP4FileWalker(length: self.length, from: tail.lowerBound, read: self.read)
    var hasData = false
    do throws(ParsingError) {
      for _ in 0..<MovieScan.maximumOtherBoxes {
        guard let box = try walker.next() else { return hasData }
        hasData = hasData || box.type == "mdat"
      }
      return false
    } catch {
      return false
    }
  }
}
