package import Media
package import RTP

/// Estimates the bitrate that the path to a client carries, from what the client reports of the packets' arrival.
///
/// Send-side congestion control as in draft-ietf-rmcat-gcc-02, with these parts:
///
/// | part | rule |
/// |---|---|
/// | delay | When packets wait longer than our own bursts explain (``QueueingDelay``), the estimate falls to 85% of what arrives, and further until the queue is empty |
/// | loss | Above 10%, the estimate falls by half of the share (§6); loss that no bitrate changes is tolerated (``PacketLoss``) |
/// | rise | 8% a second (§5.5), 0.6% near the bitrate of the last congestion |
/// | probes | While more is wanted than is estimated, ``startProbe(at:)`` asks for clusters of padding at twice the estimate |
/// | REMB | An upper bound, unless more is known to arrive |
/// | receiver reports | Loss and round trip, for clients without transport-wide feedback |
/// | trials | Without transport-wide feedback no probe measures more than is sent: ``tryBitrate(_:at:)`` believes in a bitrate for ``trialTime`` |
///
/// What a client reports changes the estimate of this client alone, within the bounds: one that claims that everything is lost
/// gets the lower bound. Pure: time is an argument. The caller passes each packet to ``send(byteCount:probe:at:)``, feedback as
/// it comes, and calls ``handleTimeout(at:)`` some ten times a second.
package struct BandwidthEstimator: Sendable {
  /// Standing delay beyond that of our bursts from which the path is congested.
  private static let congestedDelay = 0.030
  /// Standing delay from which congestion is not waited for to last.
  private static let urgentDelay = 0.080
  /// Time for which the path must be congested before the estimate falls.
  private static let persistence = MediaDuration.milliseconds(60)
  /// Standing delay, with that of our bursts, up to which the estimate may rise.
  private static let risingDelay = 0.050
  /// Standing delay of an empty queue.
  private static let drainedDelay = 0.025
  /// Share of what arrives during congestion that becomes the estimate.
  private static let loweringFactor = 0.85
  /// Share of the congested bitrate that is used when the queue is empty.
  private static let restoredShare = 0.9
  /// Shares of the estimate taken off per second of queue, and at most, until it is empty.
  private static let (draining, maximumDraining) = (0.9, 0.8)
  /// Time without the queue getting shorter, at a lowered bitrate, after which it is not ours.
  private static let drainTime = MediaDuration.milliseconds(1500)
  /// Time that a lowered bitrate needs to show, beyond the round trip.
  private static let reactionTime = MediaDuration.milliseconds(200)
  /// Rise per second, and near the bitrate of the last congestion.
  private static let (rise, carefulRise) = (0.08, 0.006)
  /// Factor of the bitrate of the last congestion from which it counts no longer.
  private static let exceededFactor = 1.08
  /// Time after congestion in which the estimate does not rise near its bitrate.
  private static let calmTime = MediaDuration.seconds(10)
  /// Factor of what arrives up to which the estimate rises while the sender uses less.
  private static let unusedFactor = 1.5
  /// Share of lost packets that is no reason to lower the estimate, and that stops its rise.
  private static let toleratedLoss = 0.10
  /// Time between two probes: at first, and after probes that showed nothing.
  private static let (probeInterval, maximumProbeInterval) = (MediaDuration.seconds(1), MediaDuration.seconds(6))
  /// Time without feedback from which nothing is known of the path.
  private static let silence = MediaDuration.seconds(1)
  /// Time for which REMB counts.
  private static let rembLifetime = MediaDuration.seconds(10)
  /// Time without transport-wide feedback from which receiver reports count.
  private static let feedbackLifetime = MediaDuration.seconds(3)
  /// Time for which a bitrate is tried. A receiver estimates at most 1.5 times what it gets, and lets that rise by 8% a second, so that
  /// its estimate needs this time to become 4.6 times as high.
  package static let trialTime = MediaDuration.seconds(20)
  /// Difference of the client's clock and ours from which it was set: more than feedback varies by.
  private static let clockStep = 0.4

  /// The estimate in bits per second, within the bounds, while the queue of the path is not being emptied.
  private var estimate: Double
  private let bounds: ClosedRange<Double>
  /// Bits per second that the caller has a use for: no probe goes beyond.
  package var desiredBitrate: Int
  /// Share of the last second's packets that were lost, 0 to 1; 0 while too few are known.
  package private(set) var lossShare = 0.0
  /// Time from sending to feedback, of the last packet that arrived; nil before feedback.
  package private(set) var roundTrip: MediaDuration?

  private var history = TransportWideHistory()
  private var acknowledged = AcknowledgedBitrate()
  private var delay = QueueingDelay()
  private var loss = PacketLoss()
  private var highestNumber: Int64 = -1
  private var lastFeedback: MediaTime?
  private var lastSent: MediaTime?
  /// Time at which the first packet after the last feedback was sent; nil when none was.
  private var unreportedSince: MediaTime?
  private var lastUpdate: MediaTime?
  private var congestedSince: MediaTime?
  private var lastLowering: MediaTime?
  /// The queue that is being emptied: time and value of its maximum delay in seconds, the minimum since, and the bitrate that
  /// the path carried.
  private var drain: (peakTime: MediaTime, peak: Double, minimum: Double, bitrate: Double)?
  /// Bitrate of the last congestion; nil when it is long past, or exceeded.
  private var ceiling: Double?
  /// Estimate before feedback stopped coming; tried again by a probe.
  private var bitrateBeforeSilence: Double?
  /// Difference of the round trip and the one-way delay in seconds: constant but for the reverse path.
  private var clockDifference: Double?
  private var probe: ProbeMeasurement?
  private var probeCount: UInt32 = 0
  private var nextProbe: MediaTime?
  private var currentProbeInterval = Self.probeInterval
  /// Planned bitrate of the last probe that the path carried, relative to the one with which timers let it leave; at least 1.
  private var probeShortfall = 1.0
  private var remb: (bitrate: Double, time: MediaTime)?
  /// Time until which REMB is no bound.
  private var trialEnd: MediaTime?
  private var minimumReportedRoundTrip: MediaDuration?

  /// Creates an estimator for a new path.
  ///
  /// - Parameters:
  ///   - bitrate: First estimate, in bits per second; clamped to `bounds`.
  ///   - bounds: Minimum and maximum estimate; the lower bound is at least 1.
  package init(bitrate: Int, bounds: ClosedRange<Int>) {
    precondition(bounds.lowerBound > 0, "a bitrate is greater than 0")
    self.bounds = Double(bounds.lowerBound)...Double(bounds.upperBound)
    self.estimate = min(max(Double(bitrate), self.bounds.lowerBound), self.bounds.upperBound)
    self.desiredBitrate = bounds.upperBound
  }

  /// Bits per second to send now, headers included: less than the path carries while its queue empties.
  package var bitrate: Int {
    var bitrate = self.estimate
    if let drain {
      let share = min(Self.draining * (self.delay.total ?? drain.peak), Self.maximumDraining)
      bitrate *= 1 - share
    }
    return Int(max(min(bitrate, self.receiverBound), self.bounds.lowerBound))
  }

  /// Bits per second that the path carries, for choices that last: not lowered while its queue empties.
  package var capacity: Int { Int(max(min(self.estimate, self.receiverBound), self.bounds.lowerBound)) }

  private var receiverBound: Double { self.trialEnd == nil ? self.remb?.bitrate ?? .infinity : .infinity }

  /// Whether probes measure the path beyond the bitrate that is sent: while transport-wide feedback comes, which no client sends of audio
  /// alone.
  package func isMeasurable(at now: MediaTime) -> Bool {
    self.lastFeedback.map { now - $0 < Self.feedbackLifetime } ?? false
  }

  /// Whether the queue of the path is being emptied.
  package var isDraining: Bool { self.drain != nil }

  /// Standing delay in the queues of the path; nil before feedback.
  package var queueingDelay: MediaDuration? {
    self.delay.total.map { MediaDuration(nanoseconds: Int64($0 * 1e9)) }
  }

  /// Records a packet that is sent.
  ///
  /// - Parameters:
  ///   - byteCount: Length of the datagram.
  ///   - probe: The probe cluster that the packet belongs to; 0 for none.
  /// - Returns: Its transport-wide sequence number.
  package mutating func send(
    byteCount: Int, probe: UInt32 = 0, at now: MediaTime
  ) -> RTPTransportWideSequenceNumber {
    self.lastSent = now
    if self.unreportedSince == nil { self.unreportedSince = now }
    return self.history.send(byteCount: byteCount, probe: probe, at: now)
  }
}

// MARK: Received feedback

extension BandwidthEstimator {
  /// Updates the estimate from the arrival times in transport-wide feedback.
  package mutating func handle(_ feedback: RTCPTransportWideFeedback, at now: MediaTime) {
    let reports = self.history.handle(feedback)
    guard !reports.isEmpty else { return }
    let setClock = self.followClock(reports, at: now)
    var (lost, arrived) = (0, 0)
    for report in reports {
      if let probe = self.probe, report.probe == probe.cluster.id {
        self.probe?.add(byteCount: report.byteCount, sent: report.sent, arrival: report.arrival)
      }
      if let arrival = report.arrival {
        arrived += 1
        self.acknowledged.add(byteCount: report.byteCount, arrival: arrival)
      }
      guard report.number > self.highestNumber else {
        // Reordered: it was reported as lost before.
        lost -= report.arrival == nil ? 0 : 1
        continue
      }
      self.highestNumber = report.number
      lost += report.arrival == nil ? 1 : 0
      // Arrivals of this feedback before the clock was set say nothing of those after it.
      if let setClock, let arrival = report.arrival, abs((setClock - arrival).seconds) > Self.clockStep { continue }
      self.delay.add(
        byteCount: report.byteCount, sent: report.sent, arrival: report.arrival, bitrate: self.estimate)
    }
    let isAfterSilence = self.lastFeedback.map { now - $0 > Self.silence } ?? false
    // Packets sent while nothing came through do not count as losses of the path.
    self.loss.add(lost: isAfterSilence ? 0 : lost, arrived: arrived, at: now)
    if isAfterSilence, self.bitrateBeforeSilence != nil { self.nextProbe = now + Self.probeInterval / 2 }
    self.lastFeedback = now
    self.unreportedSince = nil
    self.update(at: now)
  }

  /// Applies REMB: an upper bound for ten seconds. It is not one below the lower bound, or below half of what arrives.
  package mutating func handle(_ remb: RTCPReceiverEstimatedBitrate, at now: MediaTime) {
    let bitrate = Double(remb.bitrate)
    let arriving = self.acknowledged.bitrate(over: .seconds(1)) ?? 0
    guard bitrate >= self.bounds.lowerBound, bitrate >= arriving / 2 else { return }
    self.remb = (bitrate, now)
  }

  /// Applies a receiver report; without effect while there is transport-wide feedback, which knows more.
  ///
  /// - Parameters:
  ///   - lossShare: Share of packets lost since the last report, 0 to 1.
  ///   - roundTrip: From the report's LSR and DLSR; nil when it has none.
  ///   - sentBitrate: Bits per second that were sent.
  package mutating func handleReceiverReport(
    lossShare: Double, roundTrip: MediaDuration?, sentBitrate: Int, at now: MediaTime
  ) {
    if self.isMeasurable(at: now) { return }
    self.lossShare = min(max(lossShare, 0), 1)
    self.roundTrip = roundTrip ?? self.roundTrip
    let seconds = self.elapsed(at: now, maximum: .seconds(5))
    var isCongested = false
    if let roundTrip {
      let minimum = min(self.minimumReportedRoundTrip ?? roundTrip, roundTrip)
      self.minimumReportedRoundTrip = minimum
      isCongested = roundTrip - minimum > .milliseconds(150)
    }
    let excess = self.loss.excess(self.lossShare, limit: Self.toleratedLoss, bitrate: self.estimate)
    if isCongested {
      self.lower(to: min(self.estimate, Double(sentBitrate)) * Self.loweringFactor, from: self.estimate, at: now)
    } else if excess > 0 {
      self.lower(to: self.estimate * (1 - excess / 2), from: self.estimate, at: now)
    } else if self.lossShare - self.loss.inherentShare <= Self.toleratedLoss / 2 {
      self.raise(over: seconds, upTo: Double(sentBitrate) * Self.unusedFactor, at: now)
    }
  }

  /// Raises the estimate to a bitrate that is sent from now on; without effect while transport-wide feedback comes.
  ///
  /// REMB is no bound for ``trialTime``, in which it follows what arrives. Congestion that feedback or receiver reports show ends the trial.
  package mutating func tryBitrate(_ bitrate: Int, at now: MediaTime) {
    guard !self.isMeasurable(at: now) else { return }
    // Not more than is tried: an estimate that REMB bounds was never one.
    self.set(max(Double(self.capacity), Double(bitrate)))
    self.trialEnd = now + Self.trialTime
  }

  /// Runs the timers: lowers the estimate when feedback stops, and ends trials, and probes that nothing is heard of.
  package mutating func handleTimeout(at now: MediaTime) {
    if let trialEnd, now >= trialEnd { self.trialEnd = nil }
    if let remb, now - remb.time >= Self.rembLifetime { self.remb = nil }
    if let probe, now - probe.started > Self.silence { self.endProbe(at: now) }
    // After a pause of the sender there is no feedback either, and the first packet has none yet.
    guard self.lastFeedback != nil, let unreportedSince, let lastSent, now - unreportedSince > Self.silence,
      now - lastSent < Self.silence, self.bitrateBeforeSilence == nil
    else { return }
    self.bitrateBeforeSilence = self.estimate
    self.congestedSince = nil
    self.drain = nil
    self.set(self.estimate / 2)
  }

  /// Whether the client's clock was set, which shows as a jump of the one-way delay without one of the round trip.
  ///
  /// - Returns: An arrival on the clock as it was set; nil when it was not.
  private mutating func followClock(_ reports: [TransportWideHistory.Report], at now: MediaTime) -> MediaTime? {
    guard let last = reports.last(where: { $0.arrival != nil }), let arrival = last.arrival else { return nil }
    let roundTrip = now - last.sent
    self.roundTrip = roundTrip
    let difference = (roundTrip.nanoseconds - (arrival - last.sent).nanoseconds)
    let seconds = Double(difference) / 1e9
    defer { self.clockDifference = seconds }
    guard let known = self.clockDifference, abs(seconds - known) > Self.clockStep else { return nil }
    self.delay.rebase()
    self.congestedSince = nil
    self.drain = nil
    return arrival
  }
}

// MARK: The estimate

extension BandwidthEstimator {
  private mutating func update(at now: MediaTime) {
    let seconds = self.elapsed(at: now, maximum: .seconds(1))
    let share = self.loss.share(at: now)
    self.lossShare = share ?? 0
    self.updateProbe(at: now)

    let excess = self.delay.excess ?? 0
    if excess > Self.congestedDelay {
      let since = self.congestedSince ?? now
      self.congestedSince = since
      if now - since >= Self.persistence || excess > Self.urgentDelay { self.handleCongestion(since, at: now) }
      return
    }
    self.congestedSince = nil
    self.finishDrain(at: now)

    if let share {
      let excess = self.loss.excess(share, limit: Self.toleratedLoss, bitrate: self.estimate)
      if excess > 0 {
        if self.hasReacted(at: now) {
          self.lower(to: self.estimate * (1 - excess / 2), from: self.estimate, at: now)
        }
        return
      }
      guard share - self.loss.inherentShare <= Self.toleratedLoss / 2 else { return }
    }
    guard self.drain == nil, (self.delay.total ?? 0) < Self.risingDelay,
      let arriving = self.acknowledged.bitrate(over: .milliseconds(500))
    else { return }
    self.raise(over: seconds, upTo: arriving * Self.unusedFactor, at: now)
  }

  private mutating func handleCongestion(_ since: MediaTime, at now: MediaTime) {
    self.failProbe(at: now)
    let total = self.delay.total ?? 0
    // The bitrate that arrives while the queue is not empty is the one that the path carries.
    let span = min(max(now - since, .milliseconds(100)), .milliseconds(500))
    if let drain, total > drain.peak {
      self.drain?.peak = total
      self.drain?.peakTime = now
    }
    guard let carried = self.acknowledged.bitrate(over: span), self.hasReacted(at: now) else { return }
    if let drain, now - drain.peakTime >= Self.drainTime, carried < drain.bitrate * 0.9, total > drain.peak * 0.7 {
      // We sent less, and the queue stayed: others fill it, or the path became longer.
      self.delay.rebase()
      self.congestedSince = nil
      self.drain = nil
      return self.set(max(self.estimate, drain.bitrate * Self.restoredShare))
    }
    if let drain, total < drain.minimum + Self.congestedDelay {
      // The queue gets shorter; the bitrate that arrives is limited by us.
      self.drain?.minimum = min(drain.minimum, total)
      return
    }
    self.drain = (now, total, total, carried)
    self.lower(to: min(self.estimate, carried) * Self.loweringFactor, from: carried, at: now)
  }

  private mutating func finishDrain(at now: MediaTime) {
    guard let drain, (self.delay.total ?? 0) < Self.drainedDelay else { return }
    self.drain = nil
    self.set(max(self.estimate, drain.bitrate * Self.restoredShare))
  }

  /// Whether the last lowering of the bitrate would show by now.
  private func hasReacted(at now: MediaTime) -> Bool {
    guard let lastLowering else { return true }
    return now - lastLowering >= (self.roundTrip ?? .zero) + Self.reactionTime
  }

  private mutating func lower(to bitrate: Double, from carried: Double, at now: MediaTime) {
    self.ceiling = min(self.estimate, max(carried, self.bounds.lowerBound))
    self.lastLowering = now
    self.trialEnd = nil
    // Losses before the lowering say nothing of those that follow it.
    self.loss.forget()
    self.set(min(self.estimate, bitrate))
    self.nextProbe = max(self.nextProbe ?? now, now + Self.probeInterval * 3)
  }

  private mutating func raise(over seconds: Double, upTo limit: Double, at now: MediaTime) {
    guard self.estimate < limit else { return }
    var rise = Self.rise
    if let ceiling = self.ceiling {
      if self.estimate > ceiling * Self.exceededFactor {
        self.ceiling = nil
      } else if self.estimate >= ceiling * Self.restoredShare {
        if let lastLowering, now - lastLowering < Self.calmTime { return }
        rise = Self.carefulRise
      }
    }
    self.set(min(self.estimate * (1 + rise * seconds), max(limit, self.estimate)))
  }

  private mutating func set(_ estimate: Double) {
    self.estimate = min(max(estimate, self.bounds.lowerBound), self.bounds.upperBound)
  }

  /// Seconds since the last call.
  private mutating func elapsed(at now: MediaTime, maximum: MediaDuration) -> Double {
    defer { self.lastUpdate = now }
    return self.lastUpdate.map { min(max(now - $0, .zero), maximum).seconds } ?? 0
  }
}

// MARK: Probes

extension BandwidthEstimator {
  /// Starts a probe when one is due: twice the estimate, or what was estimated before an outage.
  ///
  /// - Returns: The cluster to send at once; nil when none is due.
  package mutating func startProbe(at now: MediaTime) -> ProbeCluster? {
    guard self.probe == nil, self.drain == nil, self.congestedSince == nil, let lastFeedback,
      now - lastFeedback < Self.silence / 2, self.lossShare <= Self.toleratedLoss,
      Double(self.desiredBitrate) > self.estimate * 1.02,
      self.estimate < self.bounds.upperBound, now >= self.nextProbe ?? now
    else { return nil }
    let bitrate = max(self.estimate * 2, (self.bitrateBeforeSilence ?? 0) * 0.85)
    self.bitrateBeforeSilence = nil
    // A little more than wanted: the measurement loses some, and timers that are late more.
    let limit = min(Double(self.desiredBitrate), self.bounds.upperBound) * 1.1 * self.probeShortfall
    self.probeCount += 1
    let cluster = ProbeCluster(id: self.probeCount, bitrate: Int(min(bitrate, max(limit, self.estimate * 1.1))))
    self.probe = ProbeMeasurement(cluster, at: now)
    return cluster
  }

  private mutating func updateProbe(at now: MediaTime) {
    guard let probe, probe.isComplete else { return }
    self.endProbe(at: now)
  }

  private mutating func endProbe(at now: MediaTime) {
    guard let probe else { return }
    self.probe = nil
    let before = self.estimate
    if let result = probe.result, self.congestedSince == nil, self.drain == nil {
      // A saturated path carries what arrived, and media needs a rest of it.
      self.set(max(before, min(result.bitrate * (result.isSaturated ? 0.9 : 1), Double(self.desiredBitrate))))
      if result.isSaturated, self.estimate > before { self.ceiling = result.bitrate }
      if !result.isSaturated {
        self.ceiling = nil
        self.probeShortfall = max(1, min(1.5, Double(probe.cluster.bitrate) / result.bitrate))
      }
    }
    let isSuccess = self.estimate > before * 1.1
    self.currentProbeInterval =
      isSuccess ? Self.probeInterval : min(self.currentProbeInterval * 2, Self.maximumProbeInterval)
    self.nextProbe = now + self.currentProbeInterval
  }

  private mutating func failProbe(at now: MediaTime) {
    guard self.probe != nil else { return }
    self.probe = nil
    self.currentProbeInterval = min(self.currentProbeInterval * 2, Self.maximumProbeInterval)
    self.nextProbe = now + self.currentProbeInterval
  }
}
