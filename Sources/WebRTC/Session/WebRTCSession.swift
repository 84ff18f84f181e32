package import Media
package import NIOCore
internal import RTP

/// The session of one viewer: what it is sent, and what follows from its reports. Pure: time is an argument, and datagrams are
/// values.
///
/// ```
///   datagrams, timeouts, media ──▶ change of state ──▶ drain(into:at:) ──▶ datagrams
///                                        └──▶ events
/// ```
///
/// The caller changes the state, then drains, then waits for input or ``nextDeadline``. Video starts at a keyframe, and starts
/// again at one after frames were left out. Audio precedes retransmissions, and those precede video.
package struct WebRTCSession {
  /// Consequence of a changed state for the caller.
  package enum Event: Hashable, Sendable {
    /// Datagrams of an address belong to this session from now on.
    case valid(TransportAddress)
    /// Media can be sent: the client is to be given the stream's.
    case ready(SRTPProfile)
    /// The client needs a keyframe.
    case keyframeNeeded
    /// The session has ended; nothing follows.
    case closed(WebRTCTransport.CloseReason)
  }

  /// A frame that waits, or is sent in part.
  private struct Queued {
    var media: WebRTCMedia
    var nextIndex = 0
    var time: MediaTime
  }

  private struct Retransmission {
    var media: WebRTCMedia
    var index: Int
    var number: UInt16
  }

  /// Age of the oldest frame in the queue from which all video is dropped up to the next keyframe.
  package static let maximumQueueAge = MediaDuration.milliseconds(500)
  /// Interval of sender reports.
  package static let reportInterval = MediaDuration.seconds(1)
  /// Time in which a client's requests for keyframes are one.
  private static let keyframeRequestInterval = MediaDuration.seconds(1)
  /// Round trip before the first report.
  private static let presumedRoundTrip = MediaDuration.milliseconds(50)
  /// Most that may be sent again beyond half of what is sent, in bytes: a client cannot multiply its traffic by requests.
  private static let maximumRetransmissionCredit = 512 * 1024

  private var transport: WebRTCTransport
  private var video: WebRTCTrackSender?
  private var audio: WebRTCTrackSender?
  private let unixTime: @Sendable (MediaTime) -> Int64
  private var history = TransportWideHistory()

  private var responses: [(datagram: ByteBuffer, address: TransportAddress)] = []
  private var events = CircularBuffer<Event>()
  private var audioQueue = CircularBuffer<Queued>()
  private var videoQueue = CircularBuffer<Queued>()
  private var retransmissions = CircularBuffer<Retransmission>()
  private var retransmissionCredit = Self.maximumRetransmissionCredit
  private var isReady = false
  private var profile: SRTPProfile?
  private var waitsForKeyframe = true
  private var lastKeyframe: MediaTime?
  private var lastKeyframeRequest: MediaTime?
  private var lastFullIntraRequest: UInt8?
  private var nextReport: MediaTime?
  /// The client's last reference time (XR), and when it arrived.
  private var referenceTime: (ssrc: UInt32, middle: UInt32, arrival: MediaTime)?
  /// Counters, and what the client reports.
  package private(set) var statistics = WebRTCSessionStatistics()

  /// Creates the session of an answered offer.
  ///
  /// - Parameters:
  ///   - answer: The answer, with the client's transport.
  ///   - credentials: The server's ICE credentials, as answered.
  ///   - makeRandom: Makes 64 random bits, for numbers and timestamps.
  ///   - unixTime: Converts a time of the stream's clock to nanoseconds since 1970.
  package init(
    _ answer: WebRTCAnswer, credentials: ICECredentials, security: any DatagramSecurity, makeRandom: () -> UInt64,
    unixTime: @escaping @Sendable (MediaTime) -> Int64, at now: MediaTime
  ) {
    self.transport = WebRTCTransport(
      credentials: credentials, fingerprints: answer.clientTransport.fingerprints, security: security, at: now)
    self.video = answer.video.map { WebRTCTrackSender($0, kind: .video, makeRandom: makeRandom) }
    self.audio = answer.audio.map { WebRTCTrackSender($0, kind: .audio, makeRandom: makeRandom) }
    self.unixTime = unixTime
  }

  /// Whether a video track was answered.
  package var hasVideo: Bool { self.video != nil }

  /// Number of the client's authentic checks.
  package var checkCount: Int { self.transport.checkCount }

  /// Destination of media; nil before the client's nomination.
  package var selectedAddress: TransportAddress? { self.transport.selectedAddress }

  /// Datagrams that were dropped.
  package var dropCounts: WebRTCTransport.DropCounts { self.transport.dropCounts }

  /// When ``handleTimeout(at:)`` is due; nil after the end.
  package var nextDeadline: MediaTime? {
    guard let transport = self.transport.nextDeadline else { return nil }
    return min(transport, self.nextReport ?? transport)
  }

  /// Takes the next event.
  package mutating func nextEvent() -> Event? { self.events.popFirst() }

  /// Handles a datagram of the session.
  package mutating func handle(_ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime) {
    self.apply(self.transport.handle(datagram, from: source, at: now), at: now)
  }

  /// Does what is due at ``nextDeadline``.
  package mutating func handleTimeout(at now: MediaTime) {
    self.apply(self.transport.handleTimeout(at: now), at: now)
    guard let due = self.nextReport, now >= due, self.isReady else { return }
    self.nextReport = now + Self.reportInterval
    self.sendReport(at: now)
  }

  /// Takes new ICE credentials, RFC 8445 §9; keys and media stay.
  package mutating func restart(credentials: ICECredentials, at now: MediaTime) {
    self.transport.restart(credentials: credentials, at: now)
  }

  /// Ends the session, and notifies the client.
  package mutating func close(at now: MediaTime) {
    self.apply(self.transport.close(), at: now)
  }

  /// Queues an access unit or audio frame.
  package mutating func send(_ media: WebRTCMedia, at now: MediaTime) {
    guard (media.kind == .video ? self.video : self.audio) != nil else { return }
    guard self.isReady else { return }
    if media.kind == .audio {
      // Audio that could not leave for this long is not worth its time.
      while let first = self.audioQueue.first, now - first.time >= Self.maximumQueueAge {
        self.audioQueue.removeFirst()
      }
      self.audioQueue.append(Queued(media: media, time: now))
      return
    }
    if let first = self.videoQueue.first, now - first.time >= Self.maximumQueueAge { self.dropVideo(at: now) }
    if self.waitsForKeyframe, !media.isKeyframe {
      // Before the first keyframe, nothing is missed.
      if self.lastKeyframe != nil { self.statistics.framesDropped += 1 }
      self.requestKeyframe(at: now)
      return
    }
    self.waitsForKeyframe = false
    self.videoQueue.append(Queued(media: media, time: now))
    if media.isKeyframe {
      self.lastKeyframe = now
      self.lastKeyframeRequest = nil
    }
  }

  /// Drops frames that wait and those that could be sent again: they must not be shown any more.
  package mutating func discardEarlier(at now: MediaTime) {
    self.video?.history.removeAll()
    self.retransmissions.removeAll()
    if !self.videoQueue.isEmpty { self.dropVideo(at: now) }
  }

  /// Seals and appends everything that may leave now.
  package mutating func drain(into batch: inout DatagramBatch, at now: MediaTime) {
    for (datagram, address) in self.responses { batch.append(datagram, to: address) }
    self.responses.removeAll(keepingCapacity: true)
    guard self.isReady, let address = self.transport.selectedAddress else { return }
    while var queued = self.audioQueue.popFirst() {
      self.sendPackets(of: &queued, to: address, into: &batch, at: now)
    }
    while let next = self.retransmissions.popFirst() { self.send(next, to: address, into: &batch, at: now) }
    while var queued = self.videoQueue.popFirst() {
      self.sendPackets(of: &queued, to: address, into: &batch, at: now)
    }
  }
}

// MARK: Sending

extension WebRTCSession {
  /// Sends the packets of a frame that were not sent yet.
  private mutating func sendPackets(
    of queued: inout Queued, to address: TransportAddress, into batch: inout DatagramBatch, at now: MediaTime
  ) {
    let media = queued.media
    let roundTrip = self.statistics.roundTrip
    if queued.nextIndex == 0 {
      if media.kind == .video {
        self.video?.note(media, roundTrip: roundTrip, at: now)
      }
      if self.nextReport == nil {
        // Without a report within the first second, clients cannot synchronize the tracks.
        self.nextReport = now
      }
    }
    while queued.nextIndex < media.packetCount {
      let index = queued.nextIndex
      queued.nextIndex += 1
      let length = media.payloadLength(index)
      guard
        let (header, writer) = media.kind == .video
          ? self.video?.nextHeader(media, index: index) : self.audio?.nextHeader(media, index: index)
      else { return }
      self.seal(media, index: index, header: header, writer: writer, prefix: nil, to: address, into: &batch, at: now)
      self.retransmissionCredit = min(
        self.retransmissionCredit + length / 2, Self.maximumRetransmissionCredit)
    }
  }

  private mutating func send(
    _ next: Retransmission, to address: TransportAddress, into batch: inout DatagramBatch, at now: MediaTime
  ) {
    guard let payloadType = self.video?.track.retransmissionPayloadType,
      let (header, writer) = self.video?.retransmissionHeader(next.media, index: next.index, payloadType: payloadType)
    else { return }
    self.statistics.packetsRetransmitted += 1
    self.seal(
      next.media, index: next.index, header: header, writer: writer, prefix: next.number, to: address, into: &batch,
      at: now)
  }

  /// Seals one packet into the batch.
  ///
  /// - Parameter prefix: Number of the original packet, for one that is sent again.
  private mutating func seal(
    _ media: WebRTCMedia, index: Int, header: RTPHeader, writer: WebRTCHeaderWriter, prefix: UInt16?,
    to address: TransportAddress, into batch: inout DatagramBatch, at now: MediaTime
  ) {
    guard let overhead = self.transport.overhead else { return }
    let length = media.payloadLength(index) + (prefix == nil ? 0 : RTPRetransmission.overhead)
    withUnsafeTemporaryAllocation(byteCount: WebRTCHeaderWriter.maximumLength, alignment: 8) { scratch in
      var transportWide: RTPTransportWideSequenceNumber?
      if writer.hasTransportWideNumbers {
        transportWide = self.history.send(byteCount: length + 12 + overhead, at: now)
      }
      let headerLength = writer.write(
        header, transportWide: transportWide, isKeyframe: media.kind == .video && media.isKeyframe, at: now,
        into: scratch)
      let total = headerLength + length + overhead
      do throws(SRTPError) {
        try batch.append(length: total, to: address) { (output) throws(SRTPError) in
          let head = UnsafeRawBufferPointer(rebasing: scratch[..<headerLength])
          guard let prefix else {
            try media.withPayload(index) { (payload) throws(SRTPError) in
              try self.transport.seal(header: head, payload: payload, into: output)
            }
            return
          }
          // Behind the header in the output, which sealing allows.
          let body = UnsafeMutableRawBufferPointer(rebasing: output[headerLength..<headerLength + length])
          body.storeBytes(of: prefix.bigEndian, as: UInt16.self)
          media.withPayload(index) { payload in
            UnsafeMutableRawBufferPointer(rebasing: body[RTPRetransmission.overhead...]).copyMemory(from: payload)
          }
          try self.transport.seal(header: head, payload: UnsafeRawBufferPointer(body), into: output)
        }
        self.statistics.packetsSent += 1
        self.statistics.bytesSent += total
      } catch {
        // Not ready any more, or the library failed: the packet is lost as others are.
        self.statistics.framesDropped += 1
      }
    }
  }

  /// Sends a report for each track with media, RFC 3550 §6.4.1.
  private mutating func sendReport(at now: MediaTime) {
    let unixTime = self.unixTime(now)
    var packets: [RTCPPacket] = []
    for track in [self.video, self.audio].compactMap(\.self) where track.packetCount > 0 {
      packets.append(.senderReport(track.senderReport(at: now, unixTime: unixTime)))
      packets.append(
        .sourceDescription(RTCPSourceDescription(ssrc: track.track.ssrc, cname: WebRTCAnswer.canonicalName)))
    }
    guard !packets.isEmpty, let address = self.transport.selectedAddress else { return }
    if let reference = self.referenceTime, let ssrc = (self.video ?? self.audio)?.track.ssrc {
      let delay = UInt32(clamping: (now - reference.arrival).ticks(timescale: 65_536))
      packets.append(
        .extendedReport(
          RTCPExtendedReport(
            ssrc: ssrc,
            blocks: [
              .delaySinceLastReceiverReport([
                .init(ssrc: reference.ssrc, lastReceiverReport: reference.middle, delay: delay)
              ])
            ])))
    }
    guard let datagram = try? self.transport.seal(RTCPCompoundPacket(packets)) else { return }
    self.responses.append((datagram, address))
  }

  private mutating func dropVideo(at now: MediaTime) {
    self.statistics.framesDropped += self.videoQueue.count
    self.videoQueue.removeAll()
    self.waitsForKeyframe = true
    self.requestKeyframe(at: now)
  }
}

// MARK: What the client sends

extension WebRTCSession {
  private mutating func apply(_ outputs: [WebRTCTransport.Output], at now: MediaTime) {
    for output in outputs {
      switch output {
      case .send(let datagram, let address): self.responses.append((datagram, address))
      case .connected(let profile): self.profile = profile
      case .selected: break
      case .valid(let address): self.events.append(.valid(address))
      case .received(let packet): self.handle(packet, at: now)
      case .closed(let reason):
        self.isReady = false
        self.videoQueue.removeAll()
        self.audioQueue.removeAll()
        self.retransmissions.removeAll()
        self.events.append(.closed(reason))
      }
    }
    if !self.isReady, self.transport.isReady, let profile = self.profile {
      self.isReady = true
      self.events.append(.ready(profile))
    }
  }

  private mutating func handle(_ packet: RTCPCompoundPacket, at now: MediaTime) {
    for packet in packet.packets {
      switch packet {
      case .receiverReport(let report): self.handle(report.reportBlocks, at: now)
      case .senderReport(let report): self.handle(report.reportBlocks, at: now)
      case .extendedReport(let report): self.handle(report, at: now)
      case .feedback(let feedback): self.handle(feedback, at: now)
      case .sourceDescription, .goodbye, .other: break
      }
    }
  }

  private mutating func handle(_ blocks: [RTCPReportBlock], at now: MediaTime) {
    for block in blocks {
      if block.ssrc == self.video?.track.ssrc {
        self.video?.headerWriter.isAcknowledged = true
        self.statistics.fractionLost = Double(block.fractionLost) / 256
        self.statistics.packetsLost = Int(max(0, block.cumulativeLost))
      } else if block.ssrc == self.audio?.track.ssrc {
        self.audio?.headerWriter.isAcknowledged = true
      } else {
        continue
      }
      self.noteRoundTrip(of: block, at: now)
    }
  }

  /// The round trip, RFC 3550 §6.4.1: time since the sender report without the time that the client kept it.
  private mutating func noteRoundTrip(of block: RTCPReportBlock, at now: MediaTime) {
    guard block.lastSenderReport != 0 else { return }
    let arrival = NTPTimestamp(unixNanoseconds: self.unixTime(now)).middle
    let ticks = arrival &- block.lastSenderReport &- block.delaySinceLastSenderReport
    // A clock that was set, or a lie, gives a round trip that no path has.
    guard ticks < 65_536 * 10 else { return }
    self.statistics.roundTrip = .ticks(Int64(ticks), timescale: 65_536)
  }

  private mutating func handle(_ report: RTCPExtendedReport, at now: MediaTime) {
    for case .receiverReferenceTime(let time) in report.blocks {
      self.referenceTime = (report.ssrc, time.middle, now)
    }
  }

  private mutating func handle(_ feedback: RTCPFeedback, at now: MediaTime) {
    switch feedback.message {
    case .nack(let pairs):
      guard feedback.mediaSSRC == self.video?.track.ssrc else { return }
      self.handle(pairs, at: now)
    case .pictureLossIndication:
      guard feedback.mediaSSRC == self.video?.track.ssrc else { return }
      self.handleKeyframeRequest(at: now)
    case .fullIntraRequest(let requests):
      for request in requests where request.ssrc == self.video?.track.ssrc {
        // The same number is the same request, sent again.
        guard request.commandSequenceNumber != self.lastFullIntraRequest else { continue }
        self.lastFullIntraRequest = request.commandSequenceNumber
        self.handleKeyframeRequest(at: now)
      }
    case .transportWide(let feedback): _ = self.history.handle(feedback)
    case .receiverEstimatedBitrate(let estimate): self.statistics.receiverBitrate = estimate.bitrate
    case .other: break
    }
  }

  private mutating func handle(_ pairs: [RTCPNackPair], at now: MediaTime) {
    let roundTrip = self.statistics.roundTrip ?? Self.presumedRoundTrip
    for number in pairs.flatMap(\.sequenceNumbers) {
      self.statistics.packetsRequested += 1
      guard self.video?.track.retransmissionPayloadType != nil else { continue }
      switch self.video?.history.answer(number, roundTrip: roundTrip, at: now) {
      case .packet(let media, let index):
        let length = media.payloadLength(index)
        guard self.retransmissionCredit >= length else { continue }
        self.retransmissionCredit -= length
        self.retransmissions.append(Retransmission(media: media, index: index, number: number))
      case .unknown: self.handleKeyframeRequest(at: now)
      case .answered, nil: break
      }
    }
  }

  /// Handles a client's request. One that a keyframe answers which is on its way counts for nothing.
  private mutating func handleKeyframeRequest(at now: MediaTime) {
    self.statistics.keyframesRequested += 1
    let roundTrip = self.statistics.roundTrip ?? Self.presumedRoundTrip
    if let last = self.lastKeyframe, now - last < roundTrip * 2 { return }
    self.requestKeyframe(at: now)
  }

  private mutating func requestKeyframe(at now: MediaTime) {
    if let last = self.lastKeyframeRequest, now - last < Self.keyframeRequestInterval { return }
    self.lastKeyframeRequest = now
    self.events.append(.keyframeNeeded)
  }
}
