import Bitstreams
import Media
import NIOCore
import Testing

@testable import Containers

@Suite("Fragmented MP4 muxer, ISO/IEC 14496-12 §8.8")
struct FragmentedMP4MuxerTests {
  private let start = MediaTime.zero + .seconds(100)

  /// A fragment's samples with their bytes.
  private func read(
    _ fragment: ByteBuffer, of muxer: FragmentedMP4Muxer
  ) throws -> (table: MovieFragment, payloads: [UInt32: [ByteBuffer]]) {
    let moov = try #require(try MP4Box.boxes(in: muxer.initializationSegment()).last)
    let extends = try moov.child("mvex").children().map { box in try TrackExtends(parsing: box) }
    let boxes = try MP4Box.boxes(in: fragment)
    #expect(boxes.map(\.type) == ["moof", "mdat"])
    let table = try MovieFragment(parsing: boxes[0], extends: extends)
    var payloads: [UInt32: [ByteBuffer]] = [:]
    var end = 0
    for track in table.tracks {
      var offset = Int(track.dataOffset)
      for sample in track.samples {
        let payload = fragment.getSlice(at: fragment.readerIndex + offset, length: Int(sample.size))
        payloads[track.trackID, default: []].append(try #require(payload))
        offset += Int(sample.size)
      }
      end = offset
    }
    #expect(end == fragment.readableBytes, "the data ends with the last sample")
    return (table, payloads)
  }

  @Test func `a fragment is written field by field`() {
    var muxer = FragmentedMP4Muxer([TestSamples.h264, TestSamples.aac])
    let fragment = muxer.fragment(
      [
        TestSamples.videoSample(at: self.start, size: 2, isKeyframe: true),
        TestSamples.audioSample(at: self.start, size: 3),
        TestSamples.videoSample(at: self.start + .milliseconds(40), size: 1),
      ], nextVideoDecodeTime: self.start + .milliseconds(70))
    let rows: [[UInt8]] = [
      [0, 0, 0, 0xB0], Array("moof".utf8),
      [0, 0, 0, 0x10], Array("mfhd".utf8), [0, 0, 0, 0],
      [0, 0, 0, 1],  // sequence_number
      [0, 0, 0, 0x54], Array("traf".utf8),
      [0, 0, 0, 0x10], Array("tfhd".utf8), [0, 0x02, 0, 0],  // default-base-is-moof
      [0, 0, 0, 1],  // track_ID
      [0, 0, 0, 0x14], Array("tfdt".utf8), [1, 0, 0, 0],
      [0, 0, 0, 0, 0, 0x89, 0x54, 0x40],  // 100 s at 90 kHz
      [0, 0, 0, 0x28], Array("trun".utf8),
      [1, 0, 0x03, 0x05],  // durations, sizes, first flags, data offset
      [0, 0, 0, 2],  // sample_count
      [0, 0, 0, 0xB8],  // data_offset: 176 + 8
      [0x02, 0, 0, 0],  // first_sample_flags: depends on none, sync
      [0, 0, 0x0E, 0x10, 0, 0, 0, 6],  // 3600 ticks, 6 bytes
      [0, 0, 0x0A, 0x8C, 0, 0, 0, 5],  // 2700 ticks, 5 bytes
      [0, 0, 0, 0x44], Array("traf".utf8),
      [0, 0, 0, 0x10], Array("tfhd".utf8), [0, 0x02, 0, 0], [0, 0, 0, 2],
      [0, 0, 0, 0x14], Array("tfdt".utf8), [1, 0, 0, 0],
      [0, 0, 0, 0, 0, 0x49, 0x3E, 0x00],  // 100 s at 48 kHz
      [0, 0, 0, 0x18], Array("trun".utf8),
      [1, 0, 0x02, 0x01],  // sizes, data offset
      [0, 0, 0, 1], [0, 0, 0, 0xC3],  // 176 + 8 + 11
      [0, 0, 0, 3],  // 3 bytes
      [0, 0, 0, 0x16], Array("mdat".utf8),
      [0, 0, 0, 2, 0x65, 0x01], [0, 0, 0, 1, 0x41], [0, 1, 2],
    ]
    #expect(Array(fragment.readableBytesView) == rows.flatMap { $0 })
  }

  @Test func `captured video and audio are parsed with times and sizes`() throws {
    let (h264, videoSamples) = try TestSamples.capturedVideo()
    let (aac, audioSamples) = try TestSamples.capturedAudio()
    var muxer = FragmentedMP4Muxer([.aac(aac), .h264(h264)])
    let (table, payloads) = try self.read(muxer.fragment(audioSamples + videoSamples), of: muxer)
    #expect(table.sequenceNumber == 1)
    #expect(table.tracks.map(\.trackID) == [1, 2])
    #expect(payloads == [1: videoSamples.map(\.payload), 2: audioSamples.map(\.payload)])
    #expect(table.tracks[0].samples.map(\.duration) == [3600, 3600, 3600, 3600, 3600])
    #expect(table.tracks[0].samples.map(\.flags.isSync) == [true, false, false, true, false])
    #expect(table.tracks[1].samples.allSatisfy { $0.duration == 1024 && $0.flags.isSync })
  }

  @Test func `irregular frames keep their times across fragments when the next one is known`() throws {
    let times = [0, 31, 69, 100, 134, 165, 201, 233].map { self.start + .milliseconds($0) }
    var muxer = FragmentedMP4Muxer([TestSamples.h264])
    var found: [UInt64] = []
    var end: UInt64?
    for first in stride(from: 0, to: 8, by: 2) {
      let videoSamples = times[first..<first + 2].map { TestSamples.videoSample(at: $0, isKeyframe: true) }
      let fragment = muxer.fragment(videoSamples, nextVideoDecodeTime: first + 2 < 8 ? times[first + 2] : nil)
      let track = try self.read(fragment, of: muxer).table.tracks[0]
      #expect(track.baseDecodeTime == end ?? track.baseDecodeTime, "no gap, no overlap")
      var time = track.baseDecodeTime
      for sample in track.samples {
        found.append(time)
        time += UInt64(sample.duration)
      }
      end = time
    }
    #expect(found == times.map { UInt64($0.ticks(timescale: 90_000)) })
    let last = UInt64(times[7].ticks(timescale: 90_000))
    #expect(end == last + 3000, "as long as it says")
  }

  @Test func `without the next frame fragments are contiguous, and times do not drift`() throws {
    var muxer = FragmentedMP4Muxer([TestSamples.h264])
    var end: UInt64?
    for index in 0..<100 {
      let jitter = MediaDuration.milliseconds([0, 7, -6, 3][index % 4])
      let time = FrameRate(30).time(ofFrame: Int64(index), from: self.start) + jitter
      let track = try self.read(muxer.fragment([TestSamples.videoSample(at: time)]), of: muxer).table.tracks[0]
      if let end { #expect(track.baseDecodeTime >= end, "no overlap") }
      let error = abs(Int64(track.baseDecodeTime) - time.ticks(timescale: 90_000))
      let limit: Int64 = 20 * 90
      #expect(error < limit)
      end = track.baseDecodeTime + UInt64(track.samples[0].duration)
    }
    let late = self.start + .seconds(60)
    let track = try self.read(muxer.fragment([TestSamples.videoSample(at: late)]), of: muxer).table.tracks[0]
    #expect(track.baseDecodeTime == 160 * 90_000, "a pause is a gap")
  }

  @Test func `audio is contiguous, and follows the clock beyond half a frame`() throws {
    var muxer = FragmentedMP4Muxer([TestSamples.aac])
    /// Milliseconds that a frame is off its even place.
    func frames(_ offsets: [Int64], from first: Int64) -> [EncodedSample] {
      offsets.enumerated().map { index, offset in
        TestSamples.audioSample(
          at: self.start + .ticks((first + Int64(index)) * 1024, timescale: 48_000) + .milliseconds(offset))
      }
    }
    let even = try self.read(muxer.fragment(frames([0, 9, -9, 0], from: 0)), of: muxer).table.tracks[0]
    #expect(even.baseDecodeTime == 4_800_000)
    #expect(even.samples.map(\.duration) == [1024, 1024, 1024, 1024])
    // 20 ms are 960 samples: a gap inside a fragment lengthens the frame before it.
    let gap = try self.read(muxer.fragment(frames([0, 20, 20], from: 4)), of: muxer).table.tracks[0]
    #expect(gap.baseDecodeTime == 4_804_096)
    #expect(gap.samples.map(\.duration) == [1984, 1024, 1024])
    // Back by 20 ms: the first frame lies in time that has been taken.
    let back = try self.read(muxer.fragment(frames([0, 0], from: 7)), of: muxer).table.tracks[0]
    #expect(back.samples.count == 1)
    let place: UInt64 = 4_800_000 + 7 * 1024 + 960
    #expect(back.baseDecodeTime == place)
    #expect(muxer.skippedSampleCount == 1)
  }

  @Test func `other codecs have another initialization segment, and times and fragment numbers continue`() throws {
    var muxer = FragmentedMP4Muxer([TestSamples.h264, TestSamples.aac])
    let samples = TestSamples.stream(seconds: 1, from: self.start)
    let first = try self.read(muxer.fragment(samples), of: muxer).table
    #expect(first.tracks.map(\.trackID) == [1, 2])
    let before = muxer.initializationSegment()
    muxer.change(to: [TestSamples.h264, TestSamples.aac])
    #expect(muxer.initializationSegment() == before, "equal descriptions change nothing")

    // 44.1 kHz counts in its own timescale, without video.
    let other = CodecDescription.aac(
      AACDescription(audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: 44_100, channelCount: 1)))
    muxer.change(to: [other])
    #expect(muxer.descriptions == [other])
    #expect(muxer.initializationSegment() != before)
    let next = [
      TestSamples.videoSample(at: self.start + .seconds(1)),
      TestSamples.audioSample(at: self.start + .seconds(1), sampleRate: 44_100),
    ]
    let second = try self.read(muxer.fragment(next), of: muxer).table
    #expect(second.sequenceNumber == 2)
    #expect(second.tracks.map(\.trackID) == [1])
    #expect(second.tracks.map(\.baseDecodeTime) == [101 * 44_100])
    #expect(muxer.skippedSampleCount == 1, "the video sample")

    // Video resumes at its time; the timeline of its track continued.
    muxer.change(to: [TestSamples.h264, TestSamples.aac])
    let third = try self.read(muxer.fragment([TestSamples.videoSample(at: self.start + .seconds(2))]), of: muxer).table
    #expect(third.sequenceNumber == 3)
    #expect(third.tracks.map(\.baseDecodeTime) == [102 * 90_000])
  }

  @Test func `audio does not overlap across a change of the codec`() throws {
    var muxer = FragmentedMP4Muxer([TestSamples.aac])
    func frames(_ range: Range<Int64>) -> [EncodedSample] {
      range.map { TestSamples.audioSample(at: self.start + .ticks($0 * 1024, timescale: 48_000)) }
    }
    _ = muxer.fragment(frames(0..<10))
    let other = CodecDescription.aac(
      AACDescription(audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: 44_100, channelCount: 1)))
    muxer.change(to: [other])
    // The time of frames 8 and 9 is written already: the previous encoder ended with frame 9.
    let table = try self.read(muxer.fragment(frames(8..<12)), of: muxer).table
    let end = self.start + .ticks(10 * 1024, timescale: 48_000)
    #expect(table.tracks[0].samples.count == 2)
    #expect(muxer.skippedSampleCount == 2)
    // Rounded to the nearest sample of the new rate, at most half a frame of it early.
    #expect(Int64(table.tracks[0].baseDecodeTime) >= end.ticks(timescale: 44_100))
  }

  @Test func `composition offsets and keyframes inside a fragment are written`() throws {
    var muxer = FragmentedMP4Muxer([TestSamples.h264])
    let times: [(Int64, Int64)] = [(0, 33), (33, 100), (66, 66), (99, 133)]
    let videoSamples = times.map {
      TestSamples.videoSample(
        at: self.start + .milliseconds($0.1), isKeyframe: $0.0 == 66, decodeTime: self.start + .milliseconds($0.0))
    }
    let samples = try self.read(muxer.fragment(videoSamples), of: muxer).table.tracks[0].samples
    let offsets: [Int32] = [2970, 6030, 0, 3060]
    #expect(samples.map(\.compositionOffset) == offsets)
    #expect(samples.map(\.flags.isSync) == [false, false, true, false])
  }

  @Test func `unusable samples are left out and counted`() {
    var muxer = FragmentedMP4Muxer([TestSamples.h264])
    let early = TestSamples.videoSample(at: MediaTime(nanoseconds: -1))
    #expect(muxer.fragment([TestSamples.audioSample(at: self.start), early]).readableBytes == 0)
    #expect(muxer.fragment([]).readableBytes == 0)
    #expect(muxer.skippedSampleCount == 2)
    #expect(muxer.sequenceNumber == 0)
    for nanoseconds in [Int64.min, 0, .max] {
      var muxer = FragmentedMP4Muxer([TestSamples.h264, TestSamples.aac])
      let time = MediaTime(nanoseconds: nanoseconds)
      let samples = [
        TestSamples.videoSample(at: time), TestSamples.audioSample(at: time), TestSamples.videoSample(at: .zero),
      ]
      _ = muxer.fragment(samples + samples)
    }
  }

  @Test func `a player can start with a fragment whose first frame is a keyframe`() {
    let key = TestSamples.videoSample(at: self.start, isKeyframe: true)
    let other = TestSamples.videoSample(at: self.start)
    let audioSample = TestSamples.audioSample(at: self.start)
    #expect(FragmentedMP4Muxer.isIndependent([audioSample, key, other]))
    #expect(!FragmentedMP4Muxer.isIndependent([other, key]))
    #expect(FragmentedMP4Muxer.isIndependent([audioSample]))
    #expect(!FragmentedMP4Muxer.isIndependent([]))
  }

  @Test func `the initialization segment describes both tracks`() throws {
    let muxer = FragmentedMP4Muxer([TestSamples.h264, TestSamples.aac])
    let boxes = try MP4Box.boxes(in: muxer.initializationSegment())
    #expect(boxes.map(\.type) == ["ftyp", "moov"])
    #expect(try boxes[1].children().map(\.type) == ["mvhd", "trak", "trak", "mvex"])
    let tables = try boxes[1].children().filter { $0.type == "trak" }.map { track in
      try track.child("mdia").child("minf").child("stbl").child("stsd")
    }
    let video = try #require(try tables[0].children(skipping: 8).first)
    #expect(video.type == "avc1")
    let configuration = try #require(try video.children(skipping: 78).first { $0.type == "avcC" })
    let sets = TestSamples.sequenceParameterSet
    let expected: [[UInt8]] = [
      [1, 0x64, 0x00, 0x1F, 0xFF, 0xE1], [0, UInt8(sets.count)], sets,
      [1, 0, UInt8(TestSamples.pictureParameterSet.count)], TestSamples.pictureParameterSet,
      [0xFD, 0xF8, 0xF8, 0],  // 4:2:0, 8 bits, 8 bits, no extensions
    ]
    #expect(Array(configuration.content.readableBytesView) == expected.flatMap { $0 })
    let audioSample = try #require(try tables[1].children(skipping: 8).first)
    #expect(audioSample.type == "mp4a")
    let descriptor = try #require(try audioSample.children(skipping: 28).first { $0.type == "esds" })
    let descriptors: [[UInt8]] = [
      [0, 0, 0, 0],  // version and flags
      [3, 0x80, 0x80, 0x80, 0x22, 0, 0, 0],  // ES_Descriptor
      [4, 0x80, 0x80, 0x80, 0x14, 0x40, 0x15], [UInt8](repeating: 0, count: 11),  // MPEG-4 audio
      [5, 0x80, 0x80, 0x80, 0x02, 0x11, 0x90],  // AudioSpecificConfig
      [6, 0x80, 0x80, 0x80, 0x01, 0x02],  // SLConfigDescriptor
    ]
    #expect(Array(descriptor.content.readableBytesView) == descriptors.flatMap { $0 })
  }
}
