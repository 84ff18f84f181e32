import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

/// Samples muxed as a transport stream, and its parsed packets.
struct MuxedStream {
  let bytes: ByteBuffer
  /// Samples that the muxer left out.
  let skippedSampleCount: Int

  init(
    _ samples: [EncodedSample], _ descriptions: [CodecDescription] = [TestSamples.h264, TestSamples.aac]
  ) {
    var muxer = TransportStreamMuxer(descriptions)
    var buffer = ByteBuffer()
    muxer.startSegment(into: &buffer)
    for sample in samples { muxer.mux(sample, into: &buffer) }
    muxer.flush(into: &buffer)
    self.bytes = buffer
    self.skippedSampleCount = muxer.skippedSampleCount
  }

  /// The bytes of samples that are all muxed.
  static func mux(
    _ samples: [EncodedSample], _ descriptions: [CodecDescription] = [TestSamples.h264, TestSamples.aac]
  ) -> ByteBuffer {
    let stream = MuxedStream(samples, descriptions)
    #expect(stream.skippedSampleCount == 0)
    return stream.bytes
  }

  /// Demultiplexes bytes to events, and expects no damage.
  static func demux(_ bytes: ByteBuffer) -> [TransportStreamDemuxer.Event] {
    var demuxer = TransportStreamDemuxer()
    let events = demuxer.demux(bytes) + demuxer.finish()
    #expect(demuxer.damageCount == 0)
    #expect(demuxer.discontinuityCount == 0)
    #expect(bytes.readableBytes.isMultiple(of: 188))
    return events
  }

  /// The program clock's values, in ticks of 27 MHz.
  var clocks: [UInt64] {
    Self.demux(self.bytes).compactMap { if case .clock(let clock) = $0 { clock } else { nil } }
  }

  /// The timestamp of each PES packet of one PID, and the last clock value before its first byte or in the same
  /// packet, both in ticks of 27 MHz.
  func times(_ identifier: UInt16) throws -> [(timestamp: Int64, clock: Int64)] {
    var rest = self.bytes
    var clock: Int64?
    var times: [(Int64, Int64)] = []
    while let next = rest.readSlice(length: TransportPacket.length) {
      let packet = try TransportPacket(parsing: next)
      clock = packet.programClock.map { Int64($0) } ?? clock
      guard packet.startsUnit, packet.packetIdentifier == identifier else { continue }
      // The packet's length is taken off, since only its first part is here.
      var start = packet.payload
      start.setInteger(UInt16(0), at: start.readerIndex + 4)
      let pes = try PESPacket(parsing: start)
      let timestamp = try #require(pes.decodeTimestamp ?? pes.presentationTimestamp)
      times.append((Int64(timestamp) * 300, try #require(clock)))
    }
    return times
  }
}
