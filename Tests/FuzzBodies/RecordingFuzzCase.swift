internal import Containers
internal import Media
internal import NIOCore
internal import Recording

/// Checks of the repair of recordings with any bytes as an unfinished file: samples lie within the file, and the
/// tables of the progressive file count the same bytes.
struct RecordingFuzzCase {
  private let input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  func run() {
    self.checkIdentity()
    let length = UInt64(self.input.readableBytes)
    let scan: MovieScan
    do throws(ParsingError) {
      scan = try MovieScan(length: length) { [input] offset, count in
        precondition(count <= 4 << 20, "reads are bounded")
        guard offset <= length else { return nil }
        return input.getSlice(
          at: input.readerIndex + Int(offset), length: min(count, input.readableBytes - Int(offset)))
      }
    } catch {
      return
    }
    precondition(scan.end <= length && scan.movie.dataLength <= length)
    precondition(scan.data.allSatisfy { $0.upperBound <= scan.end })
    precondition(zip(scan.data, scan.data.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
    precondition(scan.data.reduce(0) { $0 + $1.upperBound - $1.lowerBound } == scan.movie.dataLength)
    guard scan.movie.sampleCount > 0 else { return }
    precondition(scan.movie.duration >= .zero)
    self.checkPlainFile(scan)
  }

  private func checkPlainFile(_ scan: MovieScan) {
    var file = scan.movie.serializeStart(note: ByteBuffer())
    let dataStart = file.readableBytes
    for range in scan.data {
      file.writeImmutableBuffer(
        self.input.getSlice(
          at: self.input.readerIndex + Int(range.lowerBound), length: Int(range.upperBound - range.lowerBound))
          ?? ByteBuffer())
    }
    guard let boxes = try? MP4Box.boxes(in: file), boxes.map(\.type) == ["ftyp", "moov", "mdat"],
      let tracks = try? boxes[1].children().filter({ $0.type == "trak" })
    else { preconditionFailure("what is written parses") }
    var samples = 0
    for track in tracks {
      guard let table = try? track.child("mdia").child("minf").child("stbl"),
        let sizes = try? table.child("stsz").full().content, let chunks = try? table.child("stco").full().content
      else { preconditionFailure("a track has its tables") }
      // sample_size, sample_count; entry_count.
      samples += sizes.getInteger(at: sizes.readerIndex + 4, as: UInt32.self).map(Int.init) ?? 0
      var offsets = chunks
      _ = offsets.readInteger(as: UInt32.self)
      while let offset = offsets.readInteger(as: UInt32.self) {
        precondition(Int(offset) >= dataStart && Int(offset) <= file.readableBytes, "chunks lie in the data")
      }
    }
    precondition(samples == scan.movie.sampleCount)
  }

  private func checkIdentity() {
    var isClockSynchronized = false
    guard let identity = RecordingIdentity(parsing: self.input, isClockSynchronized: &isClockSynchronized) else {
      return
    }
    var copy = false
    var box = identity.box(isClockSynchronized: isClockSynchronized)
    box.moveReaderIndex(forwardBy: 8)
    precondition(RecordingIdentity(parsing: box, isClockSynchronized: &copy) == identity && copy == isClockSynchronized)
  }
}
