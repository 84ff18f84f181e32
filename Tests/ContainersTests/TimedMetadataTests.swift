import Bitstreams
import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

@Suite("Timed metadata: ID3 2.4.0, in MPEG-TS (ISO/IEC 13818-1 §2.12) and in emsg (ISO/IEC 23009-1 §5.10.3.3)")
struct TimedMetadataTests {
  /// Read by mutagen as a TXXX frame "face" with the text `{"id":1}`.
  static let tag: [UInt8] =
    Array("ID3".utf8) + [
      0x04, 0x00, 0x00,  // version 4.0, no flags
      0x00, 0x00, 0x00, 0x18,  // 24 bytes follow
    ] + Array("TXXX".utf8) + [
      0x00, 0x00, 0x00, 0x0E, 0x00, 0x00,  // 14 bytes follow, no flags
      0x03,  // UTF-8
    ] + Array("face".utf8) + [0x00] + Array(#"{"id":1}"#.utf8)

  private static func metadata(at time: MediaTime, _ text: String = #"{"id":1}"#) -> TimedMetadata {
    TimedMetadata(time: time, name: "face", text: text)
  }

  private static func bytes(_ buffer: ByteBuffer?) -> [UInt8]? {
    buffer.map { Array($0.readableBytesView) }
  }

  @Test func `a tag is a frame of text with its description`() {
    #expect(Self.bytes(ID3Tag.bytes(Self.metadata(at: .zero))) == Self.tag)
  }

  @Test func `lengths leave the highest bit of each byte free`() throws {
    // 6 bytes of "face", its end and the encoding: 300 are 2 × 128 + 44, 310 are 2 × 128 + 54.
    let tag = try #require(Self.bytes(ID3Tag.bytes(Self.metadata(at: .zero, String(repeating: "x", count: 294)))))
    #expect(tag.count == 320)
    #expect(tag[6..<10] == [0, 0, 2, 54])
    #expect(tag[14..<18] == [0, 0, 2, 44])
  }

  @Test(arguments: [("a\0b", 1), ("face", 60_000 - 25), ("face", 1 << 21)])
  func `metadata that does not fit a tag is left out`(name: String, length: Int) {
    let metadata = TimedMetadata(time: .zero, name: name, text: String(repeating: "x", count: length))
    #expect(Self.bytes(ID3Tag.bytes(metadata)) == nil)
    var events = ByteBuffer()
    EventMessage(metadata: metadata, id: 1).serialize(into: &events)
    #expect(events.readableBytes == 0)
    var muxer = Self.muxer
    var buffer = ByteBuffer()
    muxer.mux(metadata, into: &buffer)
    #expect(buffer.readableBytes == 0)
  }

  /// One that has announced metadata.
  private static var muxer: TransportStreamMuxer {
    var muxer = TransportStreamMuxer([TestSamples.h264, TestSamples.aac])
    muxer.carriesMetadata = true
    var tables = ByteBuffer()
    muxer.startSegment(into: &tables)
    return muxer
  }

  @Test func `the maximum tag fits a PES packet and is parsed again`() throws {
    var muxer = Self.muxer
    var buffer = ByteBuffer()
    muxer.startSegment(into: &buffer)
    let text = String(repeating: "x", count: ID3Tag.maximumLength - 26)
    muxer.mux(Self.metadata(at: .zero, text), into: &buffer)
    guard case .packet(let packet, _, 0x102) = MuxedStream.demux(buffer).last else {
      Issue.record("no packet")
      return
    }
    #expect(packet.payload.readableBytes == ID3Tag.maximumLength)
  }

  @Test func `a program map with metadata has both descriptors`() throws {
    let map: [UInt8] = [
      0x02,  // table_id
      0xB0, 0x3C,  // section_length 60
      0x00, 0x01,  // program_number
      0xC3, 0x00, 0x00,  // version 1, current; section 0 of 0
      0xE1, 0x00,  // PCR_PID 0x100
      0xF0, 0x11,  // program_info_length 17
      0x25, 0x0F,  // metadata_pointer_descriptor, 15 bytes
      0xFF, 0xFF, 0x49, 0x44, 0x33, 0x20, 0xFF, 0x49, 0x44, 0x33, 0x20,  // "ID3 " twice
      0x00, 0x1F, 0x00, 0x01,  // service 0, in this stream, program 1
      0x1B, 0xE1, 0x00, 0xF0, 0x00,  // H.264 on PID 0x100
      0x0F, 0xE1, 0x01, 0xF0, 0x00,  // AAC in ADTS on PID 0x101
      0x15, 0xE1, 0x02, 0xF0, 0x0F,  // metadata on PID 0x102, 15 bytes of descriptors
      0x26, 0x0D,  // metadata_descriptor, 13 bytes
      0xFF, 0xFF, 0x49, 0x44, 0x33, 0x20, 0xFF, 0x49, 0x44, 0x33, 0x20,  // "ID3 " twice
      0x00, 0x0F,  // service 0, no configuration
    ]
    var muxer = Self.muxer
    var buffer = ByteBuffer()
    muxer.startSegment(into: &buffer)
    let packet = try #require(buffer.getBytes(at: 188, length: 188))
    #expect(Array(packet[5..<5 + map.count]) == map)
    let section = ByteBuffer(bytes: packet[5...])
    let parsed = try ProgramMap(parsing: section)
    #expect(
      parsed
        == ProgramMap(
          version: 1, clockPacketIdentifier: 0x100,
          streams: ProgramTablesTests.programMap.streams + [.init(type: .metadata, packetIdentifier: 0x102)]))
    #expect(Self.bytes(section.getSlice(at: 0, length: 63)) == parsed.serialize())
  }

  @Test func `metadata is a packet of the private stream with its time`() throws {
    var muxer = Self.muxer
    var buffer = ByteBuffer()
    muxer.mux(Self.metadata(at: .zero + .seconds(1)), into: &buffer)
    let head: [UInt8] = [
      0x47, 0x41, 0x02, 0x30,  // payload start, PID 0x102, adaptation field and payload, counter 0
      0x87, 0x00,  // 135 bytes of adaptation field: no flags, and stuffing
    ]
    let payload: [UInt8] =
      [
        0x00, 0x00, 0x01, 0xBD,  // packet_start_code_prefix, private_stream_1
        0x00, 0x2A,  // PES_packet_length 42
        0x84, 0x80, 0x05,  // aligned; PTS; 5 bytes
        0x21, 0x00, 0x07, 0x92, 0x11,  // 1.3 s, as the frame at 1 s
      ] + Self.tag
    let stuffing = [UInt8](repeating: 0xFF, count: 188 - head.count - payload.count)
    #expect(Self.bytes(buffer) == head + stuffing + payload)
  }

  @Test func `metadata is announced from the next segment on, and precedes its frame`() throws {
    let start = MediaTime.zero + .seconds(10)
    let videoSamples = (0..<3).map { TestSamples.videoSample(at: start + .milliseconds($0 * 40), isKeyframe: $0 == 0) }
    let metadata = [40, 80].map { Self.metadata(at: start + .milliseconds($0), "\($0)") }
    var muxer = TransportStreamMuxer([TestSamples.h264])
    var first = ByteBuffer()
    muxer.startSegment(into: &first)
    muxer.carriesMetadata = true
    muxer.mux(videoSamples, metadata: metadata, into: &first)
    #expect(try self.starts(first) == [0x100, 0x100, 0x100])

    var second = ByteBuffer()
    muxer.startSegment(into: &second)
    muxer.mux(videoSamples, metadata: metadata, into: &second)
    #expect(try self.starts(second) == [0x100, 0x102, 0x100, 0x102, 0x100])

    muxer.change(to: [TestSamples.aac])
    var third = ByteBuffer()
    muxer.startSegment(into: &third)
    guard case .programMap(let map) = MuxedStream.demux(third).first else {
      Issue.record("no map")
      return
    }
    #expect(map.version == 2)
    #expect(map.streams.map(\.type) == [.adtsAAC, .metadata], "it stays when codecs change")
    #expect(map.clockPacketIdentifier == 0x101)
  }

  /// The PID of each PES packet, in the order in which they start.
  private func starts(_ buffer: ByteBuffer) throws -> [UInt16] {
    var rest = buffer
    var identifiers: [UInt16] = []
    while let bytes = rest.readSlice(length: TransportPacket.length) {
      let packet = try TransportPacket(parsing: bytes)
      if packet.startsUnit { identifiers.append(packet.packetIdentifier) }
    }
    return Array(identifiers.dropFirst(2))  // PAT and PMT
  }

  @Test func `a message is written field by field`() {
    var buffer = ByteBuffer()
    EventMessage(metadata: Self.metadata(at: .zero + .seconds(100)), id: 7).serialize(into: &buffer)
    let rows: [[UInt8]] = [
      [0, 0, 0, 0x60], Array("emsg".utf8), [1, 0, 0, 0],
      [0, 1, 0x5F, 0x90],  // 90 000 ticks a second
      [0, 0, 0, 0, 0, 0x89, 0x54, 0x40],  // 100 s
      [0xFF, 0xFF, 0xFF, 0xFF],  // of unknown duration
      [0, 0, 0, 7],
      Array("https://aomedia.org/emsg/ID3".utf8), [0],
      [0],  // no value
      Self.tag,
    ]
    #expect(Self.bytes(buffer) == rows.flatMap { $0 })
  }

  @Test func `messages precede the fragment, which is parsed as without them`() throws {
    let start = MediaTime.zero + .seconds(10)
    let videoSamples = (0..<3).map { TestSamples.videoSample(at: start + .milliseconds($0 * 40), isKeyframe: $0 == 0) }
    let events = [start, start + .milliseconds(40)].map { Self.metadata(at: $0) }
    var muxer = FragmentedMP4Muxer([TestSamples.h264])
    var plain = muxer
    let fragment = muxer.fragment(videoSamples, events: events)
    var expected = ByteBuffer()
    for (index, metadata) in events.enumerated() {
      EventMessage(metadata: metadata, id: UInt32(index) + 1).serialize(into: &expected)
    }
    expected.writeImmutableBuffer(plain.fragment(videoSamples))
    #expect(fragment == expected)
    let later = muxer.fragment(
      videoSamples.map { videoSample in
        var videoSample = videoSample
        videoSample.presentationTime += .seconds(1)
        videoSample.decodeTime += .seconds(1)
        return videoSample
      }, events: [Self.metadata(at: start + .seconds(1))])
    let box = try #require(try MP4Box.boxes(in: later).first)
    #expect(box.content.getInteger(at: box.content.readerIndex + 20, as: UInt32.self) == 3, "ids go on")
  }

  @Test func `without samples there is no fragment, and no message before the clock's zero`() {
    var muxer = FragmentedMP4Muxer([TestSamples.h264])
    #expect(muxer.fragment([], events: [Self.metadata(at: .zero)]).readableBytes == 0)
    var buffer = ByteBuffer()
    for nanoseconds in [-1, Int64.min] {
      EventMessage(metadata: Self.metadata(at: MediaTime(nanoseconds: nanoseconds)), id: 1).serialize(into: &buffer)
    }
    #expect(buffer.readableBytes == 0)
    EventMessage(metadata: Self.metadata(at: MediaTime(nanoseconds: .max)), id: 1).serialize(into: &buffer)
    #expect(buffer.readableBytes == 96)
  }

  @Test func `the file type has the brand of messages if the track may have some`() throws {
    let muxer = FragmentedMP4Muxer([TestSamples.h264])
    for hasEvents in [false, true] {
      let head = muxer.initializationSegment(hasEvents: hasEvents)
      let type = try #require(try MP4Box.boxes(in: head).first)
      let brands = String(buffer: type.content)
      #expect(brands.hasSuffix(hasEvents ? "iso6mp41cmfcaid3" : "iso6mp41cmfc"))
    }
  }
}
