internal import Media
internal import NIOCore
internal import RTP

/// One track of a viewer: numbers, timestamps and headers of its packets, and those that are sent again.
///
/// Numbering and timeline are the viewer's own and never jump, whatever is left out or switched.
struct WebRTCTrackSender {
  /// The track as answered.
  let track: WebRTCAnswer.Track
  private let clockRate: Int32
  private let timestampOffset: UInt32
  /// Number of the next packet, extended beyond 16 bits. The first is below 2¹⁵: a client that loses the first packets could
  /// not know the rollover counter of SRTP otherwise.
  private var nextNumber: Int64
  private var nextRetransmissionNumber: UInt16
  private(set) var packetCount: UInt32 = 0
  private(set) var octetCount: UInt32 = 0
  /// Writes the headers of the track's packets.
  var headerWriter: WebRTCHeaderWriter
  /// Packets that were sent.
  var history = RetransmissionHistory()
  /// Sealed packets that were sent, for a client that requests them and has no source of retransmissions; nil for others.
  var sealedHistory: SealedPacketHistory?

  /// Clock rate of Opus, RFC 7587 §4.1.
  static let audioClockRate: Int32 = 48_000

  init(_ track: WebRTCAnswer.Track, kind: MediaKind, makeRandom: () -> UInt64) {
    self.track = track
    self.headerWriter = WebRTCHeaderWriter(track)
    if kind == .video, track.retransmissionPayloadType == nil, track.feedback.contains(.nack) {
      self.sealedHistory = SealedPacketHistory()
    }
    self.clockRate = kind == .video ? H264Packetizer.clockRate : Self.audioClockRate
    let (first, second) = (makeRandom(), makeRandom())
    self.timestampOffset = UInt32(truncatingIfNeeded: first)
    self.nextNumber = Int64(second & 0x7FFF)
    self.nextRetransmissionNumber = UInt16(truncatingIfNeeded: second >> 16 & 0x7FFF)
  }

  /// Keeps a frame whose packets have the next numbers, so that they can be sent again.
  mutating func note(_ media: WebRTCMedia, roundTrip: MediaDuration?, at now: MediaTime) {
    guard self.track.retransmissionPayloadType != nil else { return }
    self.history.append(media, firstNumber: self.nextNumber, roundTrip: roundTrip, at: now)
  }

  /// The timestamp of a time on the stream's clock.
  func timestamp(at time: MediaTime) -> UInt32 {
    self.timestampOffset &+ UInt32(truncatingIfNeeded: time.ticks(timescale: self.clockRate))
  }

  /// A sender report of the track.
  func senderReport(at now: MediaTime, unixTime: Int64) -> RTCPSenderReport {
    RTCPSenderReport(
      ssrc: self.track.ssrc, ntpTimestamp: NTPTimestamp(unixNanoseconds: unixTime),
      rtpTimestamp: self.timestamp(at: now), packetCount: self.packetCount, octetCount: self.octetCount)
  }

  /// The header of the next packet, which has payload `index` of a frame; counts the packet.
  mutating func nextHeader(_ media: WebRTCMedia, index: Int) -> (RTPHeader, WebRTCHeaderWriter) {
    defer {
      self.nextNumber += 1
      self.history.endNumber = self.nextNumber
      self.packetCount &+= 1
      self.octetCount &+= UInt32(truncatingIfNeeded: media.payloadLength(index))
    }
    return (
      self.header(
        media, index: index, payloadType: self.track.payloadType, ssrc: self.track.ssrc,
        sequenceNumber: UInt16(truncatingIfNeeded: self.nextNumber)), self.headerWriter
    )
  }

  /// The header of a packet that is sent again, RFC 4588 §4; the number of the original precedes its payload.
  mutating func retransmissionHeader(
    _ media: WebRTCMedia, index: Int, payloadType: UInt8
  ) -> (RTPHeader, WebRTCHeaderWriter) {
    defer { self.nextRetransmissionNumber &+= 1 }
    return (
      self.header(
        media, index: index, payloadType: payloadType, ssrc: self.track.retransmissionSSRC,
        sequenceNumber: self.nextRetransmissionNumber), self.headerWriter
    )
  }

  private func header(
    _ media: WebRTCMedia, index: Int, payloadType: UInt8, ssrc: UInt32, sequenceNumber: UInt16
  ) -> RTPHeader {
    RTPHeader(
      // Audio has its marker at the start of a talkspurt, of which there is one.
      marker: media.kind == .video && index == media.packetCount - 1, payloadType: payloadType,
      sequenceNumber: sequenceNumber, timestamp: self.timestamp(at: media.presentationTime), ssrc: ssrc)
  }
}
