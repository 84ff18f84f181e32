public import Media
public import NIOCore

/// Result of scanning a fragmented file: its whole fragments, and what lies between and behind them.
///
/// ```
/// ftyp moov  moof mdat  moof mdat  ▒▒▒▒▒▒▒▒▒  moof mdat  moof md
///            fragment   fragment   damage     fragment   torn tail
/// ```
///
/// A recording of this program is scanned to its end: after bytes that are no fragment, the scan continues at the next
/// `moof` whose tracks, times, data offsets and sizes fit; its sequence number may be damaged. Files of other programs may
/// have layouts that look like damage; their scan ends at the first box that is not understood.
public struct MovieScan: Sendable {
  /// Bytes that belong to no whole fragment, with whole fragments behind them or too many to be one torn fragment; or
  /// damaged bytes of the head.
  public struct Damage: Hashable, Sendable {
    /// Byte offsets from the start of the file.
    public var range: Range<UInt64>
    /// Time that is missing in the movie there, zero when only a header was damaged; nil at the end of the file.
    public var lostDuration: MediaDuration?
  }

  /// Progressive movie of the samples of all whole fragments.
  public internal(set) var movie: ProgressiveMP4
  /// Byte ranges of the media data in the file, in the order of the movie's tables.
  public internal(set) var data: [Range<UInt64>] = []
  /// Number of whole fragments, a `moof` and its `mdat` each, whose samples ``movie`` has.
  public internal(set) var fragmentCount = 0
  /// End offset of the last whole fragment, or of the `moov` box without fragments.
  public internal(set) var end: UInt64
  /// A `free` box between `ftyp` and `moov` with room for the header of another box; nil without one.
  public internal(set) var reserved: Range<UInt64>?
  /// Damaged parts of the file, in order.
  public internal(set) var damage: [Damage] = []
  /// Bytes of an incomplete fragment at the end of the file, as a crash leaves it.
  public internal(set) var tornByteCount: UInt64 = 0
  /// Copy of the head in the file, see ``HeadCopy``; nil without a whole one.
  public internal(set) var headCopy: ByteBuffer?
  /// The head that was read instead of the file's; nil where the file's was read.
  public internal(set) var replacedHead: ByteBuffer?
  /// Whether the file, of another program, has complete boxes that are not understood.
  public internal(set) var isForeign = false

  /// Whether every byte of the file belongs to a whole fragment, or to a box between or behind them.
  public var isClean: Bool { self.damage.isEmpty && self.tornByteCount == 0 && !self.isForeign }

  /// Bytes that belong to no whole fragment: those of ``damage``, and ``tornByteCount``.
  public var lostByteCount: UInt64 {
    self.damage.reduce(self.tornByteCount) { $0 + $1.range.upperBound - $1.range.lowerBound }
  }

  /// Maximum bytes of a `moov` or `moof` box, 4 MiB; those of fragmented files have some hundred bytes.
  static let maximumHeaderLength: UInt64 = 4 << 20
  /// Bytes of a box header with a 64-bit size.
  static let minimumReserve: UInt64 = 16
  /// Maximum offset of the `moov` box of an open recording of this program: `ftyp` and `free` before it have 24 and 16 bytes.
  static let maximumOwnOffset: UInt64 = 128
  /// Maximum number of boxes other than fragments.
  static let maximumOtherBoxes = 10_000

  /// Scans a file.
  ///
  /// - Parameters:
  ///   - length: Length of the file in bytes.
  ///   - isOwn: Whether the file is a recording of this program; see ``FragmentedMP4Muxer`` for its layout.
  ///   - read: Reads at most 4 MiB per call; nil on failure, which ends the scan.
  /// - Throws: `.missing` with field `ftyp`, `moov`, or (for a progressive file) `mvex`; others for an invalid `moov` box.
  public init(length: UInt64, isOwn: Bool = false, read: @escaping MP4FileWalker.Read) throws(ParsingError) {
    var walker = MP4FileWalker(length: length, read: read)
    (self.movie, self.end, self.reserved) = try Self.findMovie(&walker, isOwn: isOwn, read)
    var scanner = FragmentScanner(length: length, isOwn: isOwn, read: read)
    scanner.run(&self)
  }

  /// Scans a recording of this program whose head is damaged: fragments are searched from the start of the file.
  ///
  /// - Parameters:
  ///   - length: Length of the file in bytes.
  ///   - head: The boxes that preceded the first fragment.
  ///   - read: As for ``init(length:isOwn:read:)``.
  /// - Throws: Errors of an invalid head.
  public init(length: UInt64, head: ByteBuffer, read: @escaping MP4FileWalker.Read) throws(ParsingError) {
    let readHead: MP4FileWalker.Read = { offset, count in
      head.getSlice(at: head.readerIndex + Int(offset), length: min(count, head.readableBytes - Int(offset)))
    }
    var walker = MP4FileWalker(length: UInt64(head.readableBytes), read: readHead)
    self.movie = try Self.findMovie(&walker, isOwn: true, readHead).0
    self.end = 0
    self.replacedHead = head
    var scanner = FragmentScanner(length: length, isOwn: true, read: read)
    scanner.run(&self)
    // The head is where it was: the damage is the bytes that differ.
    if let first = self.damage.first, first.range == 0..<UInt64(head.readableBytes),
      let bytes = read(0, head.readableBytes), let differing = HeadCopy.difference(head, bytes)
    {
      self.damage[0].range = UInt64(differing.lowerBound)..<UInt64(differing.upperBound)
    }
  }

  private static func findMovie(
    _ walker: inout MP4FileWalker, isOwn: Bool, _ read: MP4FileWalker.Read
  ) throws(ParsingError) -> (ProgressiveMP4, end: UInt64, reserved: Range<UInt64>?) {
    let missing = ParsingError(.missing, field: "ftyp")
    do throws(ParsingError) {
      guard try walker.next()?.type == "ftyp" else { throw missing }
    } catch {
      throw missing
    }
    var reserved: Range<UInt64>?
    for _ in 0..<Self.maximumOtherBoxes {
      guard let box = try walker.next() else { break }
      if box.type == "free", box.content.upperBound - box.start >= Self.minimumReserve, reserved == nil {
        reserved = box.start..<box.content.upperBound
      }
      guard box.type == "moov" else { continue }
      let movie = try ProgressiveMP4(parsing: Self.load(box, read))
      // A damaged box may end in the copy of the head.
      guard !isOwn || box.start <= Self.maximumOwnOffset else { break }
      return (movie, box.content.upperBound, reserved)
    }
    throw ParsingError(.missing, field: "moov")
  }

  /// Reads a box into memory.
  static func load(_ box: MP4FileWalker.Box, _ read: MP4FileWalker.Read) throws(ParsingError) -> MP4Box {
    let length = box.content.upperBound - box.content.lowerBound
    guard length <= Self.maximumHeaderLength else { throw ParsingError(.tooLarge, field: box.type.description) }
    guard let content = read(box.content.lowerBound, Int(length)), content.readableBytes == Int(length) else {
      throw ParsingError(.truncated, field: box.type.description)
    }
    return MP4Box(type: box.type, content: content, offset: 0)
  }
}
