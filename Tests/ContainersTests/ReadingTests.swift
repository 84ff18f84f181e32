import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

@Suite("Reading transport streams and boxes that anybody may have sent")
struct ReadingTests {
  /// A box with a size of its own choice.
  private func box(_ size: UInt32, _ type: String, _ content: [UInt8] = []) -> ByteBuffer {
    var buffer = ByteBuffer(integer: size)
    buffer.writeString(type)
    buffer.writeBytes(content)
    return buffer
  }

  @Test func `sizes may have 64 bits, or extend to the end`() throws {
    let large = self.box(1, "free", [0, 0, 0, 0, 0, 0, 0, 18, 0xAA, 0xBB])
    let toEnd = self.box(0, "mdat", [1, 2, 3])
    let boxes = try MP4Box.boxes(in: ByteBuffer(bytes: Array(large.readableBytesView) + toEnd.readableBytesView))
    #expect(boxes.map(\.type) == ["free", "mdat"])
    #expect(boxes.map { Array($0.content.readableBytesView) } == [[0xAA, 0xBB], [1, 2, 3]])
    #expect(boxes.map(\.offset) == [0, 18])
  }

  @Test func `hostile sizes throw`() {
    let cases: [(ByteBuffer, ParsingError.Code)] = [
      (self.box(7, "free"), .invalid), (self.box(2, "free"), .invalid), (self.box(9, "free"), .truncated),
      (self.box(.max, "free"), .truncated), (self.box(1, "free"), .truncated),
      (self.box(1, "free", [0, 0, 0, 0, 0, 0, 0, 15]), .invalid),
      (self.box(1, "free", [UInt8](repeating: 0xFF, count: 8)), .truncated), (self.box(23, "uuid"), .truncated),
    ]
    for (bytes, code) in cases {
      #expect(throws: ParsingError(code, field: "size", offset: 0)) { try MP4Box.boxes(in: bytes) }
    }
    #expect(throws: ParsingError(.truncated, field: "size", offset: 8)) {
      try MP4Box.boxes(in: ByteBuffer(bytes: Array(self.box(8, "free").readableBytesView) + [0]))
    }
  }

  @Test func `a run of more samples than bytes is refused at once`() throws {
    let extends = [TrackExtends(trackID: 1, defaultDuration: 1, defaultSize: 1, defaultFlags: .sync)]
    for flags: UInt32 in [0x000001, 0x000201] {
      var traf = ByteBuffer()
      traf.writeBox("traf") {
        $0.writeFullBox("tfhd", flags: 0x020000) { $0.writeInteger(UInt32(1)) }
        $0.writeFullBox("tfdt") { $0.writeInteger(UInt32(0)) }
        $0.writeFullBox("trun", flags: flags) { $0.writeMultipleIntegers(UInt32.max, UInt32(0)) }
      }
      let box = try #require(try MP4Box.boxes(in: traf).first)
      #expect(throws: ParsingError.self) { try TrackFragment(parsing: box, extends: extends) }
    }
  }

  @Test func `each prefix of a fragment throws or lacks its data`() throws {
    var muxer = FragmentedMP4Muxer([TestSamples.h264, TestSamples.aac])
    let fragment = muxer.fragment(Array(TestSamples.stream(seconds: 1).prefix(10)))
    var lengths: [Int] = []
    for length in 1..<fragment.readableBytes {
      let prefix = ByteBuffer(bytes: fragment.readableBytesView.prefix(length))
      guard let boxes = try? MP4Box.boxes(in: prefix) else { continue }
      #expect(boxes.map(\.type) == ["moof"])
      lengths.append(length)
    }
    // The `moof` alone.
    let mdat = try #require(try MP4Box.boxes(in: fragment).last)
    #expect(mdat.type == "mdat" && lengths == [mdat.offset])
  }

  @Test func `a transport stream may arrive byte by byte, after other bytes`() {
    var muxer = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    var bytes = ByteBuffer(bytes: [1, 2, 3])
    muxer.startSegment(into: &bytes)
    for sample in TestSamples.stream(seconds: 1) { muxer.mux(sample, into: &bytes) }
    muxer.flush(into: &bytes)
    var whole = TransportStreamDemuxer()
    let events = whole.demux(bytes) + whole.finish()
    #expect(whole.damageCount == 1)
    var single = TransportStreamDemuxer()
    var found: [TransportStreamDemuxer.Event] = []
    for byte in bytes.readableBytesView { found += single.demux(ByteBuffer(bytes: [byte])) }
    found += single.finish()
    #expect(found == events)
    #expect(events.count { if case .packet(_, _, 0x100) = $0 { true } else { false } } == 30)
  }

  @Test func `a lost packet drops its access unit, and is counted`() {
    var muxer = TransportStreamMuxer([TestSamples.h264])
    var bytes = ByteBuffer()
    muxer.startSegment(into: &bytes)
    for index: Int64 in 0..<3 {
      muxer.mux(TestSamples.videoSample(at: .zero + .milliseconds(index * 40)), into: &bytes)
    }
    // Tables, then six packets per access unit: the third one of the second is lost.
    var damaged = ByteBuffer(bytes: bytes.readableBytesView.prefix(10 * 188))
    damaged.writeBytes(bytes.readableBytesView.dropFirst(11 * 188))
    var demuxer = TransportStreamDemuxer()
    let events = demuxer.demux(damaged) + demuxer.finish()
    let times = events.compactMap { event -> UInt64? in
      if case .packet(let packet, _, _) = event { packet.presentationTimestamp } else { nil }
    }
    #expect(times == [27_000, 34_200])
    #expect(demuxer.discontinuityCount == 1)
  }
}
