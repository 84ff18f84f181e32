import Media
import NIOCore
import Testing

@testable import Containers

@Suite("A plain movie out of a fragmented one, ISO/IEC 14496-12 §8.5 to §8.8")
struct ProgressiveMP4Tests {
  /// One sample of the tables of a progressive file.
  private struct Entry: Equatable {
    var offset: UInt64
    var size: UInt32
    var time: UInt64
    var isSync: Bool
  }

  private static let descriptions: [CodecDescription] = [
    .h264(
      H264Description(
        sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 320, height: 240,
        frameRate: 30)),
    .aac(AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))),
  ]

  private static func sample(_ kind: MediaKind, _ index: Int64, of length: Int, isKeyframe: Bool = true)
    -> EncodedSample
  {
    let duration = kind == .video ? MediaDuration.ticks(1, timescale: 30) : .ticks(1024, timescale: 48_000)
    // A nanosecond is rounded down to the tick before.
    let time =
      kind == .video
      ? MediaTime(ticks: index, timescale: 30) + .microseconds(1) : MediaTime(ticks: index * 1024, timescale: 48_000)
    return EncodedSample(
      kind: kind, payload: ByteBuffer(repeating: UInt8(truncatingIfNeeded: index), count: length),
      presentationTime: time, duration: duration, isKeyframe: isKeyframe)
  }

  /// A fragmented file of some seconds: samples of different sizes, a keyframe every 15 frames.
  private func fragmentedFile(seconds: Int64) -> (head: ByteBuffer, fragments: [ByteBuffer]) {
    var muxer = FragmentedMP4Muxer(Self.descriptions)
    let fragments = (0..<seconds).map { second in
      var samples = (second * 30..<second * 30 + 30).map {
        Self.sample(.video, $0, of: 10 + Int($0 % 7), isKeyframe: $0 % 15 == 0)
      }
      samples += (second * 47..<second * 47 + 47).map { Self.sample(.audio, $0, of: 5 + Int($0 % 3)) }
      return muxer.fragment(samples)
    }
    let metadata = MovieMetadata(creationTime: 3_900_000_000, title: "One", orientation: .left)
    return (muxer.initializationSegment(metadata: metadata), fragments)
  }

  private func scan(_ file: ByteBuffer) throws -> MovieScan {
    try MovieScan(length: UInt64(file.readableBytes)) { offset, count in
      file.getSlice(at: Int(offset), length: min(count, file.readableBytes - Int(offset)))
    }
  }

  /// Combines the sample tables of a track to one entry per sample.
  private func entries(_ track: MP4Box) throws -> [Entry] {
    let table = try track.child("mdia").child("minf").child("stbl")
    func numbers(_ type: FourCharacterCode) throws -> [UInt32] {
      guard let box = try table.children().first(where: { $0.type == type }) else { return [] }
      var content = try box.full().content
      var numbers: [UInt32] = []
      while let number = content.readInteger(as: UInt32.self) { numbers.append(number) }
      return numbers
    }
    let sizes = try numbers("stsz").dropFirst(2)
    let times = try numbers("stts").dropFirst()
    let sync = Set(try numbers("stss").dropFirst())
    let hasSync = try !numbers("stss").isEmpty
    var chunks = try numbers("stco").dropFirst().map(UInt64.init)
    let large = try numbers("co64").dropFirst()
    if !large.isEmpty {
      chunks = stride(from: large.startIndex, to: large.endIndex, by: 2).map {
        UInt64(large[$0]) << 32 | UInt64(large[$0 + 1])
      }
    }
    let runs = Array(try numbers("stsc").dropFirst())
    var durations: [UInt32] = []
    for index in stride(from: times.startIndex, to: times.endIndex, by: 2) {
      durations += Array(repeating: times[index + 1], count: Int(times[index]))
    }
    var entries: [Entry] = []
    var time: UInt64 = 0
    for (index, chunk) in chunks.enumerated() {
      var offset = chunk
      let run = Array(stride(from: 0, to: runs.count, by: 3)).last { runs[$0] <= UInt32(index + 1) } ?? 0
      for _ in 0..<runs[run + 1] {
        let size = sizes[sizes.startIndex + entries.count]
        let isSync = !hasSync || sync.contains(UInt32(entries.count + 1))
        entries.append(Entry(offset: offset, size: size, time: time, isSync: isSync))
        offset += UInt64(size)
        time += UInt64(durations[entries.count - 1])
      }
    }
    #expect(entries.count == sizes.count && entries.count == durations.count)
    return entries
  }

  /// The plain file, and the tracks of its `moov`.
  private func plain(_ file: ByteBuffer) throws -> (file: ByteBuffer, moov: MP4Box, tracks: [MP4Box]) {
    let scan = try self.scan(file)
    var plain = scan.movie.serializeStart(note: ByteBuffer())
    for range in scan.data {
      plain.writeImmutableBuffer(file.getSlice(at: Int(range.lowerBound), length: range.count)!)
    }
    let boxes = try MP4Box.boxes(in: plain)
    #expect(boxes.map(\.type) == ["ftyp", "moov", "mdat"])
    return (plain, boxes[1], try boxes[1].children().filter { $0.type == "trak" })
  }

  @Test func `each sample is found by the tables, with its bytes, time and keyframe mark`() throws {
    let (head, fragments) = self.fragmentedFile(seconds: 5)
    let (file, _, tracks) = try self.plain(fragments.reduce(into: head) { $0.writeImmutableBuffer($1) })
    let video = try self.entries(tracks[0])
    let audio = try self.entries(tracks[1])
    #expect(video.count == 150 && audio.count == 235)
    for (index, entry) in video.enumerated() {
      #expect(entry.time == UInt64(index) * 3000)
      #expect(entry.isSync == (index % 15 == 0))
      let sample = Self.sample(.video, Int64(index), of: 10 + index % 7)
      #expect(file.getSlice(at: Int(entry.offset), length: Int(entry.size)) == sample.payload)
    }
    for (index, entry) in audio.enumerated() {
      #expect(entry.time == UInt64(index) * 1024)
      #expect(entry.isSync)
      let sample = Self.sample(.audio, Int64(index), of: 5 + index % 3)
      #expect(file.getSlice(at: Int(entry.offset), length: Int(entry.size)) == sample.payload)
    }
  }

  @Test func `headers get the durations, keep other fields, and lose the fragments`() throws {
    let (head, fragments) = self.fragmentedFile(seconds: 5)
    let (_, moov, tracks) = try self.plain(fragments.reduce(into: head) { $0.writeImmutableBuffer($1) })
    #expect(try moov.children().map(\.type) == ["mvhd", "trak", "trak", "udta"])
    let header = try moov.child("mvhd").full().content
    // creation_time, modification_time, timescale, duration
    #expect(
      header.getMultipleIntegers(at: header.readerIndex, as: (UInt32, UInt32, UInt32, UInt32).self)! == (
        3_900_000_000, 3_900_000_000, 1000, 5013
      ))
    for (track, (timescale, duration)) in zip(tracks, [(UInt32(90_000), UInt32(450_000)), (48_000, 240_640)]) {
      let media = try track.child("mdia").child("mdhd").full().content
      #expect(media.getMultipleIntegers(at: media.readerIndex + 8, as: (UInt32, UInt32).self)! == (timescale, duration))
      #expect(try !track.children().contains { $0.type == "edts" })
    }
    // Turned left: a and d zero, b -1, c 1.
    let matrix = try tracks[0].child("tkhd").full().content
    let turn = try #require(
      matrix.getMultipleIntegers(at: matrix.readerIndex + 36, as: (Int32, Int32, Int32, Int32, Int32).self))
    #expect(turn == (0, -65_536, 0, 65_536, 0))
  }

  @Test func `a track that starts later has an empty edit, and one without samples is left out`() throws {
    var muxer = FragmentedMP4Muxer(Self.descriptions)
    var file = muxer.initializationSegment()
    file.writeImmutableBuffer(muxer.fragment((0..<60).map { Self.sample(.video, $0, of: 10) }))
    #expect(try self.plain(file).tracks.count == 1)
    file.writeImmutableBuffer(muxer.fragment((47..<94).map { Self.sample(.audio, $0, of: 5) }))
    let tracks = try self.plain(file).tracks
    #expect(try !tracks[0].children().contains { $0.type == "edts" })
    var edits = try tracks[1].child("edts").child("elst").full().content
    #expect(edits.readInteger(as: UInt32.self) == 2)
    let empty = edits.readMultipleIntegers(as: (UInt64, Int64, UInt32).self)
    let media = edits.readMultipleIntegers(as: (UInt64, Int64, UInt32).self)
    // 47 frames are 1.0027 s.
    #expect(empty! == (1002, -1, 0x1_0000))
    #expect(media! == (1002, 0, 0x1_0000))
  }

  @Test func `a gap makes the sample before it last longer`() throws {
    var muxer = FragmentedMP4Muxer(Self.descriptions)
    var file = muxer.initializationSegment()
    file.writeImmutableBuffer(muxer.fragment((0..<30).map { Self.sample(.video, $0, of: 10) }))
    file.writeImmutableBuffer(muxer.fragment((90..<120).map { Self.sample(.video, $0, of: 10) }))
    let entries = try self.entries(self.plain(file).tracks[0])
    #expect(entries[29].time == 29 * 3000)
    #expect(entries[30].time == 90 * 3000)
  }

  @Test func `offsets beyond 4 GiB take 64 bits, and durations beyond 13 hours too`() throws {
    let head = FragmentedMP4Muxer(Self.descriptions).initializationSegment()
    let moov = try #require(try MP4Box.boxes(in: head).first { $0.type == "moov" })
    var movie = try ProgressiveMP4(parsing: moov)
    for fragment in 0..<5 {
      let track = TrackFragment(
        trackID: 1, baseDecodeTime: UInt64(fragment) << 30,
        samples: [.init(duration: 1 << 30, size: 1 << 30, flags: .sync)], dataOffset: 100)
      var bytes = ByteBuffer()
      track.serialize(into: &bytes, defaults: TrackExtends(trackID: 1, defaultDuration: 0, defaultFlags: .sync))
      try movie.append(moof: MP4Box(type: "moof", content: bytes, offset: 0), data: 100..<100 + 1 << 30)
    }
    #expect(movie.dataLength == 5 << 30)
    var start = movie.serializeStart(note: ByteBuffer())
    let length = UInt64(start.readableBytes)
    let track = try #require(
      try MP4Box.boxes(in: start.getSlice(at: 0, length: start.readableBytes - 16)!)[1].children().first {
        $0.type == "trak"
      })
    #expect(try self.entries(track).map(\.offset) == (0..<5).map { length + UInt64($0) << 30 })
    #expect(try track.child("mdia").child("mdhd").full().version == 1)
    start.moveReaderIndex(to: start.readableBytes - 16)
    #expect(start.readMultipleIntegers(as: (UInt32, UInt32, UInt64).self)! == (1, 0x6D64_6174, 5 << 30 + 16))
  }

  @Test func `every prefix contains the fragments that are complete in it`() throws {
    let (head, fragments) = self.fragmentedFile(seconds: 2)
    let file = fragments.reduce(into: head) { $0.writeImmutableBuffer($1) }
    let ends = [head.readableBytes, head.readableBytes + fragments[0].readableBytes, file.readableBytes]
    for length in 0...file.readableBytes {
      let cut = file.getSlice(at: 0, length: length)!
      guard length >= ends[0] else {
        #expect(throws: ParsingError.self) { try self.scan(cut) }
        continue
      }
      let scan = try self.scan(cut)
      let whole = ends.last { $0 <= length }
      #expect(scan.end == UInt64(whole ?? 0))
      #expect(scan.movie.sampleCount == (ends.firstIndex(of: whole ?? 0) ?? 0) * 77)
    }
  }

  @Test func `a fragment whose samples are not in its own media data ends the file`() throws {
    let (head, fragments) = self.fragmentedFile(seconds: 3)
    var file = head
    file.writeImmutableBuffer(fragments[0])
    var broken = fragments[1]
    // The first run's data_offset: moof, mfhd, traf, tfhd, tfdt, and trun's head.
    let place = 8 + 16 + 8 + 16 + 20 + 16
    broken.setInteger(Int32(7), at: place)
    file.writeImmutableBuffer(broken)
    file.writeImmutableBuffer(fragments[2])
    #expect(try self.scan(file).movie.sampleCount == 77)
  }

  @Test func `a progressive file is distinguished from a fragmented one`() throws {
    let (head, fragments) = self.fragmentedFile(seconds: 1)
    let plain = try self.plain(fragments.reduce(into: head) { $0.writeImmutableBuffer($1) }).file
    #expect(throws: ParsingError(.missing, field: "mvex", offset: 0)) { try self.scan(plain) }
    #expect(throws: ParsingError(.missing, field: "ftyp")) { try self.scan(ByteBuffer(string: "no movie at all")) }
  }
}
