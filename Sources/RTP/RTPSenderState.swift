public import Media

/// The sender's state of one synchronization source: sequence number, clock and counts, RFC 3550 §5.1.
///
/// A stream has one per track, shared by all viewers, since all viewers get the same packets.
public struct RTPSenderState: Hashable, Sendable {
  /// SSRC, the random identifier of the source.
  public let ssrc: UInt32
  /// PT, 0 to 127; dynamic payload types are 96 to 127.
  public let payloadType: UInt8
  /// Clock rate of the timestamp in ticks per second: 90,000 for video, the sample rate for audio.
  public let clockRate: Int32
  /// The RTP timestamp of ``/Media/MediaTime/zero``, random.
  public let timestampOffset: UInt32
  /// The sequence number of the next packet; random at the start.
  public private(set) var nextSequenceNumber: UInt16
  /// Number of packets so far, modulo 2³², for sender reports.
  public private(set) var packetCount: UInt32 = 0
  /// Number of payload bytes so far, modulo 2³², for sender reports.
  public private(set) var octetCount: UInt32 = 0

  /// The state before the first packet. The caller passes random values for SSRC, offset and first sequence number,
  /// RFC 3550 §5.1.
  public init(
    ssrc: UInt32, payloadType: UInt8, clockRate: Int32, timestampOffset: UInt32, firstSequenceNumber: UInt16
  ) {
    precondition(payloadType < 128, "a payload type has 7 bits")
    precondition(clockRate > 0, "a clock counts at least one tick a second")
    self.ssrc = ssrc
    self.payloadType = payloadType
    self.clockRate = clockRate
    self.timestampOffset = timestampOffset
    self.nextSequenceNumber = firstSequenceNumber
  }

  /// The RTP timestamp of a time, modulo 2³²; computed from the clock's zero, so that rounding does not accumulate.
  public func timestamp(at time: MediaTime) -> UInt32 {
    self.timestampOffset &+ UInt32(truncatingIfNeeded: time.ticks(timescale: self.clockRate))
  }

  /// A sender report of this source, without report blocks, RFC 3550 §6.4.1.
  ///
  /// - Parameters:
  ///   - time: The instant of the report on the stream's clock.
  ///   - unixNanoseconds: Wall-clock time at that instant, in nanoseconds since 1970. All tracks of a stream must use
  ///     the same mapping, or players lose synchronization of audio and video.
  public func senderReport(at time: MediaTime, unixNanoseconds: Int64) -> RTCPSenderReport {
    RTCPSenderReport(
      ssrc: self.ssrc, ntpTimestamp: NTPTimestamp(unixNanoseconds: unixNanoseconds),
      rtpTimestamp: self.timestamp(at: time), packetCount: self.packetCount, octetCount: self.octetCount)
  }

  /// Returns the header of the next packet, and counts the packet.
  mutating func nextHeader(marker: Bool, timestamp: UInt32, payloadLength: Int) -> RTPHeader {
    defer {
      self.nextSequenceNumber &+= 1
      self.packetCount &+= 1
      self.octetCount &+= UInt32(truncatingIfNeeded: payloadLength)
    }
    return RTPHeader(
      marker: marker, payloadType: self.payloadType, sequenceNumber: self.nextSequenceNumber, timestamp: timestamp,
      ssrc: self.ssrc)
  }
}
