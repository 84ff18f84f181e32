internal import Media
internal import NIOCore
internal import RTP
internal import Serving

/// Packetizes the tracks of a stream once for all its RTSP viewers, and knows their start positions and sender reports.
struct RTPStreamPacketizer: SharedMediaPacketizer {
  /// Dynamic payload types, RFC 3551 §3; the same in every session description.
  static let payloadTypes = PerTrack<UInt8>(video: 96, audio: 97)

  /// The codec of each track, video first.
  private(set) var descriptions: [CodecDescription]
  private var video: H264Packetizer?
  private var audio: AACPacketizer?
  /// The last packets of audio, and their time on the stream's clock.
  private var lastAudio: (packets: SharedPackets, time: MediaTime)?
  /// The canonical name (CNAME) of all tracks, by which players synchronize them, RFC 3550 §6.5.1.
  private let canonicalName = "vidicon-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))"

  /// Packetizers for the tracks of a stream; SSRC, first sequence number and timestamp are random, RFC 3550 §5.1.
  init(_ descriptions: [CodecDescription]) {
    self.descriptions = descriptions
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

  /// Replaces the description of a track; new parameter sets are sent before each keyframe that follows.
  mutating func change(to description: CodecDescription) {
    guard self.descriptions.replace(description) else { return }
    // The AAC packetizer needs the sample rate only, which never changes.
    if case .h264(let description) = description { self.video?.description = description }
  }

  /// SSRC, sequence number and clock of each track.
  var senderStates: PerTrack<RTPSenderState> {
    PerTrack(video: self.video?.sequence, audio: self.audio?.sequence)
  }

  /// The packets of a sample; none when the sample is malformed or too large.
  mutating func packetize(_ sample: EncodedSample) -> [RTPPacketBatch] {
    do throws(ParsingError) {
      switch sample.kind {
      case .video: return try self.video?.packetize(sample).nonEmpty ?? []
      case .audio: return try self.audio?.packetize(sample) ?? []
      }
    } catch {
      // Only samples passed through from a source can be malformed; the result is one lost frame.
      return []
    }
  }

  /// Maximum distance between a keyframe and the audio that a viewer starts with: audio that pauses for longer is not sent again.
  static let maximumLead = MediaDuration.milliseconds(500)

  /// The packets of a sample, in the form that viewers share. Those of a keyframe have the audio before them.
  mutating func packets(of sample: EncodedSample) -> [SharedPackets] {
    let positions = self.positions(at: sample.presentationTime)
    var leadingAudio: SharedPackets?
    if sample.kind == .video, sample.isKeyframe, let lastAudio {
      let distance = (sample.presentationTime - lastAudio.time).nanoseconds
      if abs(distance) <= Self.maximumLead.nanoseconds { leadingAudio = lastAudio.packets }
    }
    let packets = self.packetize(sample).map {
      SharedPackets(kind: sample.kind, batch: $0, positions: positions, leadingAudio: leadingAudio)
    }
    if sample.kind == .audio, let last = packets.last { self.lastAudio = (last, sample.presentationTime) }
    return packets
  }

  /// The next packet of each track; the timestamps are of one instant.
  func positions(at time: MediaTime) -> PerTrack<RTPPosition> {
    self.senderStates.map { RTPPosition(sequenceNumber: $0.nextSequenceNumber, timestamp: $0.timestamp(at: time)) }
  }

  /// A compound packet for each track: sender report, source description, and at the end of the stream a goodbye,
  /// RFC 3550 §6.4.1, §6.5.1 and §6.6. All reports are of one instant.
  ///
  /// - Parameters:
  ///   - time: The instant on the stream's clock.
  ///   - unixTime: The same instant in nanoseconds since 1970.
  ///   - isLast: Whether the stream ends here.
  func reports(at time: MediaTime, unixTime: Int64, isLast: Bool = false) -> PerTrack<ByteBuffer> {
    self.senderStates.map { sequence in
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

/// The first packet of a track for a viewer, for the `RTP-Info` header, RFC 2326 §12.33.
struct RTPPosition: Hashable, Sendable {
  var sequenceNumber: UInt16
  var timestamp: UInt32
}

extension RTPPacketBatch {
  fileprivate var nonEmpty: [RTPPacketBatch] {
    self.isEmpty ? [] : [self]
  }
}
