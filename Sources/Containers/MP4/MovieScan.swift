public import Media
internal import NIOCore

/// What a fragmented file holds, found by walking over it: the samples up to the last fragment that is there as a whole.
/// What comes behind, a fragment that was being written or bytes that are none, is left out.
public struct MovieScan: Sendable {
  /// The movie that the samples make.
  public private(set) var movie: ProgressiveMP4
  /// Where the media data lie in the file, in the order in which the movie's tables count them.
  public private(set) var data: [Range<UInt64>] = []
  /// Where the last whole fragment ends; where the `moov` box does, when there is none.
  public private(set) var end: UInt64

  /// The longest `moov` or `moof` box that is read: of a fragmented file they are some hundred bytes.
  private static let maximumHeaderLength: UInt64 = 4 << 20
  /// The most boxes beside fragments.
  private static let maximumOtherBoxes = 10_000

  /// Walks over a file.
  ///
  /// - Parameters:
  ///   - length: Of the file.
  ///   - read: Reads bytes, at most some megabytes; nil when they cannot be read, which ends the walk.
  /// - Throws: ``ParsingError`` when it is not a fragmented file: `.missing` with field `ftyp`, `moov`, or (a plain file)
  ///   `mvex`; others when the `moov` box is broken.
  public init(length: UInt64, read: @escaping MP4FileWalker.Read) throws(ParsingError) {
    var walker = MP4FileWalker(length: length, read: read)
    (self.movie, self.end) = try Self.findMovie(&walker, read)
    var moof: (box: MP4Box, start: UInt64)?
    var otherBoxes = 0
    do throws(ParsingError) {
      while let box = try walker.next() {
        switch box.type {
        case "moof":
          moof = (try Self.whole(box, read), box.start)
        case "mdat":
          guard let fragment = moof else { continue }
          moof = nil
          // Data offsets have 31 bits.
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
      // What is not a fragment is the end.
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
      return (try ProgressiveMP4(parsing: Self.whole(box, read)), box.content.upperBound)
    }
    throw ParsingError(.missing, field: "moov")
  }

  /// Reads a box into memory.
  private static func whole(_ box: MP4FileWalker.Box, _ read: MP4FileWalker.Read) throws(ParsingError) -> MP4Box {
    let length = box.content.upperBound - box.content.lowerBound
    guard length <= Self.maximumHeaderLength else { throw ParsingError(.tooLarge, field: box.type.description) }
    guard let content = read(box.content.lowerBound, Int(length)), content.readableBytes == Int(length) else {
      throw ParsingError(.truncated, field: box.type.description)
    }
    return MP4Box(type: box.type, content: content, offset: 0)
  }
}
