public import Media

/// The state that packets of one source are numbered and timed by: RFC 3550 §5.1 on the sender's side.
///
/// A stream has one for each track, shared by all viewers, since they all get the same packets.
public struct RTPSenderState: Hashable, Sendable {
  /// The source's identifier, random.
  public let ssrc: UInt32
  /// PT, 0 to 127; dynamic ones are 96 to 127.
  public let payloadType: UInt8
  /// Ticks of the timestamp a second: 90 000 for video, the sample rate for sound.
  public let clockRate: Int32
  /// The timestamp of ``/Media/MediaTime/zero``, random.
  public let timestampOffset: UInt32
  /// The number that the next packet gets; random at the start.
  public private(set) var nextSequenceNumber: UInt16
  /// Packets made so far, modulo 2³², for sender reports.
  public private(set) var packetCount: UInt32 = 0
  /// Bytes of payload in them, modulo 2³², for sender reports.
  public private(set) var octetCount: UInt32 = 0

  /// A numbering at its start; SSRC, offset and first number should be random (RFC 3550 §5.1), which is the caller's
  /// part.
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

  /// The RTP timestamp of a time: exact in ticks from the clock's zero, so that it never drifts, modulo 2³².
  public func timestamp(at time: MediaTime) -> UInt32 {
    self.timestampOffset &+ UInt32(truncatingIfNeeded: time.ticks(timescale: self.clockRate))
  }

  /// A sender report of this source, without report blocks, RFC 3550 §6.4.1.
  ///
  /// - Parameters:
  ///   - time: The instant of the report on the stream's clock.
  ///   - unixNanoseconds: The time of day at that instant, nanoseconds since 1970. Both must come from one mapping for
  ///     all tracks of a stream, or players shift sound against picture.
  public func senderReport(at time: MediaTime, unixNanoseconds: Int64) -> RTCPSenderReport {
    RTCPSenderReport(
      ssrc: self.ssrc, ntpTimestamp: NTPTimestamp(unixNanoseconds: unixNanoseconds),
      rtpTimestamp: self.timestamp(at: time), packetCount: self.packetCount, octetCount: self.octetCount)
  }

  /// The header of the next packet, which is counted with it.
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
