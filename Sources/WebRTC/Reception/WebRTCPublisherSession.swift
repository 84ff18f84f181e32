internal import Bitstreams
package import Media
package import NIOCore
internal import RTP

/// The session of one publisher: what it sends, as frames on the stream's clock, and the feedback that it needs. Pure: time is an
/// argument, and datagrams are values.
///
/// ```
///   datagrams, timeouts ──▶ change of state ──▶ drain(into:at:) ──▶ datagrams
///                                  └──▶ events, frames among them
/// ```
///
/// The caller changes the state, then drains, then waits for input or ``nextDeadline``. Video starts at a keyframe, and after a loss
/// that was not repaired it starts again at one, which the publisher is asked for.
package struct WebRTCPublisherSession {
  /// Consequence of a changed state for the caller.
  package enum Event: Sendable {
    /// Datagrams of an address belong to this session unless another one has proved it: the publisher has checked from there.
    case checked(TransportAddress)
    /// Datagrams of an address belong to this session: the publisher has proved that it receives there. Repeated with each proof.
    case valid(TransportAddress)
    /// Datagrams of an address do not belong to this session any more.
    case invalid(TransportAddress)
    /// Media may follow; before the first frame, once.
    case ready(SRTPProfile)
    /// A complete frame or audio packet.
    case frame(WebRTCReceivedFrame)
    /// Frames of this size are dropped, since they are too large.
    case refused(width: Int, height: Int)
    /// The session has ended; nothing follows.
    case closed(WebRTCTransport.CloseReason)
  }

  /// Counters of a publisher's session since its start, over all tracks.
  package struct Statistics: Hashable, Sendable {
    /// Packets that arrived, retransmissions included.
    package var packetsReceived = 0
    /// Bytes of SRTP that arrived.
    package var bytesReceived = 0
    /// Packets of payload types that were not agreed on.
    package var packetsIgnored = 0
    /// Round trip by the publisher's answers; nil before.
    package var roundTrip: MediaDuration?
  }

  /// Counters of a received track since the start of its session.
  package struct TrackStatistics: Hashable, Sendable {
    /// Frames or audio packets that were complete and in order.
    package var frames = 0
    /// Frames that were incomplete, undecodable or too large.
    package var framesDropped = 0
    /// Missing packets that came in time.
    package var packetsRecovered = 0
    /// Missing packets that were given up.
    package var packetsLost = 0
    /// Keyframes that were requested.
    package var keyframesRequested = 0
  }

  /// Interval between two receiver reports of all tracks.
  package static let reportInterval = MediaDuration.seconds(1)
  /// Maximum round trip that a publisher's answer may report.
  private static let maximumRoundTripSeconds: UInt32 = 10

  private var transport: WebRTCTransport
  private var video: WebRTCTrackReceiver?
  private var audio: WebRTCTrackReceiver?
  private var clock = PublisherClock()
  private var arrivals = TransportWideArrivals()
  private let ssrc: UInt32
  private let maximumVideoBitrate: Int?

  private var responses: [(datagram: ByteBuffer, address: TransportAddress)] = []
  private var events = CircularBuffer<Event>()
  private var isReady = false
  private var profile: SRTPProfile?
  private var nextReport: MediaTime?
  /// Counters of the session since its start.
  package private(set) var statistics = Statistics()

  /// Creates the session of an answered offer.
  ///
  /// - Parameters:
  ///   - answer: The answer, with the publisher's transport.
  ///   - credentials: The server's ICE credentials, as answered.
  ///   - client: The publisher's ICE credentials, as offered.
  ///   - number: Number of the session among those that share a port.
  ///   - maximumVideoBitrate: Limit that the publisher gets by REMB, in bits per second; nil without one.
  ///   - makeRandom: Makes 64 random bits, for the SSRC of reports and for checks.
  package init(
    _ answer: WebRTCPublishAnswer, credentials: ICECredentials, client: ICECredentials, number: UInt32 = 0,
    security: any DatagramSecurity, maximumVideoBitrate: Int? = nil, makeRandom: @escaping @Sendable () -> UInt64,
    at now: MediaTime
  ) {
    self.transport = WebRTCTransport(
      credentials: credentials, client: client, number: number, fingerprints: answer.clientTransport.fingerprints,
      role: answer.role, security: security, makeRandom: makeRandom, at: now)
    self.video = answer.video.map { WebRTCTrackReceiver($0) }
    self.audio = answer.audio.map { WebRTCTrackReceiver($0) }
    self.ssrc = UInt32(truncatingIfNeeded: makeRandom())
    self.maximumVideoBitrate = maximumVideoBitrate
  }

  /// Number of the publisher's authentic checks.
  package var checkCount: Int { self.transport.checkCount }

  /// Number of datagrams dropped since the start of the session: not authentic, repeated, of an address that is not proven, of another
  /// protocol or payload type, malformed, or control beyond what a publisher may send.
  package var droppedDatagramCount: Int {
    let counts = self.transport.dropCounts
    let malformed = (self.video?.malformedPacketCount ?? 0) + (self.audio?.malformedPacketCount ?? 0)
    return counts.rejected + counts.excess + self.statistics.packetsIgnored + malformed
  }

  /// Counters of the video track; nil without one.
  package var videoStatistics: TrackStatistics? { self.video.map(Self.statistics) }

  /// Counters of the audio track; nil without one.
  package var audioStatistics: TrackStatistics? { self.audio.map(Self.statistics) }

  /// Time at which ``handleTimeout(at:)`` is due; nil after the end.
  package var nextDeadline: MediaTime? {
    guard let transport = self.transport.nextDeadline else { return nil }
    guard self.isReady, self.transport.selectedAddress != nil else { return transport }
    return [self.video?.nextDeadline, self.audio?.nextDeadline, self.arrivals.nextDeadline, self.nextReport]
      .compactMap(\.self).reduce(transport, min)
  }

  /// Removes and returns the oldest event; nil when all were returned.
  package mutating func nextEvent() -> Event? { self.events.popFirst() }

  /// Processes a datagram of the session, whatever its protocol.
  package mutating func handle(_ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime) {
    guard DatagramKind(datagram) == .rtp else {
      self.apply(self.transport.handle(datagram, from: source, at: now), at: now)
      return
    }
    guard let packet = self.transport.open(media: datagram, from: source, at: now) else { return }
    // From an address that is proved, but not nominated yet: RFC 8445 §12.
    self.becomeReady(at: now)
    self.statistics.packetsReceived += 1
    self.statistics.bytesReceived += datagram.readableBytes
    self.handle(packet, at: now)
    self.sendFeedback(at: now)
  }

  /// Does what is due at ``nextDeadline``.
  package mutating func handleTimeout(at now: MediaTime) {
    self.apply(self.transport.handleTimeout(at: now), at: now)
    guard self.isReady else { return }
    self.append(self.video?.handleTimeout(at: now, clock: &self.clock))
    self.append(self.audio?.handleTimeout(at: now, clock: &self.clock))
    self.sendFeedback(at: now)
  }

  /// Asks for a keyframe, since a decoder or a new output needs one.
  package mutating func requestKeyframe(at now: MediaTime) {
    self.video?.needKeyframe()
    self.sendFeedback(at: now)
  }

  /// Adopts new ICE credentials, RFC 8445 §9; keys and media stay.
  package mutating func restart(credentials: ICECredentials, client: ICECredentials, at now: MediaTime) {
    self.transport.restart(credentials: credentials, client: client, at: now)
  }

  /// Ends the session, and notifies the publisher.
  package mutating func close(at now: MediaTime) { self.apply(self.transport.close(), at: now) }

  /// Appends everything that may leave now.
  package mutating func drain(into batch: inout DatagramBatch) {
    for (datagram, address) in self.responses { batch.append(datagram, to: address) }
    self.responses.removeAll(keepingCapacity: true)
  }
}

// MARK: Received media and feedback

extension WebRTCPublisherSession {
  private mutating func apply(_ outputs: [WebRTCTransport.Output], at now: MediaTime) {
    for output in outputs {
      switch output {
      case .send(let datagram, let address): self.responses.append((datagram, address))
      case .connected(let profile): self.profile = profile
      case .selected: break
      case .checked(let address): self.events.append(.checked(address))
      case .valid(let address): self.events.append(.valid(address))
      case .invalid(let address): self.events.append(.invalid(address))
      case .received(let compound): self.handle(compound, at: now)
      case .closed(let reason):
        self.isReady = false
        self.events.append(.closed(reason))
      }
    }
    if self.transport.isReady { self.becomeReady(at: now) }
  }

  /// Announces media, before the first frame.
  private mutating func becomeReady(at now: MediaTime) {
    guard !self.isReady, let profile = self.profile else { return }
    self.isReady = true
    self.nextReport = now + Self.reportInterval
    self.events.append(.ready(profile))
  }

  private mutating func handle(_ packet: RTPPacket, at now: MediaTime) {
    let payloadType = packet.header.payloadType
    if let track = self.video?.track, track.receives(payloadType) {
      self.noteArrival(packet, track: track, at: now)
      self.append(self.video?.handle(packet, at: now, clock: &self.clock))
    } else if let track = self.audio?.track, track.receives(payloadType) {
      self.noteArrival(packet, track: track, at: now)
      self.append(self.audio?.handle(packet, at: now, clock: &self.clock))
    } else {
      self.statistics.packetsIgnored += 1
    }
  }

  private mutating func noteArrival(_ packet: RTPPacket, track: WebRTCPublishAnswer.Track, at now: MediaTime) {
    guard let id = track.extensionIDs[WebRTCAnswer.ExtensionURI.transportWideCC],
      let header = packet.header.headerExtension,
      let data = (try? RTPExtensionElements(parsing: header))?[id],
      let number = RTPTransportWideSequenceNumber(parsing: data)
    else { return }
    self.arrivals.handle(number, at: now)
  }

  private mutating func append(_ frames: [WebRTCReceivedFrame]?) {
    for frame in frames ?? [] { self.events.append(.frame(frame)) }
    if let size = self.video?.takeRefusedSize() {
      self.events.append(.refused(width: size.width, height: size.height))
    }
  }

  private mutating func handle(_ compound: RTCPCompoundPacket, at now: MediaTime) {
    for packet in compound.packets {
      switch packet {
      case .senderReport(let report):
        self.video?.handle(report, at: now, clock: &self.clock)
        self.audio?.handle(report, at: now, clock: &self.clock)
      case .extendedReport(let report): self.handle(report, at: now)
      case .receiverReport, .sourceDescription, .goodbye, .feedback, .other: break
      }
    }
  }

  /// The round trip, RFC 3611 §4.5: time since our reference time without the time that the publisher kept it.
  private mutating func handle(_ report: RTCPExtendedReport, at now: MediaTime) {
    for case .delaySinceLastReceiverReport(let delays) in report.blocks {
      for delay in delays where delay.ssrc == self.ssrc && delay.lastReceiverReport != 0 {
        let ticks = Self.referenceTime(now).middle &- delay.lastReceiverReport &- delay.delay
        // A lie gives a round trip that no path has.
        guard ticks < 65_536 * Self.maximumRoundTripSeconds else { continue }
        let roundTrip = MediaDuration.ticks(Int64(ticks), timescale: 65_536)
        self.statistics.roundTrip = roundTrip
        self.video?.noteRoundTrip(roundTrip)
        self.audio?.noteRoundTrip(roundTrip)
      }
    }
  }
}

// MARK: Feedback

extension WebRTCPublisherSession {
  /// Sends what is due: NACK, PLI, transport-wide feedback, reports.
  private mutating func sendFeedback(at now: MediaTime) {
    guard self.isReady, let address = self.transport.selectedAddress else { return }
    if let due = self.nextReport, now >= due {
      self.nextReport = now + Self.reportInterval
      self.send(self.makeReports(at: now), to: address)
    }
    let ssrc = self.ssrc
    var packets: [RTCPPacket] = []
    if let feedback = self.video?.makeFeedback(senderSSRC: ssrc, at: now) { packets += feedback }
    if let feedback = self.audio?.makeFeedback(senderSSRC: ssrc, at: now) { packets += feedback }
    if !packets.isEmpty { self.send([.receiverReport(RTCPReceiverReport(ssrc: self.ssrc))] + packets, to: address) }
    guard let due = self.arrivals.nextDeadline, now >= due else { return }
    for feedback in self.arrivals.makeFeedback(at: now) {
      self.send(
        [
          .receiverReport(RTCPReceiverReport(ssrc: self.ssrc)),
          .feedback(
            RTCPFeedback(
              senderSSRC: self.ssrc, mediaSSRC: self.video?.ssrc ?? self.audio?.ssrc ?? 0,
              message: .transportWide(feedback))),
        ], to: address)
    }
  }

  /// A receiver report on all tracks, RFC 3550 §6.4.2, with the reference time whose answer gives the round trip, and the limit of the
  /// bitrate.
  private mutating func makeReports(at now: MediaTime) -> [RTCPPacket] {
    var blocks: [RTCPReportBlock] = []
    if let block = self.video?.makeReportBlock(at: now) { blocks.append(block) }
    if let block = self.audio?.makeReportBlock(at: now) { blocks.append(block) }
    var packets: [RTCPPacket] = [
      .receiverReport(RTCPReceiverReport(ssrc: self.ssrc, reportBlocks: blocks)),
      .sourceDescription(RTCPSourceDescription(ssrc: self.ssrc, cname: WebRTCAnswer.canonicalName)),
      .extendedReport(
        RTCPExtendedReport(ssrc: self.ssrc, blocks: [.receiverReferenceTime(Self.referenceTime(now))])),
    ]
    if let bitrate = self.maximumVideoBitrate, let video = self.video, let ssrc = video.ssrc,
      video.track.feedback.contains(.googREMB)
    {
      packets.append(
        .feedback(
          RTCPFeedback(
            senderSSRC: self.ssrc, mediaSSRC: 0,
            message: .receiverEstimatedBitrate(
              RTCPReceiverEstimatedBitrate(bitrate: UInt64(clamping: bitrate), ssrcs: [ssrc])))))
    }
    return packets
  }

  private mutating func send(_ packets: [RTCPPacket], to address: TransportAddress) {
    // Not ready any more, or the library failed: feedback is lost as datagrams are.
    guard let datagram = try? self.transport.seal(RTCPCompoundPacket(packets)) else { return }
    self.responses.append((datagram, address))
  }

  /// Our time in reports; only differences of it matter.
  private static func referenceTime(_ now: MediaTime) -> NTPTimestamp { NTPTimestamp(unixNanoseconds: now.nanoseconds) }

  private static func statistics(_ track: WebRTCTrackReceiver) -> TrackStatistics {
    TrackStatistics(
      frames: track.frameCount, framesDropped: track.droppedFrameCount, packetsRecovered: track.recoveredPacketCount,
      packetsLost: track.lostPacketCount, keyframesRequested: track.keyframes.count)
  }
}
