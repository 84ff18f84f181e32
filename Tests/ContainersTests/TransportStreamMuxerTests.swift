import Bitstreams
import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

@Suite("MPEG-TS muxer, ISO/IEC 13818-1")
struct TransportStreamMuxerTests {
  private func packets(
    _ events: [TransportStreamDemuxer.Event], _ identifier: UInt16
  ) -> [(packet: PESPacket, isRandomAccess: Bool)] {
    events.compactMap {
      guard case .packet(let packet, let isRandomAccess, identifier) = $0 else { return nil }
      return (packet, isRandomAccess)
    }
  }

  @Test func `a keyframe is one packet with clock, time, delimiter and parameter sets`() {
    let bytes = Array(
      MuxedStream.mux([TestSamples.videoSample(at: .zero + .seconds(1), size: 3, isKeyframe: true)]).readableBytesView
        .dropFirst(376))
    var expected: [UInt8] = [
      0x47, 0x41, 0x00, 0x30,  // payload start, PID 0x100, adaptation field and payload, counter 0
    ]
    let sets = [0, 0, 0, 1] + TestSamples.sequenceParameterSet + [0, 0, 0, 1] + TestSamples.pictureParameterSet
    let payload: [UInt8] =
      [
        0x00, 0x00, 0x01, 0xE0,  // packet_start_code_prefix, stream_id
        0x00, 0x00,  // PES_packet_length: unbounded
        0x84, 0x80, 0x05,  // aligned; PTS; 5 bytes
        0x21, 0x00, 0x07, 0x92, 0x11,  // 1.3 s: 117,000 = 3 × 2¹⁵ + 0x4908
        0x00, 0x00, 0x00, 0x01, 0x09, 0xF0,  // access unit delimiter
      ] + sets + [0x00, 0x00, 0x00, 0x01, 0x65, 0x01, 0x03]
    let adaptation = 184 - payload.count
    expected += [
      UInt8(adaptation - 1), 0x50,  // adaptation_field_length; random access, clock
      0x00, 0x00, 0xAF, 0xC8, 0x7E, 0x00,  // 1 s: 90,000 in 33 bits, 6 ones, extension 0
    ]
    expected += [UInt8](repeating: 0xFF, count: adaptation - 8) + payload
    #expect(bytes == expected)
  }

  @Test func `a payload of any length fills packets exactly and is demultiplexed unchanged`() throws {
    for size in 1...600 {
      let videoSample = TestSamples.videoSample(at: .zero + .seconds(1), size: size)
      let events = MuxedStream.demux(MuxedStream.mux([videoSample]))
      let unit = try #require(self.packets(events, 0x100).first).packet.payload
      #expect(H264AccessUnit(parsingAnnexB: unit).payload == videoSample.payload)
    }
  }

  @Test func `captured video and audio are demultiplexed with their times`() throws {
    let (h264, videoSamples) = try TestSamples.capturedVideo()
    let (aac, audioSamples) = try TestSamples.capturedAudio()
    #expect(videoSamples.map(\.isKeyframe) == [true, false, false, true, false])
    let samples = (videoSamples + audioSamples).sorted { $0.decodeTime < $1.decodeTime }
    let events = MuxedStream.demux(MuxedStream.mux(samples, [.h264(h264), .aac(aac)]))

    let units = self.packets(events, 0x100)
    #expect(units.map { H264AccessUnit(parsingAnnexB: $0.packet.payload).payload } == videoSamples.map(\.payload))
    #expect(units.map(\.isRandomAccess) == videoSamples.map(\.isKeyframe))
    #expect(units.map(\.packet.presentationTimestamp) == [27_000, 30_600, 34_200, 37_800, 41_400])
    for (unit, videoSample) in zip(units, videoSamples) {
      let sets = H264AccessUnit(parsingAnnexB: unit.packet.payload).sequenceParameterSets.map {
        Array($0.readableBytesView)
      }
      #expect(sets == (videoSample.isKeyframe ? [h264.sequenceParameterSet] : []))
    }

    var frames: [ByteBuffer] = []
    for (packet, _) in self.packets(events, 0x101) {
      let time = MediaTime(ticks: Int64(frames.count) * 1024, timescale: 44_100) + .milliseconds(300)
      #expect(packet.presentationTimestamp == UInt64(time.ticks(timescale: 90_000)))
      var rest = packet.payload
      while rest.readableBytes > 0 {
        let header = try ADTSHeader(parsing: &rest)
        #expect(header.samplingFrequency == 44_100 && header.channelConfiguration == 1)
        let frame = rest.readSlice(length: header.payloadLength)
        frames.append(try #require(frame))
      }
    }
    #expect(frames == audioSamples.map(\.payload))
  }

  @Test func `times wrap at 33 bits together with the clock`() throws {
    // 2³³ ticks of 90 kHz are 95,443.7 s.
    let start = MediaTime(ticks: 1 << 33, timescale: 90_000) - .milliseconds(350)
    let events = MuxedStream.demux(
      MuxedStream.mux((0..<4).map { TestSamples.videoSample(at: start + .milliseconds($0 * 40)) }))
    let times = self.packets(events, 0x100).compactMap(\.packet.presentationTimestamp)
    #expect(times == [0x1_FFFF_EE6B, 0x1_FFFF_FC7B, 2699, 6299])
    let late = MediaTime(ticks: 1 << 33, timescale: 90_000) + MediaDuration(nanoseconds: 1)
    let clocks = MuxedStream([TestSamples.videoSample(at: late)]).clocks
    #expect(clocks == [0])
    let early = MuxedStream([TestSamples.videoSample(at: MediaTime(nanoseconds: -1))]).clocks
    // 2³³ × 300 ticks of 27 MHz, less one.
    #expect(early == [2_576_980_377_599])
  }

  @Test func `a decoding time is written only if it differs`() throws {
    let time = MediaTime.zero + .seconds(2)
    let events = MuxedStream.demux(
      MuxedStream.mux([
        TestSamples.videoSample(at: time + .milliseconds(80), decodeTime: time), TestSamples.videoSample(at: time),
      ]))
    let packets = self.packets(events, 0x100).map(\.packet)
    #expect(packets.map(\.presentationTimestamp) == [214_200, 207_000])
    #expect(packets.map(\.decodeTimestamp) == [207_000, nil])
  }

  @Test func `up to 100 ms of audio share a packet, and a gap in time ends it`() {
    let start = MediaTime.zero + .seconds(5)
    let frames = (0..<20).map { index in
      TestSamples.audioSample(
        at: start + .ticks(Int64(index) * 1024, timescale: 48_000) + .milliseconds(index < 12 ? 0 : 50))
    }
    let packets = self.packets(MuxedStream.demux(MuxedStream.mux(frames, [TestSamples.aac])), 0x101)
    #expect(packets.map { $0.packet.payload.readableBytes / 177 } == [5, 5, 2, 5, 3])
    #expect(packets.allSatisfy { $0.isRandomAccess })
    let firsts: [Int64] = [0, 5, 10, 12, 17]
    let times = firsts.map {
      UInt64(
        (start + .ticks($0 * 1024, timescale: 48_000) + .milliseconds($0 < 12 ? 300 : 350)).ticks(timescale: 90_000))
    }
    #expect(packets.map(\.packet.presentationTimestamp) == times)
  }

  @Test func `long audio frames do not overflow a packet's length`() {
    let frames = (0..<40).map {
      TestSamples.audioSample(at: .zero + .milliseconds($0 * 2), size: 8184)
    }
    let packets = self.packets(MuxedStream.demux(MuxedStream.mux(frames, [TestSamples.aac])), 0x101)
    #expect(packets.reduce(0) { $0 + $1.packet.payload.readableBytes } == 40 * 8191)
  }

  @Test func `continuity counters continue across segments, and each segment can be demultiplexed by itself`() throws {
    var muxer = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    var segments: [ByteBuffer] = []
    for sample in TestSamples.stream(seconds: 4) {
      if sample.isKeyframe, sample.kind == .video {
        if !segments.isEmpty { muxer.flush(into: &segments[segments.count - 1]) }
        segments.append(ByteBuffer())
        muxer.startSegment(into: &segments[segments.count - 1])
      }
      muxer.mux(sample, into: &segments[segments.count - 1])
    }
    muxer.flush(into: &segments[segments.count - 1])
    #expect(segments.count == 4)
    for segment in segments {
      let events = MuxedStream.demux(segment)
      #expect(events.first == .programMap(ProgramTablesTests.programMap))
      #expect(self.packets(events, 0x100).count == 30)
      #expect(self.packets(events, 0x100).first?.isRandomAccess == true)
    }
    let whole = segments.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
    let events = MuxedStream.demux(whole)
    #expect(events.count { if case .programMap = $0 { true } else { false } } == 1)
    #expect(self.packets(events, 0x100).count == 120)
  }

  @Test func `other codecs have the next version of the program map, and counters continue`() throws {
    var muxer = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    var buffer = ByteBuffer()
    muxer.startSegment(into: &buffer)
    muxer.mux(TestSamples.videoSample(at: .zero + .seconds(1), isKeyframe: true), into: &buffer)
    muxer.change(to: [TestSamples.h264, TestSamples.aac])
    muxer.startSegment(into: &buffer)
    muxer.change(to: [TestSamples.aac])
    muxer.startSegment(into: &buffer)
    muxer.mux(TestSamples.audioSample(at: .zero + .seconds(1)), into: &buffer)
    muxer.flush(into: &buffer)
    let maps = MuxedStream.demux(buffer).compactMap { if case .programMap(let map) = $0 { map } else { nil } }
    #expect(
      maps == [
        ProgramTablesTests.programMap,
        ProgramMap(
          version: 1, clockPacketIdentifier: 0x101, streams: [.init(type: .adtsAAC, packetIdentifier: 0x101)]),
      ])
    for index in 0..<40 { muxer.change(to: index.isMultiple(of: 2) ? [TestSamples.h264] : [TestSamples.aac]) }
    var last = ByteBuffer()
    muxer.startSegment(into: &last)
    guard case .programMap(let map) = MuxedStream.demux(last).first else {
      Issue.record("no map")
      return
    }
    #expect(map.version == 41 % 32)
  }

  @Test func `samples that cannot be muxed are counted and write nothing`() {
    var muxer = TransportStreamMuxer([TestSamples.h264])
    var buffer = ByteBuffer()
    let time = MediaTime.zero
    func video(_ bytes: [UInt8]) -> EncodedSample {
      EncodedSample(
        kind: .video, payload: ByteBuffer(bytes: bytes), presentationTime: time, duration: .zero, isKeyframe: false)
    }
    muxer.mux(TestSamples.audioSample(at: time), into: &buffer)  // not described
    muxer.mux(video([]), into: &buffer)
    muxer.mux(video([0, 0, 0, 0]), into: &buffer)  // an empty NAL unit
    muxer.mux(video([0, 0, 0, 2, 0x09, 0xF0]), into: &buffer)  // only a delimiter
    muxer.mux(video([0, 0, 0, 3, 0x41, 0x01]), into: &buffer)  // a length beyond the end
    muxer.change(to: [TestSamples.aac])
    muxer.mux(TestSamples.audioSample(at: time, size: 8185), into: &buffer)  // longer than an ADTS frame
    muxer.mux(TestSamples.audioSample(at: time, size: 0), into: &buffer)
    muxer.flush(into: &buffer)
    #expect(buffer.readableBytes == 0)
    #expect(muxer.skippedSampleCount == 7)
  }

  @Test func `times at the ends of the clock do not trap`() {
    for nanoseconds in [Int64.min, -1, 0, .max] {
      let time = MediaTime(nanoseconds: nanoseconds)
      let stream = MuxedStream([
        TestSamples.videoSample(at: time), TestSamples.audioSample(at: time), TestSamples.videoSample(at: .zero),
      ])
      let sampleCount = MuxedStream.demux(stream.bytes).count { if case .packet = $0 { true } else { false } }
      #expect(sampleCount + stream.skippedSampleCount == 3, "\(nanoseconds)")
    }
  }

  @Test(arguments: [true, false])
  func `a muxer that continues another one's segments announces that its counters do not`(isContinuation: Bool) {
    var first = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    var second = TransportStreamMuxer([TestSamples.h264, TestSamples.aac], isContinuation: isContinuation)
    var (bytes, later) = (ByteBuffer(), ByteBuffer())
    for index in 0..<3 {
      let start = MediaTime.zero + .seconds(Int64(index + 1))
      var buffer = ByteBuffer()
      func mux(_ muxer: inout TransportStreamMuxer) {
        muxer.startSegment(into: &buffer)
        // Other numbers of packets in each, so that no counter happens to continue.
        muxer.mux(TestSamples.videoSample(at: start, size: 200, isKeyframe: true), into: &buffer)
        muxer.mux(TestSamples.audioSample(at: start), into: &buffer)
        muxer.flush(into: &buffer)
      }
      if index == 0 { mux(&first) } else { mux(&second) }
      if index == 2 { later = buffer }
      bytes.writeBuffer(&buffer)
    }
    var demuxer = TransportStreamDemuxer()
    let events = demuxer.demux(bytes) + demuxer.finish()
    let count = events.count { if case .packet = $0 { true } else { false } }
    #expect((count == 6 && demuxer.discontinuityCount == 0) == isContinuation)
    // Once: of the last segment, no packet with an adaptation field has the indicator.
    let packets = stride(from: 0, to: later.readableBytes, by: 188).map { later.getBytes(at: $0, length: 188) ?? [] }
    #expect(packets.allSatisfy { $0[3] & 0b10_0000 == 0 || $0[4] == 0 || $0[5] & 0b1000_0000 == 0 })
  }
}
