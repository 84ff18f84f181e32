internal import Media
internal import NIOCore
internal import RTP

// MARK: Received feedback

extension WebRTCSession {
  /// Performs the steps that the transport returns.
  mutating func apply(_ outputs: [WebRTCTransport.Output], at now: MediaTime) {
    for output in outputs {
      switch output {
      case .send(let datagram, let address): self.responses.append((datagram, address))
      case .connected(let profile): self.profile = profile
      case .selected: break
      case .checked(let address): self.events.append(.checked(address))
      case .valid(let address): self.events.append(.valid(address))
      case .invalid(let address): self.events.append(.invalid(address))
      case .received(let packet): self.handle(packet, at: now)
      case .closed(let reason):
        self.isReady = false
        self.pacer = Pacer()
        self.events.append(.closed(reason))
      }
    }
    if !self.isReady, self.transport.isReady, let profile = self.profile {
      self.isReady = true
      self.nextUpdate = now
      self.events.append(.ready(profile))
    }
  }

  private mutating func handle(_ packet: RTCPCompoundPacket, at now: MediaTime) {
    for packet in packet.packets {
      guard self.packetBudget.take(at: now) else {
        self.statistics.feedbackDropped += 1
        continue
      }
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
        self.statistics.packetsLost = max(self.statistics.packetsLost, Int(block.cumulativeLost))
        self.noteRoundTrip(of: block, at: now)
        self.estimate(from: block, at: now)
      } else if block.ssrc == self.audio?.track.ssrc {
        self.audio?.headerWriter.isAcknowledged = true
        self.noteRoundTrip(of: block, at: now)
      }
    }
  }

  /// The round trip, RFC 3550 §6.4.1: time since the sender report without the time that the client kept it.
  private mutating func noteRoundTrip(of block: RTCPReportBlock, at now: MediaTime) {
    guard block.lastSenderReport != 0 else { return }
    let arrival = NTPTimestamp(unixNanoseconds: self.unixTimeAtZero &+ now.nanoseconds).middle
    let ticks = arrival &- block.lastSenderReport &- block.delaySinceLastSenderReport
    // A lie gives a round trip that no path has.
    guard ticks < 65_536 * 10 else { return }
    let roundTrip = MediaDuration.ticks(Int64(ticks), timescale: 65_536)
    self.statistics.roundTrip = roundTrip
    if self.recentRoundTrips.count >= Self.roundTripCount { self.recentRoundTrips.removeFirst() }
    self.recentRoundTrips.append(roundTrip)
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
    case .transportWide(let feedback):
      guard self.arrivalBudget.take(Int(feedback.statusCount), at: now) else {
        self.statistics.feedbackDropped += 1
        return
      }
      self.estimator.handle(feedback, at: now)
      self.adjustPace()
    case .receiverEstimatedBitrate(let estimate):
      self.estimator.handle(estimate, at: now)
      self.adjustPace()
    case .other: break
    }
  }

  private mutating func handle(_ pairs: [RTCPNackPair], at now: MediaTime) {
    // A report sent behind a keyframe has waited in a queue. With its round-trip time, requests for packets that were lost
    // again would count as requests for packets in flight.
    let roundTrip = self.recentRoundTrips.min() ?? KeyframeRequestLimiter.presumedRoundTrip
    // Our reports leave behind frames, and the first request may have come later than the second: not quite a round trip.
    let interval = roundTrip * 3 / 4
    let count = pairs.reduce(0) { $0 + $1.count }
    let allowed = self.requestBudget.takeAvailable(upTo: count, at: now)
    self.statistics.feedbackDropped += count - allowed
    for number in pairs.joined().prefix(allowed) {
      guard self.video?.track.retransmissionPayloadType != nil else {
        self.sendSealedPacketAgain(number, roundTrip: interval, at: now)
        continue
      }
      switch self.video?.history.answer(number, roundTrip: interval, at: now) {
      case .packet(let media, let index):
        let length = media.payloadLength(index)
        guard self.retransmissionCredit >= length else { continue }
        let isQueued = self.pacer.enqueue(
          .retransmission(media, index: index, number: number), .retransmission,
          byteCount: length + Self.packetOverhead, at: now)
        if isQueued { self.retransmissionCredit -= length }
      case .unknown: self.handleKeyframeRequest(at: now)
      case .answered, nil: break
      }
    }
  }

  /// Sends the same bytes again; requests a keyframe where they are not kept.
  private mutating func sendSealedPacketAgain(_ number: UInt16, roundTrip: MediaDuration, at now: MediaTime) {
    switch self.video?.sealedHistory?.answer(number, roundTrip: roundTrip, at: now) ?? .unknown {
    case .packet(let datagram):
      let length = datagram.readableBytes
      guard self.retransmissionCredit >= length else { return }
      if self.pacer.enqueue(.sealedPacket(datagram), .retransmission, byteCount: length, at: now) {
        self.retransmissionCredit -= length
      }
    case .unknown: self.handleKeyframeRequest(at: now)
    case .answered: break
    }
  }

  /// Requests a keyframe for a client. The request is ignored while a keyframe sent within two round trips may be in
  /// flight.
  private mutating func handleKeyframeRequest(at now: MediaTime) {
    self.statistics.keyframesRequested += 1
    let roundTrip = self.statistics.roundTrip ?? KeyframeRequestLimiter.presumedRoundTrip
    if let last = self.lastKeyframe, now - last < roundTrip * 2 { return }
    self.requestKeyframe(at: now)
  }

  /// Asks the caller for a keyframe, within what one viewer may have.
  mutating func requestKeyframe(at now: MediaTime) {
    if self.keyframeRequests.request(at: now) { self.events.append(.keyframeNeeded) }
  }
}
