public import Media
public import NIOCore

/// Turns the RTP and RTCP packets of a sender's tracks into samples on one clock, and reports their reception. Pure: `now` is an
/// argument.
///
/// Times are the sender's, near those of arrival: ``RTPSourceClock`` keeps the offset of audio to video. Video starts at a keyframe
/// or a recovery point, and is dropped from a loss to the next one. Parameter sets within the stream become a new description.
public struct RTPStreamReceiver: Sendable {
  private var tracks: [Int: RTPTrackReceiver] = [:]
  private var clock = RTPSourceClock()
  private let ssrc: UInt32
  private let canonicalName: String

  /// A receiver without tracks.
  ///
  /// - Parameters:
  ///   - ssrc: SSRC of its reports, random.
  ///   - canonicalName: CNAME of its reports, RFC 3550 §6.5.1.
  public init(ssrc: UInt32, canonicalName: String) {
    self.ssrc = ssrc
    self.canonicalName = canonicalName
  }

  /// Adds a track, or replaces one.
  ///
  /// - Parameters:
  ///   - index: Number of the track, of the caller's choice.
  ///   - format: Format of the track.
  ///   - reorders: Whether packets may come in another order, as over UDP.
  /// - Returns: Its configuration, where it is known.
  /// - Throws: `ParsingError` when the format's parameters cannot be used.
  public mutating func addTrack(
    _ index: Int, format: RTPMediaFormat, reorders: Bool
  ) throws(ParsingError) -> [ReceivedMedia] {
    let track = try RTPTrackReceiver(format, reorders: reorders)
    self.tracks[index] = track
    return track.firstDescription.map { [.description($0)] } ?? []
  }

  /// Number of samples that could not be decoded and were dropped.
  public var droppedSampleCount: Int { self.tracks.values.reduce(0) { $0 + $1.droppedSampleCount } }

  /// Depacketizes an RTP packet of a track.
  ///
  /// - Returns: The samples that it completes, with new configurations before them; none for an unknown track.
  /// - Throws: `ParsingError` of a malformed packet, which is dropped.
  public mutating func receive(
    rtp bytes: ByteBuffer, track index: Int, at now: MediaTime
  ) throws(ParsingError) -> [ReceivedMedia] {
    // Taken out, so that the packets that it holds are not copied.
    guard var track = self.tracks.removeValue(forKey: index) else { return [] }
    defer { self.tracks[index] = track }
    let packet = try RTPPacket(parsing: bytes)
    let (kind, clockRate) = (track.format.kind, track.format.clockRate)
    var clock = self.clock
    self.clock = RTPSourceClock()
    defer { self.clock = clock }
    return try track.handle(packet, at: now) {
      clock.time(of: $0, track: index, kind: kind, clockRate: clockRate, arrival: now)
    }
  }

  /// Applies the sender reports of a compound RTCP packet of a track.
  ///
  /// - Throws: `ParsingError` of a malformed packet.
  public mutating func receive(rtcp bytes: ByteBuffer, track index: Int, at now: MediaTime) throws(ParsingError) {
    let compound = try RTCPCompoundPacket(parsing: bytes)
    for case .senderReport(let report) in compound.packets {
      guard let ticks = self.tracks[index]?.handle(report, at: now), let format = self.tracks[index]?.format else {
        continue
      }
      self.clock.handle(
        report, ticks: ticks, track: index, kind: format.kind, clockRate: format.clockRate, arrival: now)
    }
  }

  /// A receiver report on a track with its source description, RFC 3550 §6.4.2; nil before its first packet.
  public mutating func makeReport(track index: Int, now: MediaTime) -> ByteBuffer? {
    guard let block = self.tracks[index]?.makeReportBlock(now: now) else { return nil }
    var buffer = ByteBuffer()
    RTCPCompoundPacket([
      .receiverReport(RTCPReceiverReport(ssrc: self.ssrc, reportBlocks: [block])),
      .sourceDescription(RTCPSourceDescription(ssrc: self.ssrc, cname: self.canonicalName)),
    ]).serialize(into: &buffer)
    return buffer
  }
}
