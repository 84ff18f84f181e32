internal import Media
internal import NIOCore
internal import RTP

/// A stream's packetizers, and what they say of themselves: where a viewer starts, and the reports of the sender.
struct RTPTracks {
  /// The dynamic payload types, RFC 3551 §3: the same in every session description.
  static let payloadTypes = PerTrack<UInt8>(video: 96, audio: 97)

  private var video: H264Packetizer?
  private var audio: AACPacketizer?
  /// The same name for all tracks tells players that they belong together, RFC 3550 §6.5.1.
  private let canonicalName = "vidicon-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))"

  /// Packetizers for the tracks of a stream; SSRC, first sequence number and timestamp are random (RFC 3550 §5.1).
  init(_ descriptions: [CodecDescription]) {
    for description in descriptions {
      switch description {
      case .h264(let video):
        self.video = H264Packetizer(
          description: video, sequence: Self.sequence(.video, clockRate: H264Packetizer.clockRate))
      case .aac(let audio):
        self.audio = AACPacketizer(
          description: audio, sequence: Self.sequence(.audio, clockRate: Int32(audio.format.sampleRate)))
      }
    }
  }

  private static func sequence(_ kind: MediaKind, clockRate: Int32) -> RTPSenderState {
    RTPSenderState(
      ssrc: .random(in: 1...UInt32.max),
      payloadType: self.payloadTypes[kind] ?? 96,
      clockRate: clockRate,
      timestampOffset: .random(in: 0...UInt32.max),
      firstSequenceNumber: .random(in: 0...UInt16.max))
  }

  /// The pictures that follow have other parameter sets, which are sent before each keyframe.
  mutating func change(to description: CodecDescription) {
    // Our sound has one description as long as it lasts.
    if case .h264(let description) = description { self.video?.description = description }
  }

  /// The numbering of each track.
  var sequences: PerTrack<RTPSenderState> {
    PerTrack(video: self.video?.sequence, audio: self.audio?.sequence)
  }

  /// The packets of a sample; none for one that cannot be sent.
  mutating func packetize(_ sample: EncodedSample) -> [RTPPacketBatch] {
    do throws(ParsingError) {
      switch sample.kind {
      case .video: return try self.video?.packetize(sample).nonEmpty ?? []
      case .audio: return try self.audio?.packetize(sample) ?? []
      }
    } catch {
      // Our own encoders make no such sample; a broken one passed through from elsewhere is one lost picture.
      return []
    }
  }

  /// Where a viewer starts that gets what is packed from now on; the timestamps are those of one instant.
  func positions(at time: MediaTime) -> PerTrack<RTPPosition> {
    self.sequences.map { RTPPosition(sequenceNumber: $0.nextSequenceNumber, timestamp: $0.timestamp(at: time)) }
  }

  /// A sender report for each track, of one instant, with the source's name, RFC 3550 §6.4.1 and §6.5.1; behind it, at
  /// the end of the stream, a goodbye (§6.6).
  ///
  /// - Parameters:
  ///   - time: The instant on the streams' clock.
  ///   - unixTime: The same instant in nanoseconds since 1970.
  ///   - isLast: Whether the stream ends here.
  func reports(at time: MediaTime, unixTime: Int64, isLast: Bool = false) -> PerTrack<ByteBuffer> {
    self.sequences.map { sequence in
      var packets: [RTCPPacket] = [
        .senderReport(sequence.senderReport(at: time, unixNanoseconds: unixTime)),
        .sourceDescription(RTCPSourceDescription(ssrc: sequence.ssrc, cname: self.canonicalName)),
      ]
      if isLast { packets.append(.goodbye(RTCPGoodbye(sources: [sequence.ssrc]))) }
      var buffer = ByteBuffer()
      RTCPCompoundPacket(packets).serialize(into: &buffer)
      return buffer
    }
  }
}

/// The first packet of a track that a viewer gets, for the `RTP-Info` header, RFC 2326 §12.33.
struct RTPPosition: Hashable, Sendable {
  var sequenceNumber: UInt16
  var timestamp: UInt32
}

extension RTPPacketBatch {
  fileprivate var nonEmpty: [RTPPacketBatch] {
    self.isEmpty ? [] : [self]
  }
}
