import Containers
import Media
import NIOCore

/// Number of samples that the index of a file has, by the file's own boxes.
public struct RecordedSamples: Hashable {
  /// Number of samples of all tracks.
  public private(set) var count: Int
  /// Whether the file is a progressive one.
  public private(set) var isFinished: Bool

  /// Reads a fragmented or a progressive file; nil without a readable head.
  public init?(_ bytes: [UInt8]) {
    let buffer = ByteBuffer(bytes: bytes)
    do throws(ParsingError) {
      let scan = try MovieScan(length: UInt64(bytes.count), isOwn: true) { offset, count in
        buffer.getSlice(at: Int(offset), length: min(count, bytes.count - Int(offset)))
      }
      (self.count, self.isFinished) = (scan.movie.sampleCount, false)
    } catch {
      guard error.field == "mvex", let count = try? Self.indexed(buffer) else { return nil }
      (self.count, self.isFinished) = (count, true)
    }
  }

  /// Sums the sample counts of a progressive file, whose chunks lie in the file.
  private static func indexed(_ buffer: ByteBuffer) throws(ParsingError) -> Int {
    guard let moov = try MP4Box.boxes(in: buffer).first(where: { $0.type == "moov" }) else { return 0 }
    var sum = 0
    for track in try moov.children() where track.type == "trak" {
      let table = try track.child("mdia").child("minf").child("stbl")
      var sizes = try table.child("stsz").full().content
      guard let (_, count) = sizes.readMultipleIntegers(as: (UInt32, UInt32).self) else { return 0 }
      let boxes = try table.children()
      guard let offsets = boxes.first(where: { $0.type == "stco" || $0.type == "co64" }) else { return 0 }
      let width = offsets.type == "stco" ? 4 : 8
      let last = offsets.content.getSlice(
        at: offsets.content.writerIndex - width, length: width)?.readableBytesView.reduce(0) { $0 << 8 | Int($1) }
      guard let last, last < buffer.readableBytes else { return 0 }
      sum += Int(count)
    }
    return sum
  }
}
