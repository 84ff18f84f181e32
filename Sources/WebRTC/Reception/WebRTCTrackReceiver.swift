package import Bitstreams
package import Media
package import NIOCore
internal import RTP

/// Receives one track of a publisher: retransmissions, order, frames, statistics, and requests to the publisher.
///
/// ```
/// RTP ──RTX unwrapped──▶ JitterBuffer ──▶ depacketizer ──▶ frames
///                             └──▶ NACK          └──▶ PLI
/// ```
struct WebRTCTrackReceiver: Sendable {
  private enum Depacketizer: Sendable {
    case h264(H264Depacketizer)
    case vp8(VP8Depacketizer)
    case opus(OpusDepacketizer)
  }

  /// Maximum number of pixels of a frame: 4096 × 2304. Larger ones are dropped, which bounds a decoder's memory.
  static let maximumPixelCount = 4096 * 2304
  /// Time from the first packet in which its keyframe is complete on most paths.
  private static let firstKeyframeDelay = MediaDuration.milliseconds(50)
  /// Minimum time between two frames.
  private static let minimumFrameDuration = MediaDuration.microseconds(100)

  /// The track as answered.
  let track: WebRTCPublishAnswer.Track
  /// SSRC of the track; nil before its first packet.
  private(set) var ssrc: UInt32?
  /// Requests for keyframes.
  private(set) var keyframes = PictureLossRequests()
  /// Number of frames and audio packets that were returned.
  private(set) var frameCount = 0
  /// Number of frames that were received in part or completely, and not returned.
  private(set) var droppedFrameCount = 0
  /// Number of malformed packets.
  private(set) var malformedPacketCount = 0
  private var jitterBuffer = JitterBuffer()
  private var depacketizer: Depacketizer
  private var statistics: RTPReceptionStatistics
  private var unwrapper = RTPTimestampUnwrapper()
  private var video = H264SampleReader(frameRate: FrameRate(30))
  /// Time of the last frame.
  private var lastTime: MediaTime?
  /// Size of the frames where it is one that is refused.
  private var refusedSize: VP8FrameHeader.Size?
  /// A refused size that the session has not reported yet.
  private var unreportedSize: VP8FrameHeader.Size?

  init(_ track: WebRTCPublishAnswer.Track) {
    self.track = track
    self.statistics = RTPReceptionStatistics(clockRate: track.codec.clockRate)
    self.depacketizer = Self.makeDepacketizer(track.codec)
  }

  private static func makeDepacketizer(_ codec: WebRTCPublishAnswer.Codec) -> Depacketizer {
    switch codec {
    case .h264: .h264(H264Depacketizer())
    case .vp8: .vp8(VP8Depacketizer())
    case .opus: .opus(OpusDepacketizer())
    }
  }

  /// Index of the track in ``PublisherClock``.
  var clockIndex: Int { self.track.codec == .opus ? 1 : 0 }

  /// Round trip that was measured; nil before.
  var roundTrip: MediaDuration? { self.jitterBuffer.roundTrip }

  /// Records a round trip that the publisher's answer to a report measures.
  mutating func noteRoundTrip(_ sample: MediaDuration) { self.jitterBuffer.noteRoundTrip(sample) }

  /// Round trip, or the presumed one.
  private var effectiveRoundTrip: MediaDuration { self.roundTrip ?? JitterBuffer.presumedRoundTrip }

  private var canRequestKeyframes: Bool { !self.track.feedback.isDisjoint(with: [.nackPLI, .ccmFIR]) }

  /// Number of packets that were given up.
  var lostPacketCount: Int { self.jitterBuffer.lostPacketCount }
  /// Number of missing packets that came in time.
  var recoveredPacketCount: Int { self.jitterBuffer.recoveredPacketCount }

  /// Time at which ``handleTimeout(at:clock:)`` or ``makeFeedback(senderSSRC:at:)`` is due.
  var nextDeadline: MediaTime? {
    let keyframe =
      self.ssrc == nil || !self.canRequestKeyframes
      ? nil : self.keyframes.nextDeadline(roundTrip: self.effectiveRoundTrip)
    return [self.jitterBuffer.nextDeadline, keyframe].compactMap(\.self).min()
  }

  /// Depacketizes a packet of the track's payload types.
  mutating func handle(_ packet: RTPPacket, at now: MediaTime, clock: inout PublisherClock) -> [WebRTCReceivedFrame] {
    guard packet.header.payloadType == self.track.payloadType else {
      return self.handleRetransmission(packet, at: now, clock: &clock)
    }
    if packet.header.ssrc != self.ssrc { self.restart(ssrc: packet.header.ssrc, at: now) }
    guard self.statistics.handle(packet.header, arrival: now) != .jump else { return [] }
    let ticks = self.unwrapper.unwrap(packet.header.timestamp)
    clock.handleArrival(
      ticks: ticks, track: self.clockIndex, clockRate: self.track.codec.clockRate, arrival: now)
    self.jitterBuffer.jitter = .ticks(Int64(self.statistics.jitter), timescale: self.track.codec.clockRate)
    return self.depacketize(self.jitterBuffer.insert(packet, at: now), at: now, clock: &clock)
  }

  private mutating func handleRetransmission(
    _ packet: RTPPacket, at now: MediaTime, clock: inout PublisherClock
  ) -> [WebRTCReceivedFrame] {
    guard packet.header.payloadType == self.track.retransmissionPayloadType, let ssrc = self.ssrc else { return [] }
    // Without a number it is padding, which probes the bandwidth.
    guard
      let original = try? RTPRetransmission.original(of: packet, ssrc: ssrc, payloadType: self.track.payloadType)
    else { return [] }
    let released = self.jitterBuffer.insert(original, isRetransmission: true, at: now)
    return self.depacketize(released, at: now, clock: &clock)
  }

  /// Records that a decoder needs a keyframe.
  mutating func needKeyframe() { self.keyframes.need() }

  /// Gives up packets that were waited for.
  mutating func handleTimeout(at now: MediaTime, clock: inout PublisherClock) -> [WebRTCReceivedFrame] {
    self.depacketize(self.jitterBuffer.release(at: now), at: now, clock: &clock)
  }

  /// NACK and PLI that are due.
  mutating func makeFeedback(senderSSRC: UInt32, at now: MediaTime) -> [RTCPPacket] {
    guard let ssrc = self.ssrc else { return [] }
    var messages: [RTCPFeedback.Message] = []
    let missing = self.jitterBuffer.requests(at: now)
    if !missing.isEmpty, self.track.feedback.contains(.nack) { messages.append(.nack(RTCPNackPair.pairs(missing))) }
    if self.canRequestKeyframes,
      self.keyframes.request(roundTrip: self.effectiveRoundTrip, at: now)
    {
      messages.append(
        self.track.feedback.contains(.nackPLI)
          ? .pictureLossIndication
          : .fullIntraRequest([
            RTCPFullIntraRequest(
              ssrc: ssrc, commandSequenceNumber: UInt8(truncatingIfNeeded: self.keyframes.count))
          ]))
    }
    return messages.map { message in
      // RFC 5104 §4.3.1.2: the media SSRC of a full intra request is 0.
      if case .fullIntraRequest = message {
        return .feedback(RTCPFeedback(senderSSRC: senderSSRC, mediaSSRC: 0, message: message))
      }
      return .feedback(RTCPFeedback(senderSSRC: senderSSRC, mediaSSRC: ssrc, message: message))
    }
  }

  /// Records a sender report on the track.
  mutating func handle(_ report: RTCPSenderReport, at now: MediaTime, clock: inout PublisherClock) {
    guard report.ssrc == self.ssrc else { return }
    self.statistics.handle(report, arrival: now)
    clock.handle(
      report, ticks: self.unwrapper.unwrap(report.rtpTimestamp), track: self.clockIndex,
      clockRate: self.track.codec.clockRate, at: now)
  }

  /// The report block on the track; nil before its first packet.
  mutating func makeReportBlock(at now: MediaTime) -> RTCPReportBlock? {
    self.ssrc.map { self.statistics.makeReportBlock(ssrc: $0, now: now) }
  }

  /// Removes and returns a size that was refused since the last call; nil without one.
  mutating func takeRefusedSize() -> VP8FrameHeader.Size? {
    defer { self.unreportedSize = nil }
    return self.unreportedSize
  }

  /// Begins a new source: the publisher replaced the track.
  private mutating func restart(ssrc: UInt32, at now: MediaTime) {
    let isFirst = self.ssrc == nil
    self.ssrc = ssrc
    // The first keyframe may be this one, or may have been sent before the keys were known.
    if self.track.codec != .opus { self.keyframes.need(from: now + Self.firstKeyframeDelay) }
    guard !isFirst else { return }
    self.jitterBuffer.restart()
    self.statistics = RTPReceptionStatistics(clockRate: self.track.codec.clockRate)
    self.depacketizer = Self.makeDepacketizer(self.track.codec)
  }
}

// MARK: Frames

extension WebRTCTrackReceiver {
  private mutating func depacketize(
    _ packets: [RTPPacket], at now: MediaTime, clock: inout PublisherClock
  ) -> [WebRTCReceivedFrame] {
    var frames: [WebRTCReceivedFrame] = []
    for packet in packets {
      do throws(ParsingError) {
        switch self.depacketizer {
        case .h264(var depacketizer):
          // The only reference, so that appending to an access unit copies nothing.
          self.depacketizer = .opus(OpusDepacketizer())
          defer { self.depacketizer = .h264(depacketizer) }
          let (lost, dropped) = (depacketizer.lostPacketCount, depacketizer.droppedAccessUnitCount)
          defer { self.noteDamage(depacketizer.lostPacketCount - lost, depacketizer.droppedAccessUnitCount - dropped) }
          for unit in try depacketizer.depacketize(packet) { self.append(unit, to: &frames, at: now, clock: &clock) }
        case .vp8(var depacketizer):
          self.depacketizer = .opus(OpusDepacketizer())
          defer { self.depacketizer = .vp8(depacketizer) }
          let (lost, dropped) = (depacketizer.lostPacketCount, depacketizer.droppedFrameCount)
          defer { self.noteDamage(depacketizer.lostPacketCount - lost, depacketizer.droppedFrameCount - dropped) }
          for unit in try depacketizer.depacketize(packet) { self.append(unit, to: &frames, at: now, clock: &clock) }
        case .opus(var depacketizer):
          defer { self.depacketizer = .opus(depacketizer) }
          if let unit = try depacketizer.depacketize(packet) { self.append(unit, to: &frames, at: now, clock: &clock) }
        }
      } catch {
        self.malformedPacketCount += 1
        if self.track.codec != .opus { self.keyframes.need() }
      }
    }
    self.frameCount += frames.count
    return frames
  }

  /// Counts dropped frames of video; after them, and after lost packets, a keyframe is needed.
  private mutating func noteDamage(_ lost: UInt64, _ dropped: UInt64) {
    self.droppedFrameCount += Int(clamping: dropped)
    if lost > 0 || dropped > 0 { self.keyframes.need() }
  }

  private mutating func append(
    _ unit: H264Depacketizer.Output, to frames: inout [WebRTCReceivedFrame], at now: MediaTime,
    clock: inout PublisherClock
  ) {
    let changed = self.video.adopt(unit.accessUnit)
    if let changed { self.judge(VP8FrameHeader.Size(width: changed.width, height: changed.height)) }
    guard self.video.description != nil, self.refusedSize == nil else {
      self.droppedFrameCount += 1
      return
    }
    // A publisher with intra refresh, or one that copies a recorded stream, may never send the keyframe that is requested.
    let isStart = unit.accessUnit.isKeyframe || self.keyframes.isNeeded && unit.accessUnit.randomAccess != nil
    if isStart { self.keyframes.handleKeyframe() }
    frames.append(
      WebRTCReceivedFrame(
        content: .h264(newDescription: changed), payload: self.video.payload(of: unit.accessUnit, isStart: isStart),
        presentationTime: self.time(of: unit.timestamp, at: now, clock: &clock), isKeyframe: isStart))
  }

  private mutating func append(
    _ unit: VP8Depacketizer.Output, to frames: inout [WebRTCReceivedFrame], at now: MediaTime,
    clock: inout PublisherClock
  ) {
    if let size = unit.header.size { self.judge(size) }
    guard self.refusedSize == nil else {
      self.droppedFrameCount += 1
      return
    }
    if unit.header.isKeyframe { self.keyframes.handleKeyframe() }
    frames.append(
      WebRTCReceivedFrame(
        content: .vp8(size: unit.header.size), payload: unit.payload,
        presentationTime: self.time(of: unit.timestamp, at: now, clock: &clock), isKeyframe: unit.header.isKeyframe))
  }

  private mutating func append(
    _ unit: OpusDepacketizer.Output, to frames: inout [WebRTCReceivedFrame], at now: MediaTime,
    clock: inout PublisherClock
  ) {
    frames.append(
      WebRTCReceivedFrame(
        content: .opus(duration: .ticks(Int64(unit.header.sampleCount), timescale: OpusPacketHeader.sampleRate)),
        payload: unit.payload, presentationTime: self.time(of: unit.timestamp, at: now, clock: &clock),
        isKeyframe: true))
  }

  private mutating func time(of timestamp: UInt32, at now: MediaTime, clock: inout PublisherClock) -> MediaTime {
    let mapped = clock.time(
      of: self.unwrapper.unwrap(timestamp), track: self.clockIndex, clockRate: self.track.codec.clockRate, at: now)
    // A sender whose timestamps go back gets times that do not.
    let time = self.lastTime.map { max(mapped, $0 + Self.minimumFrameDuration) } ?? mapped
    self.lastTime = time
    return time
  }

  /// Refuses frames that are too large.
  private mutating func judge(_ size: VP8FrameHeader.Size) {
    let refused = size.width * size.height > Self.maximumPixelCount ? size : nil
    if let refused, refused != self.refusedSize { self.unreportedSize = refused }
    self.refusedSize = refused
  }
}

/// A frame or audio packet of a publisher, complete and in order, with its time on the stream's clock.
package struct WebRTCReceivedFrame: Sendable {
  /// The codec with what a decoder must know besides the payload.
  package enum Content: Hashable, Sendable {
    /// An H.264 access unit, each NAL unit preceded by its length in 4 bytes; the configuration where it is new, which precedes a
    /// keyframe.
    case h264(newDescription: H264Description?)
    /// A VP8 frame; the size of a keyframe.
    case vp8(size: VP8FrameHeader.Size?)
    /// An Opus packet; its duration.
    case opus(duration: MediaDuration)
  }

  /// Codec of the payload, and what its header says.
  package var content: Content
  /// Compressed bytes of the whole frame, or of one audio packet.
  package var payload: ByteBuffer
  /// Capture time, on the stream's clock. Times of a track increase.
  package var presentationTime: MediaTime
  /// Whether decoding can start here; true for audio.
  package var isKeyframe: Bool
}
