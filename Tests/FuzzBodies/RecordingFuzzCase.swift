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
    self.checkDamage()
    for isOwn in [false, true] { self.checkScan(isOwn: isOwn) }
  }

  private func checkScan(isOwn: Bool) {
    let length = UInt64(self.input.readableBytes)
    let scan: MovieScan
    do throws(ParsingError) {
      scan = try MovieScan(length: length, isOwn: isOwn) { [input] offset, count in
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
    var creation = RecordingCreation()
    guard let identity = RecordingIdentity(parsing: self.input, creation: &creation) else { return }
    var copy = RecordingCreation()
    var box = identity.box(creation)
    box.moveReaderIndex(forwardBy: 8)
    precondition(RecordingIdentity(parsing: box, creation: &copy) == identity && copy == creation)
  }

  /// A recording of six seconds: its bytes, and the range of each fragment.
  private static let recording: (bytes: ByteBuffer, fragments: [Range<Int>]) = {
    let descriptions: [CodecDescription] = [
      .h264(
        H264Description(
          sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68, 2], width: 2, height: 2,
          frameRate: FrameRate(25))),
      .aac(
        AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))),
    ]
    var muxer = FragmentedMP4Muxer(descriptions)
    var bytes = muxer.initializationSegment()
    var fragments: [Range<Int>] = []
    for second in Int64(0)..<6 {
      let video = (second * 25..<second * 25 + 25).map { index in
        EncodedSample(
          kind: .video, payload: ByteBuffer(repeating: UInt8(index), count: 20 + Int(index % 9)),
          presentationTime: MediaTime(ticks: index, timescale: 25), duration: .milliseconds(40),
          isKeyframe: index % 25 == 0)
      }
      let audio = (second * 46..<second * 46 + 46).map { index in
        EncodedSample(
          kind: .audio, payload: ByteBuffer(repeating: UInt8(truncatingIfNeeded: index), count: 5),
          presentationTime: MediaTime(ticks: index * 1024, timescale: 48_000),
          duration: .ticks(1024, timescale: 48_000), isKeyframe: true)
      }
      let start = bytes.writerIndex
      bytes.writeImmutableBuffer(muxer.fragment(video + audio))
      fragments.append(start..<bytes.writerIndex)
      if second == 0 { HeadCopy(muxer.initializationSegment()).serialize(into: &bytes) }
    }
    return (bytes, fragments)
  }()

  /// Damages one fragment of a recording, or its head, and checks that each other fragment is found.
  ///
  /// Input: the fragment, an offset in it, whether the file ends there, and up to 64 bytes to write. The number behind
  /// the last fragment is the head's.
  private func checkDamage() {
    guard self.input.readableBytes <= 4 + 64 else { return }
    var rest = self.input
    guard let (number, offset, ends) = rest.readMultipleIntegers(as: (UInt8, UInt16, UInt8).self) else { return }
    var (bytes, fragments) = Self.recording
    let index = Int(number) % (fragments.count + 1)
    guard index < fragments.count else { return self.checkHead(at: Int(offset), bytes: rest) }
    let fragment = fragments[index]
    let start = fragment.lowerBound + Int(offset) % fragment.count
    if ends == 0xFF {
      bytes.moveWriterIndex(to: start)
      fragments.removeAll { $0.upperBound > start }
    } else {
      let count = min(64, fragment.upperBound - start, rest.readableBytes)
      bytes.setBytes(rest.readableBytesView.prefix(count), at: start)
      fragments.removeAll { $0 == fragment }
    }
    let file = bytes
    guard let scan = try? MovieScan(length: UInt64(file.readableBytes), isOwn: true, read: Self.reader(of: file)) else {
      preconditionFailure("the head is whole")
    }
    Self.check(scan, contains: fragments)
    let isShown = scan.fragmentCount == Self.recording.fragments.count
    precondition(
      isShown || !scan.isClean || ends == 0xFF && scan.end == UInt64(file.readableBytes), "losses are reported")
  }

  /// Damages the head, and checks that its copy is found and gives every fragment.
  private func checkHead(at offset: Int, bytes damage: ByteBuffer) {
    var (bytes, fragments) = Self.recording
    let head = fragments[0].lowerBound
    let start = offset % head
    bytes.setBytes(damage.readableBytesView.prefix(min(64, head - start)), at: start)
    let file = bytes
    let length = UInt64(file.readableBytes)
    guard let copy = HeadCopy.find(length: length, read: Self.reader(of: file)) else {
      preconditionFailure("the copy is whole")
    }
    precondition(copy.head == Self.recording.bytes.getSlice(at: 0, length: head))
    guard let scan = try? MovieScan(length: length, head: copy.head, read: Self.reader(of: file)) else {
      preconditionFailure("the copy parses")
    }
    Self.check(scan, contains: fragments)
    precondition(scan.damage.count == 1 && scan.damage[0].range.upperBound <= UInt64(head), "only the head is damaged")
  }

  private static func check(_ scan: MovieScan, contains fragments: [Range<Int>]) {
    for fragment in fragments {
      precondition(
        scan.data.contains { $0.upperBound == UInt64(fragment.upperBound) && fragment.contains(Int($0.lowerBound)) },
        "no whole fragment is lost")
    }
  }

  private static func reader(of file: ByteBuffer) -> MP4FileWalker.Read {
    { offset, count in file.getSlice(at: Int(offset), length: min(count, file.readableBytes - Int(offset))) }
  }
}
