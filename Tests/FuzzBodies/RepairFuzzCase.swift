internal import Containers
internal import Foundation
internal import Media
internal import NIOCore
internal import Recording

/// Checks of the whole repair, with files: whatever was changed in a recording, the samples of each fragment that was not
/// touched are in the repaired file, unless both the head and its copy were; a damaged file is kept, and a refused one is
/// unchanged.
///
/// Input: a byte whose lowest bit is set where the file is finished in place, then up to eight changes, each of a kind, an
/// offset in the file (16 bits), a count and, where bytes are written, up to 16 bytes.
struct RepairFuzzCase {
  private enum Change: UInt8, CaseIterable {
    case overwrite, insert, clear, remove, truncate
  }

  /// A part of the recording, as long as no change touches it.
  private enum Part: Hashable {
    case head, headCopy
    case fragment(Int)
  }

  private var bytes: ByteBuffer
  private var parts: [Part: Range<Int>]
  private let copiesMedia: Bool
  private var isChanged = false

  init(_ input: ByteBuffer) {
    var input = input
    let flags = input.readInteger(as: UInt8.self) ?? 0
    self.copiesMedia = flags & 1 == 0
    (self.bytes, self.parts) = Self.recording
    var count = 0
    while count < 8, let (kind, offset, length) = input.readMultipleIntegers(as: (UInt8, UInt16, UInt8).self) {
      let kinds = Change.allCases
      self.apply(
        kinds[Int(kind) % kinds.count], at: Int(offset) % (self.bytes.readableBytes + 1), count: Int(length), &input)
      count += 1
    }
    self.isChanged = count > 0
  }

  private mutating func apply(_ change: Change, at offset: Int, count: Int, _ input: inout ByteBuffer) {
    let rest = self.bytes.readableBytes - offset
    switch change {
    case .overwrite, .insert:
      let data = input.readSlice(length: min(1 + count % 16, input.readableBytes)) ?? ByteBuffer()
      let replaced = change == .insert ? 0 : min(rest, data.readableBytes)
      self.replace(offset..<offset + replaced, with: data)
    case .clear:
      let length = min(rest, 1 + count * 16)
      self.replace(offset..<offset + length, with: ByteBuffer(repeating: 0, count: length))
    case .remove: self.replace(offset..<offset + min(rest, 1 + count * 16), with: ByteBuffer())
    case .truncate: self.replace(offset..<offset + rest, with: ByteBuffer())
    }
  }

  private mutating func replace(_ range: Range<Int>, with data: ByteBuffer) {
    let old = self.bytes
    self.bytes = ByteBuffer()
    self.bytes.writeImmutableBuffer(old.getSlice(at: 0, length: range.lowerBound) ?? ByteBuffer())
    self.bytes.writeImmutableBuffer(data)
    self.bytes.writeImmutableBuffer(
      old.getSlice(at: range.upperBound, length: old.readableBytes - range.upperBound) ?? ByteBuffer())
    let shift = data.readableBytes - range.count
    self.parts = self.parts.compactMapValues { part in
      if part.upperBound <= range.lowerBound { return part }
      guard part.lowerBound >= range.upperBound else { return nil }
      return part.lowerBound + shift..<part.upperBound + shift
    }
  }

  func run() {
    let folder = Self.makeFolder()
    defer {
      for name in Self.names(in: folder) { unlink("\(folder)/\(name)") }
      rmdir(folder)
    }
    let path = "\(folder)/out.mp4"
    Self.write(self.bytes, to: path)
    let whole = self.parts.keys.compactMap { if case .fragment(let index) = $0 { index } else { nil } }.sorted()
    let hasHead = self.parts[.head]?.lowerBound == 0 || self.parts[.headCopy] != nil
    do throws(VidiconError) {
      let repair = try Recordings.repairNow(
        path, maximumCopiedByteCount: self.copiesMedia ? RecordingSettings.maximumCopiedByteCount : 0)
      guard case .finished(let finished) = repair else { preconditionFailure("an open file is not finished") }
      self.check(finished, in: folder, has: hasHead ? whole : [])
      guard case .wasFinished? = try? Recordings.repairNow(path) else {
        preconditionFailure("a repaired file is finished")
      }
    } catch {
      precondition(!hasHead || whole.isEmpty, "a file with a whole fragment is repaired: \(error)")
      precondition(Self.read(path) == self.bytes && Self.names(in: folder) == ["out.mp4"], "nothing was changed")
    }
  }

  private func check(_ finished: FinishedRecording, in folder: String, has whole: [Int]) {
    let isDamaged = !finished.damage.isEmpty
    precondition(isDamaged == (finished.original != nil), "a damaged file is kept")
    precondition(Self.names(in: folder) == (isDamaged ? ["out.damaged.mp4", "out.mp4"] : ["out.mp4"]))
    if let original = finished.original { precondition(Self.read(original) == self.bytes, "it is kept as it was") }
    precondition(self.isChanged || finished.lostByteCount == 0, "nothing was lost")
    let tracks = Self.samples(of: Self.read(finished.path))
    for fragment in whole {
      for expected in Self.payloads[fragment] {
        precondition(
          tracks.contains { track in
            track.indices.contains { track[$0...].starts(with: expected) }
          }, "the samples of fragment \(fragment) are there")
      }
    }
  }

  /// The samples of each track of a progressive file, by its tables.
  private static func samples(of file: ByteBuffer) -> [[ByteBuffer]] {
    guard let boxes = try? MP4Box.boxes(in: file), let movie = boxes.first(where: { $0.type == "moov" }),
      let tracks = try? movie.children().filter({ $0.type == "trak" })
    else { preconditionFailure("a repaired file parses") }
    return tracks.map { track in
      guard let table = try? track.child("mdia").child("minf").child("stbl"),
        let sizes = Self.numbers(table, "stsz"), let chunks = Self.numbers(table, "stco"),
        let runs = Self.numbers(table, "stsc")
      else { preconditionFailure("a track has its tables") }
      // sample_size, sample_count; entry_count; entry_count with first_chunk, samples_per_chunk and description.
      var rest = sizes.dropFirst(2)
      var samples: [ByteBuffer] = []
      for (index, chunk) in chunks.dropFirst().enumerated() {
        let entries = Array(stride(from: 1, to: runs.count, by: 3))
        guard let entry = entries.last(where: { runs[$0] <= index + 1 }) else {
          preconditionFailure("each chunk has a count")
        }
        var offset = chunk
        for size in rest.prefix(runs[entry + 1]) {
          guard let sample = file.getSlice(at: offset, length: size) else {
            preconditionFailure("samples lie in the file")
          }
          samples.append(sample)
          offset += size
        }
        rest = rest.dropFirst(runs[entry + 1])
      }
      precondition(rest.isEmpty, "each sample is in a chunk")
      return samples
    }
  }

  private static func numbers(_ table: MP4Box, _ type: FourCharacterCode) -> [Int]? {
    guard var content = try? table.child(type).full().content else { return nil }
    var numbers: [Int] = []
    while let number = content.readInteger(as: UInt32.self) { numbers.append(Int(number)) }
    return numbers
  }
}

// MARK: The recording, and its file

extension RepairFuzzCase {
  private static let fragmentCount = 5

  /// The samples of a fragment, video first; each differs from those of the other fragments.
  private static func samples(ofFragment index: Int) -> (video: [EncodedSample], audio: [EncodedSample]) {
    let first = Int64(index)
    let video = (first * 6..<first * 6 + 6).map { number in
      EncodedSample(
        kind: .video, payload: ByteBuffer(repeating: UInt8(number), count: 20 + Int(number % 5)),
        presentationTime: MediaTime(ticks: number, timescale: 6), duration: .ticks(1, timescale: 6),
        isKeyframe: number % 6 == 0)
    }
    let audio = (first * 8..<first * 8 + 8).map { number in
      EncodedSample(
        kind: .audio, payload: ByteBuffer(repeating: UInt8(0x80 + number), count: 5),
        presentationTime: MediaTime(ticks: number * 1024, timescale: 8192), duration: .ticks(1024, timescale: 8192),
        isKeyframe: true)
    }
    return (video, audio)
  }

  /// For each fragment the samples of each track.
  private static let payloads: [[[ByteBuffer]]] = (0..<Self.fragmentCount).map { index in
    let (video, audio) = Self.samples(ofFragment: index)
    return [video.map(\.payload), audio.map(\.payload)]
  }

  /// An unfinished recording of five seconds, as a crash leaves it.
  private static let recording: (bytes: ByteBuffer, parts: [Part: Range<Int>]) = {
    var muxer = FragmentedMP4Muxer([
      .h264(
        H264Description(
          sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68, 2], width: 2, height: 2, frameRate: FrameRate(6))
      ),
      .aac(AACDescription(audioSpecificConfig: [0x15, 0x88], format: AudioFormat(sampleRate: 8192, channelCount: 1))),
    ])
    let head = RecordingHead.open(
      muxer.initializationSegment(), RecordingIdentity(stream: "live", recorder: "out.mp4"),
      RecordingCreation(isClockSynchronized: true, sequenceNumber: 7))
    var bytes = head
    var parts: [Part: Range<Int>] = [.head: 0..<head.readableBytes]
    for index in 0..<Self.fragmentCount {
      let (video, audio) = Self.samples(ofFragment: index)
      let start = bytes.writerIndex
      bytes.writeImmutableBuffer(muxer.fragment(video + audio))
      parts[.fragment(index)] = start..<bytes.writerIndex
      guard index == 0 else { continue }
      HeadCopy(head).serialize(into: &bytes)
      parts[.headCopy] = parts[.fragment(0)]!.upperBound..<bytes.writerIndex
    }
    return (bytes, parts)
  }()

  /// Creates a folder, in memory where that is possible: the repair synchronizes its files to disk.
  private static func makeFolder() -> String {
    let root = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    let folder = "\(root)/vidicon-repair-\(UUID())"
    guard mkdir(folder, 0o700) == 0 else { preconditionFailure("there is a folder for files") }
    return folder
  }

  private static func names(in folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  private static func read(_ path: String) -> ByteBuffer {
    var bytes = ByteBuffer()
    guard let file = fopen(path, "rb") else { return bytes }
    defer { fclose(file) }
    while bytes.writeWithUnsafeMutableBytes(
      minimumWritableBytes: 4096, { fread($0.baseAddress, 1, $0.count, file) }) > 0
    {}
    return bytes
  }

  private static func write(_ bytes: ByteBuffer, to path: String) {
    precondition(FileManager.default.createFile(atPath: path, contents: Data(bytes.readableBytesView)), "there is room")
  }
}
