public import Media
internal import NIOCore

/// Result of scanning a fragmented file: its samples up to the last complete fragment. Anything after it, such as a
/// partially written fragment, is ignored.
public struct MovieScan: Sendable {
  /// Progressive movie of all samples.
  public private(set) var movie: ProgressiveMP4
  /// Byte ranges of the media data in the file, in the order of the movie's tables.
  public private(set) var data: [Range<UInt64>] = []
  /// End offset of the last complete fragment, or of the `moov` box without fragments.
  public private(set) var end: UInt64

  /// Maximum bytes of a `moov` or `moof` box, 4 MiB; those of fragmented files have some hundred bytes.
  private static let maximumHeaderLength: UInt64 = 4 << 20
  /// Maximum number of boxes other than fragments.
  private static let maximumOtherBoxes = 10_000

  /// Scans a file.
  ///
  /// - Parameters:
  ///   - length: Length of the file in bytes.
  ///   - read: Reads at most 4 MiB per call; nil on failure, which ends the scan.
  /// - Throws: `.missing` with field `ftyp`, `moov`, or (for a progressive file) `mvex`; others for an invalid `moov` box.
  public init(length: UInt64, read: @escaping MP4FileWalker.Read) throws(ParsingError) {
    var walker = MP4FileWalker(length: length, read: read)
    (self.movie, self.end) = try Self.findMovie(&walker, read)
    var moof: (box: MP4Box, start: UInt64)?
    var otherBoxes = 0
    do throws(ParsingError) {
      while let box = try walker.next() {
        switch box.type {
        case "moof":
          moof = (try Self.load(box, read), box.start)
        case "mdat":
          guard let fragment = moof else { continue }
          moof = nil
          // Data offsets are signed 32-bit numbers.
          guard let from = Int32(exactly: box.content.lowerBound - fragment.start),
            let to = Int32(exactly: box.content.upperBound - fragment.start)
          else { throw ParsingError(.tooLarge, field: "mdat") }
          try self.movie.append(moof: fragment.box, data: Int(from)..<Int(to))
          self.data.append(box.content)
          self.end = box.content.upperBound
        default:
          otherBoxes += 1
          guard otherBoxes <= Self.maximumOtherBoxes else { throw ParsingError(.tooLarge, field: "file") }
        }
      }
    } catch {
      // The first invalid box ends the scan.
    }
  }

  private static func findMovie(
    _ walker: inout MP4FileWalker, _ read: MP4FileWalker.Read
  ) throws(ParsingError) -> (ProgressiveMP4, end: UInt64) {
    let missing = ParsingError(.missing, field: "ftyp")
    do throws(ParsingError) {
      guard try walker.next()?.type == "ftyp" else { throw missing }
    } catch {
      throw missing
    }
    for _ in 0..<Self.maximumOtherBoxes {
      guard let box = try walker.next() else { break }
      guard box.type == "moov" else { continue }
      return (try ProgressiveMP4(parsing: Self.load(box, read)), box.content.upperBound)
    }
    throw ParsingError(.missing, field: "moov")
  }

  /// Reads a box into memory.
  private static func load(_ box: MP4FileWalker.Box, _ read: MP4FileWalker.Read) throws(ParsingError) -> MP4Box {
    let length = box.content.upperBound - box.content.lowerBound
    guard length <= Self.maximumHeaderLength else { throw ParsingError(.tooLarge, field: box.type.description) }
    guard let content = read(box.content.lowerBound, Int(length)), content.readableBytes == Int(length) else {
      throw ParsingError(.truncated, field: box.type.description)
    }
    return MP4Box(type: box.type, content: content, offset: 0)
  }
}
